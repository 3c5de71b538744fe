package metrickind

import "math/big"

// Pair says how the two noisy components of a count become one released value. The first component
// goes along its ladder and stops; the second is one draw at a precision that is to the second's
// top as the first's precision is to its own.
type Pair struct {
	// Component is the name of the kind of the second component.
	Component string
	// SecondTop returns the top precision of the second component where that of the first is top:
	// in the same units, rounded down.
	SecondTop func(b Bounds, top *big.Int) *big.Int
	// Aim returns the relative target of the first component's ladder for a target of the value; 0
	// if no ladder can aim at it.
	Aim func(b Bounds, relative, absolute float64) float64
	// Half returns half of the width of a value's interval where the first component is size and
	// half is that of its own: an upper bound, for display.
	Half func(b Bounds, size, half float64) float64
	// Join returns the value that is released.
	Join func(b Bounds, c Components) Estimate
	// Imitate is Join in floating point, for forecasts.
	Imitate func(b Bounds, d Drawn) Imitated
	// Truth returns what the value would be without bounds and noise: of so many events, at least
	// 1, whose values add up to sum.
	Truth func(events, sum float64) float64
}

// Components are what is known of a count with two components.
type Components struct {
	First, Second                 *big.Rat // the estimates
	FirstVariance, SecondVariance *big.Rat
	// Width is half of the width of the first component's printed interval, in its standard
	// deviations.
	Width *big.Rat
	// Beyond says that the second component may have been clamped to what can be released: then it
	// says nothing of the mean.
	Beyond bool
}

// Estimate is a value of two components. All numbers are multiples of 2^-10, but for StdDev.
type Estimate struct {
	Value             int64 // in units of 2^-10
	StdDev, Low, High float64
}

// Drawn is Components in floating point, none of them clamped.
type Drawn struct{ First, Second, FirstVariance, SecondVariance, Width float64 }

// Imitated is an Estimate in floating point, but for the standard deviation.
type Imitated struct{ Value, Low, High float64 }
