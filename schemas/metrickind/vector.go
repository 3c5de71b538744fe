package metrickind

import "math/big"

// MaxComponents limits the number of components in a count.
const MaxComponents = 4

// Vector describes the computation of one released value from a count's noisy components. The first
// component, the kind's own, counts events; it climbs its ladder and stops. Each further one is a
// single draw, at the same fraction of its top precision that the first one reached. All components
// have the same maximum cost to a user, except alongside a tree: see Kind.Square and SumsFiner.
type Vector struct {
	// Extra names the kinds of the further components, in order. One event adds at most the j-th
	// power of max − min to the j-th of them.
	Extra  []string
	Ratios int // number of ratios of components whose intervals must hold jointly
	// Span returns the range of the kind's value if the values of events lie between low and high.
	Span func(low, high float64) (from, to float64)
	// Aim returns the relative target of the first component's ladder that meets a target for the
	// value; 0 if no ladder can reach it.
	Aim func(b Bounds, relative, absolute, confidence float64) float64
	// Half returns an upper bound, for display, on half the width of a value's interval, from the
	// size of the first component and half the width of its interval.
	Half func(b Bounds, size, half, confidence float64) float64
	// Join returns the released value.
	Join func(b Bounds, c Components) Estimate
	// Imitate is Join in floating point, for forecasts.
	Imitate func(b Bounds, d Drawn) Imitated
	// Truth returns the value without bounds and noise for at least one event, from the sums of the
	// values' powers 0, 1, ….
	Truth func(powers [MaxComponents]float64) float64
}

// Extra returns the kinds of the further components of a kind's counts, in order.
func (k Kind) Extra() (kinds []Kind) {
	if k.Vector != nil {
		for _, name := range k.Vector.Extra {
			kinds = append(kinds, Of(name))
		}
	}
	return kinds
}

// Square returns the square of the most that one event adds to a component. A further component's
// top precision is the first one's times SumsFiner, divided by this square, rounded down.
func (k Kind) Square(b Bounds) *big.Int {
	b.Events = 1
	most := big.NewInt(k.Sensitivity(b))
	return most.Mul(most, most)
}

// Component is an estimate of a component, with its variance.
type Component struct{ Value, Variance *big.Rat }

// Components are the known numbers of a count with several components.
type Components struct {
	Of []Component // the first one, then the further ones in order
	// Width is the half-width of an interval, in standard deviations, at which the intervals of all
	// the kind's ratios hold jointly at the stated confidence.
	Width *big.Rat
	// Beyond is set if a further component may have been clamped to the releasable range: it then
	// carries no information about the value.
	Beyond bool
}

// Estimate is a value from several components. All numbers except StdDev are multiples of 2^-10.
type Estimate struct {
	Value             int64 // in units of 2^-10
	StdDev, Low, High float64
}

// Drawn is Components in floating point, without clamping.
type Drawn struct {
	Values, Variances [MaxComponents]float64
	Width             float64
}

// Imitated is an Estimate in floating point, without the standard deviation.
type Imitated struct{ Value, Low, High float64 }
