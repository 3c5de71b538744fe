package filter

import (
	"math"
	"sort"

	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Advanced is the advanced composition filter of Rogers et al. 2016, Theorem 5.1.
// Everything accepted together is (ε, δ)-DP with the budget's ε and δ; about realised
// losses see Basic. Not safe for concurrent use.
//
// It accepts while Σ δ_i ≤ δ/2 and
//
//	Σ ε_i(e^ε_i − 1)/2 + √(2(Σ ε_i² + β)(1 + ½·ln(Σ ε_i²/β + 1))·ln 2/δ) ≤ ε
//
// with β = ε²/(28.04·ln 1/δ). The left side is bounded from above: a relative 2^-40 of
// the first sum and of Σ ε_i² + β may go unused.
//
// For pure ε_i-DP mechanisms of the same budget NewZCDP accepts whatever this filter
// does, and more: ½·Σ ε_i² + √(2·Σ ε_i²·ln 1/δ) is less than the above, term by term.
//
// Spent is the left side, and Σδ_i, which may be half of δ; 0 where nothing was accepted, but a
// first loss, however small, costs √(2β·ln 2/δ). Left evaluates the rule some sixty times.
type Advanced struct {
	filterOf[loss.Approx, advanced, *advanced]
}

type advanced struct {
	excess, squares fixed.Amount // Σ ε_i(e^ε_i − 1)/2, Σ ε_i²
	deltas          fixed.Meter
	epsilon, delta  float64 // of the budget
	beta            float64
	weight          float64 // 2·β·ln(2/δ)/ε², the square of the root at no loss
}

var _ Filter[loss.Approx] = (*Advanced)(nil)

// betaFactor is the 28.04 of Theorem 5.1. It is 8x for the x = 2 + ln(1 + x) at which
// the theorem's β is best where advanced composition would just use up ε.
const betaFactor = 28.04

// NewAdvanced returns an Advanced filter. 2^-80 ≤ ε ≤ budgets.MaxEpsilon and
// budgets.MinDelta ≤ δ < 1/e, as the theorem asks; below δ = 2^-207 only pure losses fit.
// The error is a *units.RangeError.
func NewAdvanced(budget loss.Approx) (*Advanced, error) {
	if err := checkPromise(budget); err != nil {
		return nil, err
	}
	if !(budget.Delta < 1/math.E) {
		return nil, &units.RangeError{Parameter: "delta", Value: budget.Delta, Range: "at least 1e-300 and below 1/e (0.3678...)"}
	}
	return &Advanced{newFilter[loss.Approx](newAdvanced(budget))}, nil
}

func newAdvanced(budget loss.Approx) advanced {
	l := -math.Log(budget.Delta)
	return advanced{
		deltas:  fixed.NewMeter(fixed.Down(budget.Delta / 2)),
		epsilon: budget.Epsilon,
		delta:   budget.Delta,
		beta:    budget.Epsilon * budget.Epsilon / (betaFactor * l),
		weight:  2 * (l + math.Ln2) / (betaFactor * l),
	}
}

// Fresh returns a filter of the same budget of which nothing is spent.
func (a *Advanced) Fresh() Filter[loss.Approx] { return &Advanced{a.fresh()} }

func (a *advanced) admit(act fixed.Act, l loss.Approx) error {
	if err := l.Validate(); err != nil {
		return err
	}
	excess, squares := a.with(l.Epsilon)
	if !a.allows(excess, squares) || !a.deltas.Admit(act, fixed.Up(l.Delta)) {
		return ErrExceeded
	}
	if act == fixed.Spend {
		a.excess, a.squares = excess, squares
	}
	return nil
}

func (a *advanced) left() loss.Approx {
	// ε_i above ε never fits: then Σ ε_i²/β ≥ 28.04·ln 1/δ, and the root alone is
	// above √2·ε. Non-negative floats are ordered as their bit patterns.
	patterns := int(math.Float64bits(a.epsilon)) + 1
	refused := sort.Search(patterns, func(i int) bool {
		return !a.allows(a.with(math.Float64frombits(uint64(i))))
	})
	epsilon := 0.0
	if refused > 0 {
		epsilon = math.Float64frombits(uint64(refused - 1))
	}
	return loss.Approx{Epsilon: epsilon, Delta: a.deltas.Left().FloatDown()}
}

func (a *advanced) spent() loss.Approx {
	spent := loss.Approx{Delta: a.deltas.Taken().FloatUp()}
	if !a.squares.IsZero() {
		spent.Epsilon = a.upTo(a.excess, a.squares)
	}
	return spent
}

func (a *advanced) budget() loss.Approx { return loss.Approx{Epsilon: a.epsilon, Delta: a.delta} }
func (a *advanced) fresh() advanced     { return newAdvanced(a.budget()) }

func (*advanced) Kind() stored.Kind { return "filter.Advanced" }

func (a *advanced) Layout(c *stored.Codec) {
	c.Parameters.Float(&a.epsilon)
	c.Parameters.Float(&a.delta)
	fresh, err := NewAdvanced(a.budget())
	if c.Fail(err); c.Failed() {
		return
	}
	if c.Reading() {
		*a = *fresh.rule()
	}
	c.Progress.Amount(&a.excess)
	c.Progress.Amount(&a.squares)
	c.Meter(&a.deltas, false)
	c.Check(a.deltas.Limit() == fresh.rule().deltas.Limit(), "its budget for the δ of losses is not half of δ")
	// Another machine's logarithm may differ in its last bits.
	const tolerance = 1 + 0x1p-40
	c.Check(a.upTo(a.excess, a.squares) <= a.epsilon*tolerance, "more is spent than the budget has")
}

// with returns the two sums after one more ε.
func (a *advanced) with(epsilon float64) (excess, squares fixed.Amount) {
	return a.excess.Plus(fixed.Up(excessOf(epsilon))), a.squares.Plus(fixed.SquareUp(epsilon))
}

// coarseBits is the number of low mantissa bits that coarsen clears.
const coarseBits = 11

// evaluationMargin is above the relative error of what is evaluated in float64 here:
// a dozen operations that are correctly rounded or, for math.Log and math.Expm1, below
// one ulp, so that 2^-49 would do.
const evaluationMargin = 1 + 0x1p-46

// coarsen returns x ≥ 0 rounded up to 42 significant bits. math.Log and math.Expm1
// are not known to be monotone in the last bit. Arguments that differ after
// coarsening differ by a relative 2^-42, and so do the products x·ln and x·expm1 below:
// more than any error of their evaluation. So both functions are monotone as computed.
func coarsen(x float64) float64 {
	const low = 1<<coarseBits - 1
	return math.Float64frombits((math.Float64bits(x) + low) &^ low)
}

// excessOf returns an upper bound of ε(e^ε − 1)/2, monotone in ε ≥ 0; it is 0 for 0,
// and +Inf where it overflows.
func excessOf(epsilon float64) float64 {
	if epsilon == 0 {
		return 0
	}
	c := coarsen(epsilon)
	product := float64(c * math.Expm1(c) / 2)
	return float64(product*evaluationMargin) + math.SmallestNonzeroFloat64
}

// allows reports whether an upper bound of the halting rule's expression is at most ε.
func (a *advanced) allows(excess, squares fixed.Amount) bool {
	return a.upTo(excess, squares) <= a.epsilon
}

// upTo returns an upper bound of the halting rule's expression. Every step is monotone in both
// sums: correctly rounded operations are, and float64() keeps them from being fused into others
// on some machines only.
func (a *advanced) upTo(excess, squares fixed.Amount) float64 {
	ratio := 1 + float64(squares.FloatUp()/a.beta)
	ratio = coarsen(float64(ratio * evaluationMargin))
	spread := float64(ratio * (1 + float64(0.5*math.Log(ratio))))
	root := float64(a.epsilon * math.Sqrt(float64(a.weight*spread)))
	total := excess.FloatUp() + root
	return float64(total * evaluationMargin)
}
