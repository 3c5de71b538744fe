package accounting

import (
	"math"
	"sort"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// advanced is the condition of Rogers et al. 2016, Theorem 5.1, on the sums Σ ε_i(e^ε_i − 1)/2 and
// Σ ε_i². The filter's third sum is Σ δ_i, whose limit is δ/2.
type advanced struct {
	promise loss.Approx
	beta    float64
	weight  float64 // 2·β·ln(2/δ)/ε²: the square of (root/ε) before any loss
}

// betaFactor is the constant 28.04 of Theorem 5.1. It is 8·x, where x solves x = 2 + ln(1 + x).
// This makes the theorem's β optimal when advanced composition exactly uses up ε.
const betaFactor = 28.04

// NewAdvanced returns the filter of advanced composition (Rogers et al. 2016, Theorem 5.1).
// Everything accepted together is (ε, δ)-DP with the budget's ε and δ; for realised losses see
// NewBasic. The error is a *units.RangeError unless 2^-80 ≤ ε ≤ budgets.MaxEpsilon and
// budgets.MinDelta ≤ δ < 1/e, as the theorem requires; below δ = 2^-207 only pure losses fit.
//
// The filter accepts losses while Σ δ_i ≤ δ/2 and
//
//	Σ ε_i(e^ε_i − 1)/2 + √(2(Σ ε_i² + β)(1 + ½·ln(Σ ε_i²/β + 1))·ln 2/δ) ≤ ε
//
// with β = ε²/(28.04·ln 1/δ). The left side is evaluated as an upper bound, which may leave a
// relative 2^-40 of the first sum and of Σ ε_i² + β unused. Spent returns the left side and Σ δ_i,
// which is at most δ/2. Before the first loss, the left side is 0. The first loss, however small,
// costs √(2β·ln 2/δ). Left evaluates the rule about sixty times.
//
// For pure ε_i-DP mechanisms and the same budget, the filter of NewZCDP accepts everything that
// this filter accepts, and more: each term of ½·Σ ε_i² + √(2·Σ ε_i²·ln 1/δ) is less than the
// corresponding term of the left side above.
func NewAdvanced(budget loss.Approx) (*Filter[loss.Approx], error) {
	if err := checkPromise(budget); err != nil {
		return nil, err
	}
	if err := checkBelowInverseE(budget.Delta); err != nil {
		return nil, err
	}
	l := -math.Log(budget.Delta)
	unlimited := fixed.Down(math.Inf(1))
	limits := []fixed.Amount{unlimited, unlimited, fixed.Down(budget.Delta / 2)}
	f := newFilter("advanced", advancedSums, limits, budget.Epsilon, budget.Delta)
	f.rule.condition = advanced{
		promise: budget,
		beta:    budget.Epsilon * budget.Epsilon / (betaFactor * l),
		weight:  2 * (l + math.Ln2) / (betaFactor * l),
	}
	return f, nil
}

var advancedSums = sums[loss.Approx]{price: func(l loss.Approx, prices []fixed.Amount) error {
	if err := l.Validate(); err != nil {
		return err
	}
	mean := fixed.Up(monotoneMeanLossUp(l.Epsilon))
	prices[0], prices[1], prices[2] = mean, fixed.SquareUp(l.Epsilon), fixed.Up(l.Delta)
	return nil
}}

func (a advanced) allows(m []fixed.Meter, prices []fixed.Amount, tolerance float64) bool {
	return a.upperBound(m[0].Taken().Plus(prices[0]), m[1].Taken().Plus(prices[1])) <= a.promise.Epsilon*tolerance
}

func (a advanced) left(m []fixed.Meter) loss.Approx {
	// An ε_i above ε never fits, because then Σ ε_i²/β ≥ 28.04·ln 1/δ, and the root alone is above
	// √2·ε. Non-negative floats sort like their bit patterns.
	patterns := int(math.Float64bits(a.promise.Epsilon)) + 1
	refused := sort.Search(patterns, func(i int) bool {
		epsilon := math.Float64frombits(uint64(i))
		return !a.allows(m, []fixed.Amount{fixed.Up(monotoneMeanLossUp(epsilon)), fixed.SquareUp(epsilon)}, 1)
	})
	l := loss.Approx{Delta: m[2].Left().FloatDown()}
	if refused > 0 {
		l.Epsilon = math.Float64frombits(uint64(refused - 1))
	}
	return l
}

func (a advanced) spent(m []fixed.Meter) loss.Approx {
	l := loss.Approx{Delta: m[2].Taken().FloatUp()}
	if squares := m[1].Taken(); !squares.IsZero() {
		l.Epsilon = a.upperBound(m[0].Taken(), squares)
	}
	return l
}

func (a advanced) budget() loss.Approx { return a.promise }

// coarseBits is the number of low mantissa bits that are 0 in the results of coarsen.
const coarseBits = 11

// evaluationMargin exceeds the relative error of the float64 formulas in this file. They have about
// a dozen operations, each correctly rounded or, for math.Log and math.Expm1, within one ulp. 1 +
// 2^-49 would suffice.
const evaluationMargin = 1 + 0x1p-46

// coarsen returns x ≥ 0, rounded up to 42 significant bits. It makes the computed products x·ln and
// x·expm1 below monotone, although math.Log and math.Expm1 are not known to be monotone in the last
// bit. Arguments that differ after coarsening differ by a relative 2^-42. So do the products, and
// this difference is more than any error of their evaluation.
func coarsen(x float64) float64 {
	const low = 1<<coarseBits - 1
	return math.Float64frombits((math.Float64bits(x) + low) &^ low)
}

// monotoneMeanLossUp returns an upper bound on ε(e^ε − 1)/2. Unlike meanLossUp, it is certainly
// monotone, which the search in left needs. It is 0 at ε = 0, and +Inf on overflow.
func monotoneMeanLossUp(epsilon float64) float64 {
	if epsilon == 0 {
		return 0
	}
	c := coarsen(epsilon)
	product := float64(c * math.Expm1(c) / 2)
	return float64(product*evaluationMargin) + math.SmallestNonzeroFloat64
}

// upperBound returns an upper bound on the left side of the filter's rule. It is monotone in both
// sums, because every correctly rounded operation is. float64() prevents fused operations.
func (a advanced) upperBound(mean, squares fixed.Amount) float64 {
	ratio := 1 + float64(squares.FloatUp()/a.beta)
	ratio = coarsen(float64(ratio * evaluationMargin))
	spread := float64(ratio * (1 + float64(0.5*math.Log(ratio))))
	root := float64(a.promise.Epsilon * math.Sqrt(float64(a.weight*spread)))
	total := mean.FloatUp() + root
	return float64(total * evaluationMargin)
}

// NewAdvancedOdometer returns the advanced odometer (Rogers et al. 2016, Theorem 6.2). Its bound
// grows like √Σε² instead of Σε, and holds except with probability delta, 1e-300 ≤ delta < 1/e. n ≥
// 2 is the size of the data set in the theorem; any n that is chosen without looking at the data is
// valid. The error is a *units.RangeError.
//
// With S = Σε² the bound is Σε(e^ε − 1)/2 plus
//
//	2·√(S·(1 + ln √3)·ln(2k/δ))                                   for S in [1/n², 1]
//	√(2·(1/n² + S)·(1 + ½·ln(1 + n²·S))·ln(2k/δ))                 for every S
//
// The bound is +Inf once Σδ > δ/2. k = ⌈2·log₂ n⌉ is the number of values in the union bound of the
// proof. The paper has 4·log₂ n in place of 2k. Unless n² is a power of two, that counts fewer than
// k values. The odometer reports the least of three bounds: Σε, and each of the two bounds above
// plus Σδ. All three hold on the same event, so taking the least costs no δ.
//
// The losses must hold pointwise, as for NewBasicOdometer, and both ε and δ of a loss must be
// fixed before the mechanism runs. Then a mechanism's mean loss is at most ε·tanh(ε/2) + δ. This is
// why Σδ, which is at most δ/2, is added.
func NewAdvancedOdometer(delta float64, n uint64) (*Odometer[loss.Approx, loss.Approx], error) {
	if err := checkBelowInverseE(delta); err != nil {
		return nil, err
	}
	if n < 2 {
		return nil, &units.RangeError{Parameter: "n", Value: float64(n), Range: "at least 2"}
	}
	a := advancedClaim{
		delta:   delta,
		logTerm: enlarged(math.Log(float64(2*doublings(n))) - math.Log(delta)),
		n:       float64(n),
		limit:   fixed.Down(delta / 2),
	}
	return newOdometer("advanced odometer", realisedSums, 4, a.bound, delta, math.Float64frombits(n)), nil
}

// realisedSums are the sums Σε, Σε², Σε(e^ε − 1)/2 and Σδ.
var realisedSums = sums[loss.Approx]{
	price: func(l loss.Approx, prices []fixed.Amount) error {
		prices[0], prices[1] = fixed.Up(l.Epsilon), fixed.SquareUp(l.Epsilon)
		prices[2], prices[3] = meanLossUp(l.Epsilon), fixed.Up(l.Delta)
		return l.Validate()
	},
	loss: func(s []fixed.Amount, r direction) loss.Approx {
		return loss.Approx{Epsilon: r.float(s[0]), Delta: r.float(s[3])}
	},
}

// meanLossUp returns an upper bound on ε(e^ε − 1)/2, which bounds the mean loss. The result is at
// least one unit if ε is not 0, even if the product underflows float64.
func meanLossUp(epsilon float64) fixed.Amount {
	if epsilon == 0 {
		return fixed.Amount{}
	}
	return fixed.Up(math.Max(enlarged(epsilon*math.Expm1(epsilon)/2), math.SmallestNonzeroFloat64))
}

type advancedClaim struct {
	delta   float64
	logTerm float64 // ln(2k/δ)
	n       float64
	limit   fixed.Amount // limit on Σδ
}

// doublings returns ⌈2·log₂ n⌉, the number of doublings from 1/n² to 1, for n ≥ 2.
func doublings(n uint64) int {
	less, _ := int128.Mul(n, n).Sub(int128.Uint{Lo: 1})
	return less.Len()
}

func (a advancedClaim) bound(s []fixed.Amount) loss.Approx {
	if s[3].Cmp(a.limit) > 0 {
		return loss.Approx{Epsilon: math.Inf(1), Delta: a.delta}
	}
	mean := up.float(s[2].Plus(s[3]))
	epsilon := math.Min(up.float(s[0]), enlarged(mean+a.deviation(up.float(s[1]))))
	return loss.Approx{Epsilon: epsilon, Delta: a.delta}
}

// deviation returns the second term of the bound at S = s, approximately.
func (a advancedClaim) deviation(s float64) float64 {
	if s == 0 {
		return 0
	}
	least := 1 / a.n / a.n
	general := math.Sqrt(2 * (least + s) * (1 + math.Log1p(s/least)/2) * a.logTerm)
	if s < least || s > 1 {
		return general
	}
	const lnSqrt3 = 0.5493061443340548 // ln √3 = 0.54930614433405484…
	return math.Min(general, 2*math.Sqrt(s*(1+lnSqrt3)*a.logTerm))
}
