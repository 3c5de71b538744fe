package metrickind

import "math/big"

// MaxComponents is the maximum number of components in a count.
const MaxComponents = 4

// Vector describes the computation of one released value from a count's noisy components. The first
// component belongs to the kind itself: it counts events, climbs its ladder and stops. Each further
// component is a single draw. It is drawn at the same fraction of its top precision as the first
// component had reached when it stopped. All components have the same maximum cost to a user,
// except alongside a tree: see Kind.Square and SumsFiner.
type Vector struct {
	// Extra names the kinds of the further components, in order. One event adds at most the j-th
	// power of max − min to the j-th further component.
	Extra  []string
	Ratios int // number of ratios of components whose intervals must hold jointly
	// Span returns the range of the kind's value if the values of events are between low and high.
	Span func(low, high float64) (from, to float64)
	// Aim returns the relative target that the first component's ladder must meet for the value to
	// meet its own target. It returns 0 if no ladder can meet that target.
	Aim func(b Bounds, relative, absolute, confidence float64) float64
	// Half returns an upper bound, for display, on half the width of a value's interval, given the
	// size of the first component and half the width of the first component's interval.
	Half func(b Bounds, size, half, confidence float64) float64
	// Join returns the released value.
	Join func(b Bounds, c Components) Estimate
	// Imitate does in floating point, for forecasts, what Join does exactly.
	Imitate func(b Bounds, d Drawn) Imitated
	// Truth returns the value without bounds or noise, given the sums of the events' values to the
	// powers 0, 1, …. There must be at least one event.
	Truth func(powers [MaxComponents]float64) float64
}

// Extra returns the kinds of Vector.Extra, in order.
func (k Kind) Extra() (kinds []Kind) {
	if k.Vector != nil {
		for _, name := range k.Vector.Extra {
			kinds = append(kinds, Of(name))
		}
	}
	return kinds
}

// Square returns the square of the most that one event adds to a component of kind k. The top
// precision of a further component is the first component's top precision times SumsFiner, divided
// by this square and rounded down.
func (k Kind) Square(b Bounds) *big.Int {
	b.Events = 1
	most := big.NewInt(k.Sensitivity(b))
	return most.Mul(most, most)
}

// Component is a noisy component with its variance.
type Component struct{ Value, Variance *big.Rat }

// Components are the noisy components of a count.
type Components struct {
	Of []Component // the first component, then the further components in order
	// HalfWidth is the half-width, in standard deviations, that intervals need so that those of all
	// the kind's ratios hold jointly at the stated confidence.
	HalfWidth *big.Rat
	// Beyond is set if a further component may have been clamped to the releasable range. That
	// component then says nothing about the value.
	Beyond bool
}

// Estimate is a value computed from noisy counts. All numbers except StdDev are multiples of 2^-10.
type Estimate struct {
	Value             int64 // in units of 2^-10
	StdDev, Low, High float64
}

// Drawn is the floating-point form of Components, for components that are not clamped.
type Drawn struct {
	Values, Variances [MaxComponents]float64
	HalfWidth         float64
}

// Imitated is the floating-point form of an Estimate, without the standard deviation.
type Imitated struct{ Value, Low, High float64 }
