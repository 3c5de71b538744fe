package conversion

import (
	"math"
	"math/big"
	"sort"

	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// OptimalRDPToDelta returns the least δ for which everything with a Rényi divergence of
// at most γ at one order is (ε, δ)-DP, rounded up, the best over the orders: the optimum
// of one order, which no formula can be below (Asoodeh, Liao, Calmon, Kosut and Sankar,
// 2021, Theorem 3), to a relative 1e-6, for γ below 1e-14 less near. It is at most
// RDPToDelta, which leaves away what the divergence holds outside of the event.
//
// By duality δ is the least E = a·e^((α−1)γ) + c + b for which a·l^α + b·l + c bounds
// max(l − e^ε, 0) at every likelihood ratio l ≥ 0. A power that touches 0 at s < 1 and
// l − e^ε at r has
//
//	E = (e^((α−1)γ) − α·s^(α−1) + (α−1)·s^α)/(α·(r^(α−1) − s^(α−1))),
//	and bounds iff (α−1)·(r^α − s^α) ≤ α·e^ε·(r^(α−1) − s^(α−1)).
//
// s = 0 is RDPToDelta. Where γ ≥ ε + ln(α/(α−1)) the optimum is 1 − e^(ε−γ), that of an event that
// is certain on one side. The search for s and r is done in float64; that the pair is one that
// bounds is checked in wide arithmetic.
//
// What several orders together imply may be less; that optimum is not known.
//
// The ranges and errors are those of RDPToDelta.
func OptimalRDPToDelta(r loss.RDP, epsilon float64) (delta float64, err error) {
	delta, err = RDPToDelta(r, epsilon)
	if err != nil || delta == 0 {
		return delta, err
	}
	var rest []dual
	for _, o := range r {
		if d := (dual{o}); d.certain(epsilon) {
			delta = min(delta, d.certainDelta(epsilon))
		} else if d.modest() {
			rest = append(rest, d)
		}
	}
	for _, d := range bestDuals(rest, func(d dual) float64 { return d.logDelta(epsilon) }) {
		delta = min(delta, d.deltaUpper(epsilon))
	}
	return delta, nil
}

// OptimalRDPToEpsilon returns the least ε ≥ 0 at which everything with a Rényi
// divergence of at most γ at one order is (ε, δ)-DP, rounded up, the best over the
// orders: the inverse of OptimalRDPToDelta, to 1e-8 of the larger of 1 and ε. It is at
// most RDPToEpsilon. The ranges and errors are those of RDPToEpsilon.
func OptimalRDPToEpsilon(r loss.RDP, delta float64) (epsilon float64, err error) {
	epsilon, err = RDPToEpsilon(r, delta)
	if err != nil || epsilon == 0 || math.IsInf(epsilon, 1) {
		return epsilon, err
	}
	var rest []dual
	for _, o := range r {
		if d := (dual{o}); d.certainAt(delta) {
			epsilon = min(epsilon, d.certainEpsilon(delta))
		} else if d.modest() {
			rest = append(rest, d)
		}
	}
	logDelta, most := math.Log(delta), epsilon
	near := func(d dual) float64 { return d.epsilonNear(logDelta, most) }
	for _, d := range bestDuals(rest, near) {
		epsilon = min(epsilon, d.epsilonUpper(near(d), epsilon, delta))
	}
	return epsilon, nil
}

// dual is the problem at one order.
type dual struct{ at loss.Order }

// modest reports whether the optimum may differ from RDPToDelta by enough to be
// computed: the difference is a relative α·e^(−(α−1)γ), unless the event is certain.
func (d dual) modest() bool {
	return d.at.Alpha <= maxOrder && (d.at.Alpha-1)*d.at.Epsilon <= 100
}

// slack is a relative part of a condition that covers its rounding: the bounds of a
// certain event hold only where it is one.
const slack = 1e-12

// certain reports whether the optimal event at ε is certain on one side.
func (d dual) certain(epsilon float64) bool {
	return d.at.Epsilon <= math.MaxFloat64 && d.at.Epsilon-epsilon >= math.Log1p(1/(d.at.Alpha-1))*(1+slack)
}

// certainDelta returns 1 − e^(ε−γ), rounded up.
func (d dual) certainDelta(epsilon float64) float64 {
	if d.at.Epsilon-epsilon > 1000 {
		return 1
	}
	delta := bigmath.Expm1(bigmath.Zero().Sub(bigmath.New(epsilon), bigmath.New(d.at.Epsilon)))
	return bigmath.RoundUp(bigmath.Upward(delta.Neg(delta)))
}

// certainAt is certain at the ε of δ: δ ≥ 1/α.
func (d dual) certainAt(delta float64) bool {
	return d.at.Epsilon <= math.MaxFloat64 && delta*d.at.Alpha >= 1+slack
}

// certainEpsilon returns γ + ln(1 − δ), or 0 if that is more, rounded up.
func (d dual) certainEpsilon(delta float64) float64 {
	log := bigmath.Log(bigmath.Zero().Sub(bigmath.New(1), bigmath.New(delta)))
	log.Add(log, bigmath.Margin(log))
	return max(bigmath.RoundUp(bigmath.Up().Add(log, bigmath.New(d.at.Epsilon))), 0)
}

// bestDuals returns those whose value, computed in float64, may be least.
func bestDuals(duals []dual, of func(dual) float64) []dual {
	values, least := make([]float64, len(duals)), math.Inf(1)
	for i, d := range duals {
		values[i] = of(d)
		least = min(least, values[i])
	}
	var best []dual
	for i, d := range duals {
		if values[i] <= least+1e-9*max(1, math.Abs(least)) {
			best = append(best, d)
		}
	}
	return best
}

// logExpm1 returns ln(e^z − 1) for z > 0.
func logExpm1(z float64) float64 {
	if z > 30 {
		return z + math.Log1p(-math.Exp(-z))
	}
	return math.Log(math.Expm1(z))
}

// touch returns d = ln r − ln s for the greatest r that bounds, given y = ln s. What it
// solves is convex and rises in d, with a slope from 1/2 to 1: Newton's iteration falls
// to the solution from any d above it.
func (d dual) touch(y, epsilon float64) float64 {
	alpha, t := d.at.Alpha, d.at.Alpha-1
	shift := math.Log(t) - math.Log1p(t) + y - epsilon
	apart := -shift
	for range 40 {
		value := shift + logExpm1(float64(alpha*apart)) - logExpm1(float64(t*apart))
		step := value / (t/math.Expm1(-t*apart) - alpha/math.Expm1(-alpha*apart))
		if !(step > 1e-16*apart) {
			break
		}
		apart -= step
	}
	return apart
}

// objective returns ln E at s = 1 − w, w = 1/(1 + e^v).
func (d dual) objective(v, epsilon float64) float64 {
	t := d.at.Alpha - 1
	w := 1 / (1 + math.Exp(v))
	y := -math.Log1p(math.Exp(-v))
	height := math.Expm1(t*d.at.Epsilon) - math.Expm1(float64(t*y)+math.Log1p(t*w))
	apart := d.touch(y, epsilon)
	return math.Log(height) - math.Log(d.at.Alpha) - float64(t*y) - logExpm1(t*apart)
}

// search returns the v and the objective where that is least.
func (d dual) search(epsilon float64) (v, value float64) {
	const lo, hi, steps = -60.0, 80.0, 28
	v, value = lo, math.Inf(1)
	for i := range steps + 1 {
		at := lo + (hi-lo)*float64(i)/steps
		if f := d.objective(at, epsilon); f < value {
			v, value = at, f
		}
	}
	const golden = 0.6180339887498949
	a, b := v-(hi-lo)/steps, v+(hi-lo)/steps
	for range 36 {
		x, y := b-golden*(b-a), a+golden*(b-a)
		if d.objective(x, epsilon) < d.objective(y, epsilon) {
			b = y
		} else {
			a = x
		}
	}
	if f := d.objective((a+b)/2, epsilon); f < value {
		v, value = (a+b)/2, f
	}
	return v, value
}

func (d dual) logDelta(epsilon float64) float64 {
	_, value := d.search(epsilon)
	return value
}

// epsilonNear returns the ε ≤ most at which the objective is logDelta, in float64. The
// event at that ε is not certain: certainAt is false.
func (d dual) epsilonNear(logDelta, most float64) float64 {
	lo, hi := max(0, d.at.Epsilon-math.Log1p(1/(d.at.Alpha-1))), most
	if !(lo < hi) {
		return most
	}
	for range 50 {
		mid := lo + (hi-lo)/2
		if d.logDelta(mid) <= logDelta {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// epsilonUpper returns an ε near the one given whose bound is proved to be at most δ,
// or most, whose bound is known to be. The best v changes so little with ε that one
// serves all that are tried.
func (d dual) epsilonUpper(near, most, delta float64) float64 {
	const window = 64
	v, _ := d.search(near)
	fits := func(pattern uint64) bool {
		return d.deltaAt(v, math.Float64frombits(pattern)) <= delta
	}
	first := math.Float64bits(near)
	for step := uint64(1) << 8; math.Float64frombits(first+step) < most; step *= window {
		if !fits(first + step) {
			continue
		}
		start := first - min(step, first)
		found := sort.Search(int(first+step-start), func(i int) bool { return fits(start + uint64(i)) })
		return math.Float64frombits(start + uint64(found))
	}
	return most
}

// deltaUpper returns an upper bound of E at the best s that the search finds; 1 where
// it finds none.
func (d dual) deltaUpper(epsilon float64) float64 {
	v, _ := d.search(epsilon)
	return d.deltaAt(v, epsilon)
}

// deltaAt returns an upper bound of E at the s of v, or 1 where none is proved.
func (d dual) deltaAt(v, epsilon float64) float64 {
	// Beyond, an exponent of e would leave the domain of wide arithmetic.
	const largest = 1 << 24
	near := d.touch(-math.Log1p(math.Exp(-v)), epsilon)
	if !(near > 0 && near*d.at.Alpha < largest && d.at.Alpha < largest*largest) {
		return 1
	}
	t := bigmath.New(d.at.Alpha)
	t.Sub(t, bigmath.New(1))
	s, w := bigmath.New(1/(1+math.Exp(-v))), bigmath.New(1/(1+math.Exp(v)))
	if v < 0 {
		w.Sub(bigmath.New(1), s)
	} else {
		s.Sub(bigmath.New(1), w)
	}
	y := bigmath.Log(s)
	apart := d.bounding(t, y, epsilon, near)
	if apart == nil {
		return 1
	}
	// e^((α−1)γ) − 1 + (1 − s^(α−1)·(1 + (α−1)·w)), the numerator.
	power := bigmath.Zero().Mul(t, y)
	inner := bigmath.Zero().Mul(t, w)
	inner = bigmath.Log(inner.Add(inner, bigmath.New(1)))
	height := bigmath.Expm1(bigmath.Zero().Mul(t, bigmath.New(d.at.Epsilon)))
	height.Sub(height, bigmath.Expm1(inner.Add(inner, power)))
	// The errors of both logarithms are below 2^-370 of α.
	height.Add(height, bigmath.Zero().SetMantExp(bigmath.New(d.at.Alpha), -330))

	width := bigmath.Exp(power)
	width.Mul(width, bigmath.Expm1(apart.Mul(apart, t)))
	width.Mul(width, bigmath.New(d.at.Alpha))
	return bigmath.RoundUp(bigmath.Upward(height.Quo(height, width)))
}

// bounding returns a difference ln r − ln s just below the greatest with which the pair
// bounds, found from the one given, or nil if none is found. What is solved rises with
// it at a rate from 1/2, where it is small, to 1.
func (d dual) bounding(t, y *big.Float, epsilon, near float64) *big.Float {
	alpha, rate := bigmath.New(d.at.Alpha), 0.5
	if f, _ := t.Float64(); near*d.at.Alpha > 1e-6 {
		rate = f/math.Expm1(-f*near) - d.at.Alpha/math.Expm1(-d.at.Alpha*near)
	}
	factor := bigmath.Exp(bigmath.Zero().Sub(bigmath.New(epsilon), y))
	factor.Mul(factor, alpha)
	sides := func(apart *big.Float) (left, right *big.Float) {
		left = bigmath.Expm1(bigmath.Zero().Mul(alpha, apart))
		right = bigmath.Expm1(bigmath.Zero().Mul(t, apart))
		return left.Mul(left, t), right.Mul(right, factor)
	}
	apart := bigmath.New(near)
	for range 8 {
		left, right := sides(apart)
		step := bigmath.Log(left.Quo(left, right))
		step.Quo(step, bigmath.New(rate))
		apart.Sub(apart, step)
		if apart.Sign() <= 0 {
			return nil
		}
		if step.Sign() == 0 || step.MantExp(nil) < apart.MantExp(nil)-70 {
			break
		}
	}
	for bits := 60; bits > 20; bits -= 4 {
		short := bigmath.Zero().Sub(apart, bigmath.Zero().SetMantExp(apart, -bits))
		left, right := sides(short)
		if left.Add(left, bigmath.Margin(left)).Cmp(right) <= 0 {
			return short
		}
	}
	return nil
}
