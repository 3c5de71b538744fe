package metrickind

import (
	"math"
	"math/big"
)

// Mean is the kind that releases the mean of the values of a key's events.
const Mean = "mean"

// mean returns the kind Mean. The components of a mean are N, the number of kept events, and S =
// Σ(2v − min − max) over the clamped values v of these events. The mean is (min + max)/2 + S/2N. A
// user adds at most Events to N and at most Events·(max − min) to S. The noise of S is max − min
// times the noise of N, so both have equal maximum costs (docs/guarantee.md, "Several components").
func mean() Kind {
	return Kind{
		Name:  Mean,
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Value: countEvent,
		Vector: &Vector{
			Extra: []string{meanOffset().Name}, Ratios: 1, Aim: aimOfMean, Half: halfOfMean, Join: joinMean,
			Imitate: imitateMean,
			Span:    func(low, high float64) (from, to float64) { return low, high },
			Truth:   func(powers [MaxComponents]float64) float64 { return powers[1] / powers[0] },
		},
		Texts: Texts{
			Counted: "the value field's mean", Label: "mean", Size: "events", Verb: "averages",
			Value: "mean of {value}, each value clamped to {min} to {max}",
		},
	}
}

// countEvent is the Kind.Value of kinds whose first component counts events.
func countEvent(int64, Bounds) int64 { return 1 }

// meanOffset returns the kind of a mean's second component.
func meanOffset() Kind {
	return Kind{
		Name: "mean_offset",
		Range: func(b Bounds) (least, greatest int64) {
			return -b.Events * (b.Max - b.Min), b.Events * (b.Max - b.Min)
		},
		Value: func(value int64, b Bounds) int64 { return 2*value - b.Min - b.Max },
		Part:  new(Part),
		Texts: Texts{Label: "offset", Value: "distance of the values of {of} from the middle of {min} and {max}"},
	}
}

// aimOfMean returns a relative error r of N that limits the error of every mean to T. Let h be (max
// − min)/2 and δ the distance of the mean from the middle of the range. The interval of joinMean is
// within T of the value if T²·N² ≥ k·(v_S/4 + (|δ| + T)²·v_N). As v_S/4 = h²·v_N and |δ| ≤ h, it
// suffices that r² = k·v_N/N² is at most T²/(h² + (h + T)²). The factor 0.98 compensates for the
// fact that printed intervals are wider than the intervals of the stop rule. Conversions prevent
// fused products, so that every machine computes the same ladder.
func aimOfMean(b Bounds, relative, absolute, _ float64) float64 {
	least := 0.0 // smallest possible absolute value of a mean
	if b.Min > 0 || b.Max < 0 {
		least = math.Min(math.Abs(float64(b.Min)), math.Abs(float64(b.Max)))
	}
	t, half := math.Max(absolute, float64(relative*least)), float64(b.Max-b.Min)/2
	if t == 0 || half == 0 {
		return 0
	}
	from, to := float64(half*half), float64((half+t)*(half+t))
	return math.Min(0.5, 0.98*(t/math.Sqrt(from+to)))
}

// halfOfMean returns half the width of a mean's interval for a number of events, given half the
// width of N's interval. It assumes the worst case, which is a mean at an end of its range.
func halfOfMean(b Bounds, events, half, _ float64) float64 {
	return math.Min(half/events*math.Sqrt2*float64(b.Max-b.Min)/2, float64(b.Max-b.Min))
}

// joinMean returns the mean, (min + max)/2 + S/2N, with its interval.
func joinMean(b Bounds, c Components) Estimate {
	middle := new(big.Rat).SetFrac(new(big.Int).Add(big.NewInt(b.Min), big.NewInt(b.Max)), big.NewInt(2))
	quotient := ratioOf(c, 1, big.NewRat(b.Max-b.Min, 1))
	scaled := func(ratio *big.Rat) *big.Rat {
		half := new(big.Rat).Quo(ratio, big.NewRat(2, 1))
		return half.Add(half, middle)
	}
	e := Estimate{Value: nearest(scaled(quotient.value)), StdDev: float64(b.Max-b.Min) / 2}
	value := float64(e.Value) / valueUnits
	e.Low, e.High = min(down(scaled(quotient.low)), value), max(up(scaled(quotient.high)), value)
	if quotient.bounded {
		// √(v_S/4 + δ²·v_N)/N, with δ = S/2N
		delta := new(big.Rat).Quo(c.Of[1].Value, product(big.NewRat(2, 1), c.Of[0].Value))
		variance := new(big.Rat).Quo(c.Of[1].Variance, big.NewRat(4, 1))
		variance.Add(variance, product(square(delta), c.Of[0].Variance))
		variance.Quo(variance, square(c.Of[0].Value))
		e.StdDev = min(rootFloat(variance), e.StdDev)
	}
	return e
}

// imitateMean does in floating point what joinMean does exactly.
func imitateMean(b Bounds, d Drawn) Imitated {
	middle, quotient := float64(b.Min+b.Max)/2, imitateRatio(d, 1, float64(b.Max-b.Min))
	return Imitated{middle + quotient.Value/2, middle + quotient.Low/2, middle + quotient.High/2}
}

// valueUnits is the number of units in a released value of 1.
const valueUnits = 1 << 10

func product(factors ...*big.Rat) *big.Rat {
	p := big.NewRat(1, 1)
	for _, x := range factors {
		p.Mul(p, x)
	}
	return p
}

func square(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, x) }

func clamp(x, low, high *big.Rat) *big.Rat {
	switch {
	case x.Cmp(low) < 0:
		return low
	case x.Cmp(high) > 0:
		return high
	}
	return x
}

// nearest returns x in units of 1/valueUnits, rounded to the nearest integer, half up.
func nearest(x *big.Rat) int64 {
	scaled := new(big.Rat).Mul(x, big.NewRat(valueUnits, 1))
	return floor(scaled.Add(scaled, big.NewRat(1, 2)))
}

// down and up round x to a multiple of 1/valueUnits. They negate integers instead of floats,
// because a published zero must not have a sign.
func down(x *big.Rat) float64 {
	return float64(floor(new(big.Rat).Mul(x, big.NewRat(valueUnits, 1)))) / valueUnits
}

func up(x *big.Rat) float64 {
	return float64(-floor(new(big.Rat).Mul(x, big.NewRat(-valueUnits, 1)))) / valueUnits
}

func floor(x *big.Rat) int64 {
	quotient := new(big.Int)
	quotient.DivMod(x.Num(), x.Denom(), new(big.Int))
	return quotient.Int64()
}

// rootUp returns √x rounded up, with a relative error below 2^-100.
func rootUp(x *big.Rat) *big.Rat {
	const bits = 256
	root := new(big.Float).SetPrec(bits).SetMode(big.ToPositiveInf).SetRat(x)
	root.Sqrt(root)
	root.Mul(root, new(big.Float).SetPrec(bits).SetMode(big.ToPositiveInf).SetRat(new(big.Rat).Add(big.NewRat(1, 1),
		new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 128)))))
	out, _ := root.Rat(nil)
	return out
}

func rootFloat(x *big.Rat) float64 {
	root := new(big.Float).SetPrec(128).SetRat(x)
	f, _ := root.Sqrt(root).Float64()
	return f
}
