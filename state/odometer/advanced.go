package odometer

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Advanced is the advanced odometer of Rogers et al. (2016, Theorem 6.2): the
// realised loss grows like √Σε² instead of Σε. With S = Σε² and a grid size n
// fixed in advance the bound is Σε(e^ε − 1)/2 plus
//
//	2·√(S·(1 + ln √3)·ln(2k/δ))                                   for S in [1/n², 1]
//	√(2·(1/n² + S)·(1 + ½·ln(1 + n²·S))·ln(2k/δ))                 for every S
//
// and nothing once Σδ > δ/2. k = ⌈2·log₂ n⌉ counts the values over which the proof
// takes its union bound. The theorem prints 4·log₂ n for 2k, which is less unless
// n² is a power of two: too little by up to one value.
//
// The smallest of both expressions and Σε is claimed (plus Σδ, see below): all
// three hold on the same event, so none of them costs any δ.
//
// The losses must hold point by point, as for Basic, and both of their numbers must
// be fixed before the mechanism runs: an ε that is known only afterwards is for
// Basic alone. Then a mechanism's mean loss is at most ε·tanh(ε/2) + δ, hence the
// Σδ, at most δ/2 altogether.
//
// Epsilon of the bound is +Inf once Σδ exceeds half of the δ of the odometer, and stays so, and for
// the zero value.
//
// Not safe for concurrent use.
type Advanced struct {
	odometerOf[loss.Approx, loss.Approx, advanced, *advanced]
}

type advanced struct {
	delta      float64
	logTerm    float64 // ln(2k/δ)
	n          uint64
	limit      fixed.Amount
	basic      fixed.Amount // Σε
	squares    fixed.Amount // Σε²
	means      fixed.Amount // Σε(e^ε − 1)/2
	deltaTotal fixed.Amount // Σδ
}

var _ Odometer[loss.Approx, loss.Approx] = (*Advanced)(nil)

// NewAdvanced returns an odometer whose claims hold but for a probability of
// delta, 1e-300 ≤ delta < 1/e. n ≥ 2 is the size of the data set in the theorem;
// it only says from which S = 1/n² on the first expression is used, and any number
// that was not chosen by looking at the data is as valid. The error is a
// *units.RangeError.
func NewAdvanced(delta float64, n uint64) (*Advanced, error) {
	if !(delta >= budgets.MinDelta && delta <= 0.3678794411714423) {
		return nil, &units.RangeError{Parameter: "delta", Value: delta, Range: "at least 1e-300 and below 1/e"}
	}
	if n < 2 {
		return nil, &units.RangeError{Parameter: "n", Value: float64(n), Range: "at least 2"}
	}
	return &Advanced{newOdometer[loss.Approx, loss.Approx](advanced{
		delta:   delta,
		logTerm: enlarged(math.Log(float64(2*doublings(n))) - math.Log(delta)),
		n:       n,
		limit:   fixed.Down(delta / 2),
	})}, nil
}

// doublings returns ⌈2·log₂ n⌉, the number of doublings from 1/n² to 1, for n ≥ 2.
func doublings(n uint64) int {
	less, _ := int128.Mul(n, n).Sub(int128.Uint{Lo: 1})
	return less.Len()
}

// Spent returns Σε and Σδ of what was recorded, rounded up: the sums, not a claim. +Inf
// where a sum no longer fits.
func (a *Advanced) Spent() loss.Approx {
	own := a.ledger()
	return loss.Approx{Epsilon: total(own.basic), Delta: total(own.deltaTotal)}
}

func (a *advanced) record(l loss.Approx) error {
	a.basic = a.basic.Plus(fixed.Up(l.Epsilon))
	a.squares = a.squares.Plus(fixed.SquareUp(l.Epsilon))
	a.means = a.means.Plus(meanUp(l.Epsilon))
	a.deltaTotal = a.deltaTotal.Plus(fixed.Up(l.Delta))
	return nil
}

// meanUp returns ε(e^ε − 1)/2, rounded up: at least one unit where ε is not 0, also
// where float64 has lost the product.
func meanUp(epsilon float64) fixed.Amount {
	if epsilon == 0 {
		return fixed.Amount{}
	}
	return fixed.Up(math.Max(enlarged(epsilon*math.Expm1(epsilon)/2), math.SmallestNonzeroFloat64))
}

func (a *advanced) bound() loss.Approx {
	if a.n == 0 || a.deltaTotal.Cmp(a.limit) > 0 {
		return loss.Approx{Epsilon: math.Inf(1), Delta: a.delta}
	}
	mean := total(a.means.Plus(a.deltaTotal))
	epsilon := math.Min(total(a.basic), enlarged(mean+a.deviation(total(a.squares))))
	return loss.Approx{Epsilon: epsilon, Delta: a.delta}
}

// deviation returns the second term of the bound at S = s, approximately.
func (a *advanced) deviation(s float64) float64 {
	if s == 0 {
		return 0
	}
	size := float64(a.n)
	least := 1 / size / size
	whole := math.Sqrt(2 * (least + s) * (1 + math.Log1p(s/least)/2) * a.logTerm)
	if s < least || s > 1 {
		return whole
	}
	const sqrt3 = 0.5493061443340548 // ln √3 = 0.54930614433405484…
	return math.Min(whole, 2*math.Sqrt(s*(1+sqrt3)*a.logTerm))
}

func (*advanced) Kind() stored.Kind { return "odometer.Advanced" }

func (a *advanced) Layout(c *stored.Codec) {
	c.Parameters.Float(&a.delta)
	c.Parameters.Uint(&a.n)
	made(c, a)(NewAdvanced(a.delta, a.n))
	for _, sum := range []*fixed.Amount{&a.basic, &a.squares, &a.means, &a.deltaTotal} {
		c.Progress.Amount(sum)
	}
}
