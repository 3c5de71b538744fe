package metrickind

import (
	"math"
	"math/big"
)

// ratio is an event's mean contribution to a further component, with its interval.
type ratio struct {
	value, low, high *big.Rat
	bounded          bool // if false, the interval is the entire possible range
}

// ratioOf returns the ratio of a further component S to the first component N. Its interval, by
// Fieller (1954), consists of every θ with (S − θN)² ≤ k·(v_S + θ²·v_N). The ratio and the interval
// are clamped to the possible range from −most to most. The interval is this entire range if N is
// not significantly above 0, or if a component may have been clamped. It is also the entire range
// if it would otherwise lie outside the range: clamped to a point, it would seem exact.
func ratioOf(c Components, extra int, most *big.Rat) ratio {
	n, s := c.Of[0], c.Of[extra]
	least := new(big.Rat).Neg(most)
	within := func(x *big.Rat) *big.Rat { return clamp(x, least, most) }
	out := ratio{value: new(big.Rat), low: least, high: most}
	if n.Value.Sign() <= 0 {
		return out
	}
	out.value = within(new(big.Rat).Quo(s.Value, n.Value))
	k := square(c.HalfWidth)
	a := new(big.Rat).Sub(square(n.Value), product(k, n.Variance)) // N² − k·v_N
	if c.Beyond || a.Sign() <= 0 {
		return out
	}
	// θ = (S·N ± √(k·v_S·N² + k·v_N·S² − k²·v_N·v_S))/(N² − k·v_N); N² > k·v_N makes the radicand
	// positive.
	radicand := product(k, s.Variance, square(n.Value))
	radicand.Add(radicand, product(k, n.Variance, square(s.Value)))
	radicand.Sub(radicand, product(square(k), n.Variance, s.Variance))
	root := rootUp(radicand)
	centre := product(n.Value, s.Value)
	low, high := new(big.Rat).Quo(new(big.Rat).Sub(centre, root), a), new(big.Rat).Quo(new(big.Rat).Add(centre, root),
		a)
	if high.Cmp(least) >= 0 && low.Cmp(most) <= 0 {
		out.low, out.high, out.bounded = within(low), within(high), true
	}
	return out
}

// imitateRatio does in floating point what ratioOf does exactly.
func imitateRatio(d Drawn, extra int, most float64) Imitated {
	n, s := d.Values[0], d.Values[extra]
	within := func(x float64) float64 { return math.Max(-most, math.Min(most, x)) }
	k := d.HalfWidth * d.HalfWidth
	a := n*n - k*d.Variances[0]
	switch {
	case n <= 0:
		return Imitated{0, -most, most}
	case a <= 0:
		return Imitated{within(s / n), -most, most}
	}
	root := math.Sqrt(k * (d.Variances[extra]*a + d.Variances[0]*s*s))
	low, high := (s*n-root)/a, (s*n+root)/a
	if high < -most || low > most {
		return Imitated{within(s / n), -most, most}
	}
	return Imitated{within(s / n), within(low), within(high)}
}

// outward rounds x, an end of an interval, to a multiple of 2^-20: up if above is set, else down.
func outward(x *big.Rat, above bool) *big.Rat {
	const parts = 1 << 20
	if above {
		return new(big.Rat).Neg(outward(new(big.Rat).Neg(x), false))
	}
	scaled := product(x, big.NewRat(parts, 1))
	return big.NewRat(floor(scaled), parts)
}

func greater(x, y *big.Rat) *big.Rat {
	if x.Cmp(y) > 0 {
		return x
	}
	return y
}
