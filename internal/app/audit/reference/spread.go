package reference

import (
	"math"
	"math/big"
	"sort"

	"github.com/tollgate-dp/tollgate/schemas"
)

// aimOfSpread returns the aim of a variance or a standard deviation. A standard deviation is
// treated as a variance whose target is the square of its own.
func aimOfSpread(m schemas.MetricSpec) float64 {
	t := m.Absolute
	if m.Kind == "standard_deviation" {
		t = m.Absolute * m.Absolute
	}
	factor := 0.884 * 1.284
	if m.Confidence >= 0.95 {
		factor = 0.884 * 1.144
	}
	span := float64(m.Max - m.Min)
	square := span * span
	return min(0.98*(t/(factor*square)), 0.5)
}

// quotient is the mean contribution of a cell's events to a component. Its interval is rounded
// outward to units of 2^-20.
type quotient struct {
	value     *big.Rat
	low, high *big.Rat
	known     bool
}

// quotientOf returns s/n, clamped to [−span, span]. Bisection finds the interval.
func quotientOf(n, s estimate, width *big.Rat, span int64, clamped bool) quotient {
	const unit = 1 << 20
	least, most := rat(-span), rat(span)
	out := quotient{value: rat(0), low: least, high: most}
	if n.value.Sign() <= 0 {
		return out
	}
	exact, k := quo(s.value, n.value), square(width)
	out.value = between(least, exact, most)
	if clamped || square(n.value).Cmp(mul(k, n.variance())) <= 0 {
		return out
	}
	outside := func(x *big.Rat) bool { // (S − xN)² ≥ k·(v_S + x²·v_N)
		return square(sub(s.value, mul(x, n.value))).Cmp(mul(k, add(s.variance(), mul(square(x), n.variance())))) >= 0
	}
	if exact.Cmp(least) < 0 && outside(least) || exact.Cmp(most) > 0 && outside(most) {
		return out // no possible value is inside
	}
	points := int(2 * span * unit)
	point := func(i int) *big.Rat { return big.NewRat(int64(i)-span*unit, unit) }
	// Find the last point at or below the interval, and the first point at or above it.
	i := sort.Search(points+1, func(i int) bool { x := point(i); return x.Cmp(exact) >= 0 || !outside(x) })
	out.low = point(max(i-1, 0))
	i = sort.Search(points+1, func(i int) bool { x := point(i); return x.Cmp(exact) > 0 && outside(x) })
	out.high = point(min(i, points))
	out.known = true
	return out
}

// spread computes a variance or a standard deviation from three components: N, the sum of the
// distances d = 2v − min − max, and the sum of 2d² − (max − min)².
func spread(spec schemas.MetricSpec, width *big.Rat, n stop, components []estimate) stop {
	span := spec.Max - spec.Min
	clamped := components[1].clamped(width) || components[2].clamped(width)
	first := quotientOf(components[0], components[1], width, span, clamped)
	second := quotientOf(components[0], components[2], width, span*span, clamped)
	// The mean of d² is (second + span²)/2, and the variance a quarter of (that mean − first²).
	variance := func(second, first *big.Rat) *big.Rat {
		return quo(sub(quo(add(second, rat(span*span)), rat(2)), square(first)), rat(4))
	}
	most := big.NewRat(span*span, 4)
	clamp := func(v *big.Rat) *big.Rat { return between(rat(0), v, most) }
	least, greatest := first.low, first.high // of the absolute values of first
	if new(big.Rat).Abs(least).Cmp(new(big.Rat).Abs(greatest)) > 0 {
		least, greatest = greatest, least
	}
	if first.low.Sign() < 0 && first.high.Sign() > 0 {
		least = rat(0)
	}
	v, root := clamp(variance(second.value, first.value)), spec.Kind == "standard_deviation"
	n.value = (unitsOf(v, 2, root) + 1) / 2
	from, to := variance(second.low, greatest), variance(second.high, least)
	if to.Sign() < 0 || from.Cmp(most) > 0 { // no possible variance is inside
		from, to, first.known = rat(0), most, false
	}
	low, high := unitsOf(clamp(from), 1, root), unitsOf(clamp(to), 1, root)+1
	top := float64(span) / 2
	if !root {
		top *= top
	}
	n.low, n.high = float64(min(low, n.value))/1024, math.Min(float64(max(high, n.value))/1024, top)
	n.stddev = top / 2
	if first.known && second.known {
		n.stddev = math.Min(n.stddev, deviationOf(v, first.value, second.value, root, components))
	}
	return n
}

// unitsOf returns ⌊v·1024·parts⌋ or, if root is set, ⌊√v·1024·parts⌋.
func unitsOf(v *big.Rat, parts int64, root bool) int64 {
	return int64(sort.Search(1<<50, func(i int) bool {
		x := big.NewRat(int64(i)+1, 1024*parts)
		if root {
			x = square(x)
		}
		return x.Cmp(v) > 0
	}))
}

// deviationOf returns the standard deviation of a variance v, or of its root. It multiplies the
// deviations of the components by the partial derivatives.
func deviationOf(v, first, second *big.Rat, root bool, components []estimate) float64 {
	slopes := []*big.Rat{ // by N, S and Q, times 8N
		sub(mul(rat(4), square(first)), second), mul(rat(-4), first), rat(1),
	}
	sum := rat(0)
	for i, slope := range slopes {
		sum = add(sum, mul(square(quo(slope, mul(rat(8), components[0].value))), components[i].variance()))
	}
	if !root {
		return rootOf(sum)
	}
	deviation := math.Sqrt(rootOf(sum))
	if v.Sign() > 0 { // the derivative of the root is 1/2√v
		deviation = math.Min(deviation, rootOf(quo(sum, mul(rat(4), v))))
	}
	return deviation
}
