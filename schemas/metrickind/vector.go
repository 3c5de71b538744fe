package metrickind

import "math/big"

// MaxComponents is how many components a count can have.
const MaxComponents = 4

// Vector describes how the noisy components of a count become one released value. The first
// component, the kind's own, counts events; it goes along its ladder and stops. Each further one is
// a single draw at the same fraction of its top precision as the first one has reached of its own.
// Each costs a user at most the same, except beside a tree: see Kind.Square and SumsFiner.
type Vector struct {
	// Further are the names of the kinds of the further components, in order. To the j-th of them
	// an event adds at most the j-th power of max − min, counted from 1.
	Further []string
	// Ratios is how many ratios of components have intervals that must hold together.
	Ratios int
	// Span returns the range of the kind's value if the values of events lie between low and high.
	Span func(low, high float64) (from, to float64)
	// Aim returns the relative target of the first component's ladder for a target of the value; 0
	// if no ladder can aim at it.
	Aim func(b Bounds, relative, absolute, confidence float64) float64
	// Half returns half of the width of a value's interval with a confidence, for a first component
	// of the given size, half of whose own interval is half: an upper bound, for display.
	Half func(b Bounds, size, half, confidence float64) float64
	// Join returns the value that is released.
	Join func(b Bounds, c Components) Estimate
	// Imitate is Join in floating point, for forecasts.
	Imitate func(b Bounds, d Drawn) Imitated
	// Truth returns the value without bounds and noise, from the sums of the powers 0, 1, … of the
	// values of its events. There is at least one event.
	Truth func(powers [MaxComponents]float64) float64
}

// Further returns the kinds of the further components of a kind's counts, in order.
func (k Kind) Further() (kinds []Kind) {
	if k.Vector != nil {
		for _, name := range k.Vector.Further {
			kinds = append(kinds, Of(name))
		}
	}
	return kinds
}

// Square returns the square of the most that one event adds to a component. A further component's
// top precision is the first one's, to which an event adds 1, times SumsFiner, divided by this
// square and rounded down.
func (k Kind) Square(b Bounds) *big.Int {
	b.Events = 1
	most := big.NewInt(k.Sensitivity(b))
	return most.Mul(most, most)
}

// Component is an estimate of a component, with its variance.
type Component struct{ Value, Variance *big.Rat }

// Components are the known numbers of a count with several components.
type Components struct {
	Of []Component // the first one, and the further ones in their order
	// Width is half of an interval's width, in standard deviations, such that the intervals of all
	// the kind's ratios hold together with the confidence.
	Width *big.Rat
	// Beyond is set if a further component may have been clamped to the releasable range: then it
	// carries no information about the value.
	Beyond bool
}

// Estimate is a value of several components. All numbers are multiples of 2^-10, but for StdDev.
type Estimate struct {
	Value             int64 // in units of 2^-10
	StdDev, Low, High float64
}

// Drawn is Components in floating point, none of them clamped.
type Drawn struct {
	Values, Variances [MaxComponents]float64
	Width             float64
}

// Imitated is an Estimate in floating point, but for the standard deviation.
type Imitated struct{ Value, Low, High float64 }
