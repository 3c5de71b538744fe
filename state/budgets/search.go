package budgets

import (
	"math"
	"math/big"
	"sort"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
)

// guided is how often leastPattern follows the secant before it bisects: four steps suffice from a
// good start.
const guided = 16

// leastPattern is sort.Search over [first, last) on the patterns of non-negative float64: the least
// for which passes is true, or last. It evaluates few patterns: it begins at start and follows the
// secant of excess, ln(δ/target), with a first slope. These float64 values guide the search; they
// never decide the result.
func leastPattern(first, last int, start, slope float64, check func(x float64) (passes bool, excess float64)) int {
	lo, hi := first-1, last
	var lastX, lastExcess float64
	stride := 1
	next := int(math.Float64bits(start))
	for step := 0; hi-lo > 1; step++ {
		switch {
		case step >= guided:
			next = lo + (hi-lo)/2
		case next <= lo:
			next, stride = lo+stride, 2*stride
		case next >= hi:
			next, stride = hi-stride, 2*stride
		}
		if next <= lo || next >= hi {
			next = lo + (hi-lo)/2
		}
		x := math.Float64frombits(uint64(next))
		passes, excess := check(x)
		if passes {
			hi = next
		} else {
			lo = next
		}
		if step > 0 && x != lastX && excess != lastExcess {
			slope = (excess - lastExcess) / (x - lastX)
		}
		lastX, lastExcess = x, excess
		if target := x - excess/slope; target >= 0 && target <= math.MaxFloat64 {
			next = int(math.Float64bits(target))
		}
	}
	return hi
}

// excessOf returns ln(δ/target) in float64, accurate even near 0.
func excessOf(delta, target *big.Float) float64 {
	ratio := bigmath.Zero().Quo(delta, target)
	if difference, _ := bigmath.Zero().Sub(ratio, bigmath.New(1)).Float64(); math.Abs(difference) < 0.5 {
		return math.Log1p(difference)
	}
	mantissa := bigmath.Zero()
	exponent := ratio.MantExp(mantissa)
	m, _ := mantissa.Float64()
	return math.Log(m) + float64(exponent)*math.Ln2
}

// nearZeroOf returns an x from low to high at which log, monotone but for its rounding, is nearest
// to goal, and the slope there.
func nearZeroOf(low, high, goal float64, rises bool, log func(x float64) float64) (x, slope float64) {
	first, last := int(math.Float64bits(low)), int(math.Float64bits(high))
	i := sort.Search(last-first, func(i int) bool {
		return (log(math.Float64frombits(uint64(first+i))) >= goal) == rises
	})
	x = math.Float64frombits(uint64(first + i))
	h := x * 0x1p-18
	return x, (log(x+h) - log(x-h)) / (2 * h)
}

// logDelta returns ln δ in float64, roughly: where to begin a search in exact arithmetic.
func logDelta(mu, epsilon float64, a Accountant) float64 {
	if a != GDP {
		rho := mu * mu / 2
		t := bestOrder(rho, epsilon)
		if t == 0 {
			return 0
		}
		return min(0, t*((1+t)*rho-epsilon)-t*math.Log1p(1/t)-math.Log1p(t))
	}
	low := epsilon/mu - mu/2
	middle, high := epsilon/mu, epsilon/mu+mu/2
	switch {
	case low < 1 && mu > 1e-3:
		return math.Log(math.Erfc(low/math.Sqrt2)/2 - normalDensity(low)*mills(high))
	case mu > 1e-3:
		return -low*low/2 - math.Log(math.Sqrt(2*math.Pi)) + math.Log(mills(low)-mills(high))
	}
	// R(a) − R(b) is about μ·(1 − m·R(m)) with m = ε/μ between them.
	return -low*low/2 + math.Log(mu/math.Sqrt(2*math.Pi)*(1-middle*mills(middle)))
}

func normalDensity(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// mills returns (1 − Φ(x))/φ(x) in float64.
func mills(x float64) float64 {
	if x < 12 {
		return math.Erfc(x/math.Sqrt2) / 2 / normalDensity(x)
	}
	t := x
	for k := 20.0; k >= 1; k-- {
		t = x + k/t
	}
	return 1 / t
}
