package reference

import (
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// aim returns the relative error of the number of events at which a ladder stops, in the float64
// operations that docs/guarantee.md gives.
func aim(m schemas.MetricSpec) float64 {
	if m.Kind != "mean" {
		return aimOfSpread(m)
	}
	return aimOfMean(m)
}

func aimOfMean(m schemas.MetricSpec) float64 {
	nearest := 0.0 // to 0 that a mean can be
	switch {
	case m.Min > 0:
		nearest = float64(m.Min)
	case m.Max < 0:
		nearest = -float64(m.Max)
	}
	t := m.Absolute
	if r := m.Relative * nearest; r > t {
		t = r
	}
	half := float64(m.Max-m.Min) / 2
	one := half * half
	two := (half + t) * (half + t)
	if r := 0.98 * (t / math.Sqrt(one+two)); r < 0.5 {
		return r
	}
	return 0.5
}

// furtherPrecision is ⌊u·top/top₁⌋, u that at which the first component stopped.
func furtherPrecision(first, further schemas.MetricSpec, u *big.Int) *big.Int {
	return floor(new(big.Rat).SetFrac(new(big.Int).Mul(u, further.Top.Big()), first.Top.Big()))
}

// estimate is a component as it was drawn, and with which precision.
type estimate struct {
	value     *big.Rat
	precision *big.Int
}

// variance is 1/u.
func (e estimate) variance() *big.Rat {
	one := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 80))
	return one.Quo(one, new(big.Rat).SetInt(e.precision))
}

// clamped tells whether an estimate is as near as its interval to where sums are clamped.
func (e estimate) clamped(width *big.Rat) bool {
	room := new(big.Rat).Sub(new(big.Rat).Abs(e.value), new(big.Rat).SetInt64(1<<52-1))
	half := new(big.Rat).Mul(new(big.Rat).Mul(width, width), e.variance())
	return room.Sign() >= 0 || room.Mul(room, room).Cmp(half) <= 0
}

// drawOnce draws a further component, of a metric of its own.
func (c *Config) drawOnce(metric int, w window, key string, count int64, u *big.Int) (estimate, error) {
	if c.path != nil {
		return estimate{}, nil // nothing is published along a path
	}
	var sampler noisereduction.Sampler
	y, err := draw(&sampler, c.Noise, noisereduction.Identity{
		Incarnation: c.Incarnation, MetricDigest: c.Metrics[metric].Digest(), WindowStart: w.start, WindowEnd: w.end,
		Key: []byte(key),
	}, 1, new(big.Int), u, count)
	if err != nil {
		return estimate{}, fmt.Errorf("drawing a component of metric %q: %w", c.Metrics[metric].Of, err)
	}
	return estimate{y, u}, nil
}

// join makes the value of a kind, with the bounds and the target of spec, of the components of a
// metric.
func (c *Config) join(metric int, spec schemas.MetricSpec, n stop, of []estimate) stop {
	if components(spec.Kind) == nil || c.path != nil { // along a path, nothing is published
		return n
	}
	if spec.Kind == "mean" {
		n = average(spec, c.ladders[metric].width, n, of[0], of[1])
	} else {
		n = spread(spec, c.ladders[metric].together(2), n, of)
	}
	aimed := func(truth float64) float64 { return math.Max(spec.Absolute, spec.Relative*math.Abs(truth)) }
	value := float64(n.value) / 1024
	n.met = (spec.Absolute != 0 || spec.Relative != 0) && n.high-value <= aimed(n.high) && value-n.low <= aimed(n.low)
	return n
}

// average makes a mean of its two components. The interval is found by trying: an end is the last
// multiple of 2^-10 at which Fieller's inequality fails.
func average(spec schemas.MetricSpec, width *big.Rat, n stop, first, second estimate) stop {
	number, s := first.value, second.value
	middle := big.NewRat(spec.Min+spec.Max, 2)
	k := new(big.Rat).Mul(width, width)
	vn, vs := first.variance(), second.variance()
	least, greatest := 1024*spec.Min, 1024*spec.Max
	value, low, high := big.NewRat(spec.Min+spec.Max, 2), least, greatest
	if number.Sign() > 0 {
		value = new(big.Rat).Quo(s, new(big.Rat).Mul(big.NewRat(2, 1), number))
		value.Add(value, middle)
	}
	rounded := below(new(big.Rat).Add(scale(value, 10), big.NewRat(1, 2)))
	n.value = min(max(rounded, least), greatest)
	n.stddev = float64(spec.Max-spec.Min) / 2
	if square := new(big.Rat).Mul(number, number); !second.clamped(width) && number.Sign() > 0 &&
		square.Cmp(new(big.Rat).Mul(k, vn)) > 0 {
		inside := func(at int64) bool { // (S − 2δN)² ≤ k·(v_S + 4δ²·v_N)
			delta := new(big.Rat).Sub(big.NewRat(at, 1024), middle)
			delta.Mul(delta, big.NewRat(2, 1))
			left := new(big.Rat).Sub(s, new(big.Rat).Mul(delta, number))
			left.Mul(left, left)
			right := new(big.Rat).Mul(delta, delta)
			right.Mul(right, vn).Add(right, vs)
			return left.Cmp(right.Mul(right, k)) <= 0
		}
		// The unclamped value is inside; outwards from it the inequality fails once and for all.
		// If no mean that can be is inside, nothing is known.
		tooLow, tooHigh := value.Cmp(new(big.Rat).SetInt64(spec.Min)) <
			0, value.Cmp(new(big.Rat).SetInt64(spec.Max)) > 0
		if tooLow && !inside(least) || tooHigh && !inside(greatest) {
			n.low, n.high = float64(least)/1024, float64(greatest)/1024
			return n
		}
		middleOut := below(scale(value, 10))
		low = end(middleOut, -1, inside)
		high = end(middleOut+1, 1, inside)
		low, high = min(max(low, least), greatest), min(max(high, least), greatest)
		low, high = min(low, n.value), max(high, n.value)
		slope := new(big.Rat).Quo(s, new(big.Rat).Mul(big.NewRat(2, 1), number))
		variance := new(big.Rat).Mul(slope, slope)
		variance.Mul(variance, vn).Add(variance, new(big.Rat).Quo(vs, big.NewRat(4, 1)))
		n.stddev, _ = new(big.Float).SetPrec(128).Sqrt(
			new(big.Float).SetPrec(128).SetRat(variance.Quo(variance, square))).Float64()
		n.stddev = min(n.stddev, float64(spec.Max-spec.Min)/2)
	}
	n.low, n.high = float64(low)/1024, float64(high)/1024
	return n
}

// below is ⌊x⌋, also of negative numbers.
func below(x *big.Rat) int64 {
	n := floor(x)
	if new(big.Rat).SetInt(n).Cmp(x) > 0 {
		n.Sub(n, big.NewInt(1))
	}
	return n.Int64()
}

// end goes from a number outwards to the first one that is not inside: in steps that double, and
// then between two of them.
func end(from, direction int64, inside func(int64) bool) int64 {
	in, step := from-direction, int64(1)
	for inside(from) {
		in, from, step = from, from+direction*step, 2*step
		if step > 1<<50 {
			return from
		}
	}
	for from-in > 1 || in-from > 1 {
		if between := (from + in) / 2; inside(between) {
			in = between
		} else {
			from = between
		}
	}
	return from
}
