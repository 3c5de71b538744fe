package budgets

import (
	"math"
	"math/big"
	"sort"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/search"
)

// leastFloat returns the least float64 in (low, high] at which δ is above target if δ rises, or at
// most target if δ falls. It returns high if there is none below high. log approximates ln δ in
// float64. The search starts where log reaches ln target, after one Newton step on δ itself. It
// runs over bit patterns, which are ordered like non-negative float64 values, and needs three or
// four evaluations of δ. log determines only the start: the result depends only on δ.
func leastFloat(low, high float64, target *big.Float, rises bool, log func(x float64) float64,
	delta func(x float64) *big.Float) float64 {
	goal, _ := target.Float64()
	start, slope := nearZeroOf(max(low, 0x1p-200), high, math.Log(goal), rises, log)
	if next := start - excessOf(delta(start), target)/slope; next > low && next < high {
		start = next
	}
	passed := func(pattern uint64) bool {
		return (delta(math.Float64frombits(pattern)).Cmp(target) > 0) == rises
	}
	return math.Float64frombits(search.Least(math.Float64bits(low), math.Float64bits(high),
		math.Float64bits(start), passed))
}

// excessOf returns ln(δ/target) in float64, with a small relative error even near 0.
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

// nearZeroOf returns an x from low to high at which log is nearest to goal, and the slope of log
// there. log must be monotone apart from rounding.
func nearZeroOf(low, high, goal float64, rises bool, log func(x float64) float64) (x, slope float64) {
	first, last := int(math.Float64bits(low)), int(math.Float64bits(high))
	i := sort.Search(last-first, func(i int) bool {
		return (log(math.Float64frombits(uint64(first+i))) >= goal) == rises
	})
	x = math.Float64frombits(uint64(first + i))
	h := x * 0x1p-18
	return x, (log(x+h) - log(x-h)) / (2 * h)
}

// logDelta returns an approximation of ln δ in float64, from which exact searches start.
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
	// With Mills' ratio R, R(low) − R(high) is about μ·(1 − m·R(m)) at the midpoint m = ε/μ.
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
