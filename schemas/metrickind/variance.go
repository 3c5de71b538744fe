package metrickind

import (
	"math"
	"math/big"
)

// Variance is the kind that releases the variance of the clamped values of a key's events, and
// StandardDeviation is the kind that releases its root. The divisor is the number of values,
// because neither is an estimate for a larger population.
const (
	Variance          = "variance"
	StandardDeviation = "standard_deviation"
)

func variance() Kind          { return spread(Variance, "variance", false) }
func standardDeviation() Kind { return spread(StandardDeviation, "standard deviation", true) }

// spread returns the kind of a variance or, if root is set, of a standard deviation. The components
// are N and S, as for a mean, and Q = Σ(2d² − R²) over the clamped values v, with d = 2v − min −
// max and R = max − min. The variance is (Q/N + R² − 2(S/N)²)/8. Both d/R and 2(d/R)² − 1 are
// between −1 and 1. Without the −1, Q would have twice the noise for the same charge
// (docs/guarantee.md, "Variance and standard deviation").
func spread(name, label string, root bool) Kind {
	f := spreadFuncs{root}
	return Kind{
		Name:  name,
		Range: func(b Bounds) (least, greatest int64) { return 0, b.Events },
		Value: countEvent,
		Vector: &Vector{
			Extra: []string{meanOffset().Name, meanSquare().Name}, Ratios: 2,
			Span: f.span, Aim: f.aim, Half: f.half, Join: f.join, Imitate: f.imitate, Truth: f.truth,
		},
		Texts: Texts{
			Counted: "the value field's " + label, Label: label, Size: "events", Verb: "takes the " + label + " of",
			Value: label + " of {value}, each value clamped to {min} to {max}",
		},
	}
}

// meanSquare returns the kind of a variance's third component.
func meanSquare() Kind {
	return Kind{
		Name: "mean_square",
		Range: func(b Bounds) (least, greatest int64) {
			most := b.Events * (b.Max - b.Min) * (b.Max - b.Min)
			return -most, most
		},
		Value: func(value int64, b Bounds) int64 {
			d, r := 2*value-b.Min-b.Max, b.Max-b.Min
			return 2*d*d - r*r
		},
		Part: new(Part),
		Texts: Texts{Label: "square", Value: "squared distances of the values of {of} from the middle of {min} and " +
			"{max}"},
	}
}

// spreadFuncs provides the functions of a Vector for a variance or, if root is set, for a standard
// deviation.
type spreadFuncs struct{ root bool }

// spread returns the variance or, if f.root is set, the standard deviation.
func (f spreadFuncs) spread(variance float64) float64 {
	if variance = max(variance, 0); f.root {
		return math.Sqrt(variance)
	}
	return variance
}

func (f spreadFuncs) span(low, high float64) (from, to float64) {
	half := float64(high-low) / 2
	return 0, f.spread(float64(half * half))
}

func (f spreadFuncs) truth(powers [MaxComponents]float64) float64 {
	mean := powers[1] / powers[0]
	return f.spread(powers[2]/powers[0] - mean*mean)
}

// perSquare returns a bound on the error of a variance, divided by R² and by the relative error of
// N at the confidence of the value. The bound is 5√2/8, for two ratios whose errors are at most √2
// times the error of N, multiplied by the factor by which the intervals of two ratios are wider
// than the interval of N.
func perSquare(confidence float64) float64 {
	if confidence < 0.95 {
		return 0.884 * 1.284 // z(0.95)/z(0.9)
	}
	return 0.884 * 1.144 // z(0.9875)/z(0.975)
}

// aim returns a relative error r of N that limits the error of every variance to T: perSquare·r·R²
// ≤ T. A standard deviation has an error of at most T if the variance has an error of at most T²,
// because |√a − √b| ≤ √|a − b|. Relative targets are not supported because both values can be 0.
func (f spreadFuncs) aim(b Bounds, _, absolute, confidence float64) float64 {
	if f.root {
		absolute *= absolute
	}
	r := float64(b.Max - b.Min)
	if r == 0 {
		return 0
	}
	return math.Min(0.5, 0.98*(absolute/(perSquare(confidence)*float64(r*r))))
}

func (f spreadFuncs) half(b Bounds, events, half, confidence float64) float64 {
	r := float64(b.Max - b.Min)
	_, most := f.span(0, r)
	return min(f.spread(perSquare(confidence)*half/events*r*r), most)
}

// join returns the value with its interval. The interval contains every variance that is consistent
// with the intervals of S/N and Q/N, which hold jointly at the metric's confidence.
func (f spreadFuncs) join(b Bounds, c Components) Estimate {
	r := big.NewRat(b.Max-b.Min, 1)
	centre, squares := ratioOf(c, 1, r), ratioOf(c, 2, square(r))
	least, most := new(big.Rat), new(big.Rat).Quo(square(r), big.NewRat(4, 1))
	variance := func(squares, centre *big.Rat) *big.Rat { // (Q/N + R² − 2(S/N)²)/8
		v := new(big.Rat).Add(squares, square(r))
		v.Sub(v, product(big.NewRat(2, 1), square(centre)))
		return v.Quo(v, big.NewRat(8, 1))
	}
	nearest, farthest := outward(centre.low, false), outward(centre.high, true) // from the middle of the range
	if nearest.Sign() < 0 && farthest.Sign() > 0 {
		nearest, farthest = new(big.Rat), greater(new(big.Rat).Neg(nearest), farthest)
	} else if farthest.Sign() <= 0 {
		nearest, farthest = farthest, nearest
	}
	value := clamp(variance(squares.value, centre.value), least, most)
	low, high := variance(outward(squares.low, false), farthest), variance(outward(squares.high, true), nearest)
	// The full range replaces an impossible interval, which would seem exact if it were clamped.
	possible := high.Sign() >= 0 && low.Cmp(most) <= 0
	if low, high = clamp(low, least, most), clamp(high, least, most); !possible {
		low, high = least, most
	}
	_, top := f.span(float64(b.Min), float64(b.Max))
	e := Estimate{Value: (f.floor(value, 2) + 1) / 2, StdDev: top / 2}
	if possible && centre.bounded && squares.bounded {
		e.StdDev = min(e.StdDev, f.deviation(c, value, centre.value, squares.value))
	}
	e.Low = float64(min(f.floor(low, 1), e.Value)) / valueUnits
	e.High = min(float64(max(f.floor(high, 1)+1, e.Value))/valueUnits, top)
	return e
}

// floor returns the value for a variance of at least 0, in units of 1/(parts·valueUnits), rounded
// down.
func (f spreadFuncs) floor(variance *big.Rat, parts int64) int64 {
	scale := big.NewRat(parts*valueUnits, 1)
	if !f.root {
		return floor(product(variance, scale))
	}
	x := product(variance, scale, scale)
	n := new(big.Int).Quo(x.Num(), x.Denom())
	return n.Sqrt(n).Int64()
}

// deviation returns the standard deviation of a value to first order in the noise of the
// components. For a variance it is √(v_Q + 16θ²·v_S + (4θ² − Q/N)²·v_N)/8N with θ = S/N.
func (f spreadFuncs) deviation(c Components, value, centre, squares *big.Rat) float64 {
	slope := product(big.NewRat(4, 1), square(centre))
	sum := product(big.NewRat(4, 1), slope, c.Of[1].Variance)
	sum.Add(sum, c.Of[2].Variance)
	sum.Add(sum, product(square(slope.Sub(slope, squares)), c.Of[0].Variance))
	sum.Quo(sum, product(big.NewRat(64, 1), square(c.Of[0].Value)))
	if !f.root {
		return rootFloat(sum)
	}
	deviation := math.Sqrt(rootFloat(sum)) // of the root of a variance near 0
	if value.Sign() > 0 {
		deviation = min(deviation, rootFloat(new(big.Rat).Quo(sum, product(big.NewRat(4, 1), value))))
	}
	return deviation
}

// imitate does in floating point what join does exactly.
func (f spreadFuncs) imitate(b Bounds, d Drawn) Imitated {
	r := float64(b.Max - b.Min)
	variance := func(squares, centre float64) float64 { return (squares + r*r - 2*centre*centre) / 8 }
	within := func(v float64) float64 { return f.spread(min(v, r*r/4)) }
	centre, squares := imitateRatio(d, 1, r), imitateRatio(d, 2, r*r)
	nearest := max(0, centre.Low, -centre.High)
	farthest := max(-centre.Low, centre.High)
	low, high := variance(squares.Low, farthest), variance(squares.High, nearest)
	if high < 0 || low > r*r/4 {
		low, high = 0, r*r/4
	}
	return Imitated{within(variance(squares.Value, centre.Value)), within(low), within(high)}
}
