package reference

import (
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// aim returns the relative error of the number of events at which a ladder stops. It uses exactly
// the float64 operations that docs/guarantee.md lists.
func aim(m schemas.MetricSpec) float64 {
	if m.Kind != "mean" {
		return aimOfSpread(m)
	}
	return aimOfMean(m)
}

func aimOfMean(m schemas.MetricSpec) float64 {
	least := max(float64(m.Min), -float64(m.Max), 0) // the least absolute value that the mean can have
	t := max(m.Absolute, m.Relative*least)
	half := float64(m.Max-m.Min) / 2
	inner := half * half
	outer := (half + t) * (half + t)
	return min(0.98*(t/math.Sqrt(inner+outer)), 0.5)
}

// extraPrecision returns the precision of an additional component: ⌊u·top/top₁⌋, where the first
// component stopped at u, and top and top₁ are the greatest precisions of the two components.
func extraPrecision(first, extra schemas.MetricSpec, u *big.Int) *big.Int {
	product := new(big.Int).Mul(u, extra.Top.Big())
	return product.Div(product, first.Top.Big())
}

// estimate is the drawn value of a component, with its precision.
type estimate struct {
	value     *big.Rat
	precision *big.Int
}

// variance returns 1/u.
func (e estimate) variance() *big.Rat { return quo(ratOf(power(80)), ratOf(e.precision)) }

// clamped reports whether an estimate's interval reaches a value at which sums are clamped.
func (e estimate) clamped(width *big.Rat) bool {
	room := sub(new(big.Rat).Abs(e.value), rat(1<<52-1))
	return room.Sign() >= 0 || square(room).Cmp(mul(square(width), e.variance())) <= 0
}

// drawOnce draws an additional component. metric is the component's own metric.
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

// join computes a value from the components of a metric. spec gives the value's kind, bounds and
// target.
func (c *Config) join(metric int, spec schemas.MetricSpec, n stop, drawn []estimate) stop {
	if components(spec.Kind) == nil || c.path != nil { // along a path, nothing is published
		return n
	}
	if spec.Kind == "mean" {
		n = average(spec, c.ladders[metric].width, n, drawn[0], drawn[1])
	} else {
		n = spread(spec, c.ladders[metric].jointWidth(2), n, drawn)
	}
	tolerance := func(truth float64) float64 { return math.Max(spec.Absolute, spec.Relative*math.Abs(truth)) }
	value := float64(n.value) / 1024
	n.met = (spec.Absolute != 0 || spec.Relative != 0) &&
		n.high-value <= tolerance(n.high) && value-n.low <= tolerance(n.low)
	return n
}

// average computes a mean from its two components. Each end of the interval is the first multiple
// of 2^-10, outwards from the mean, at which Fieller's inequality fails. It finds them by trial.
func average(spec schemas.MetricSpec, width *big.Rat, n stop, first, second estimate) stop {
	number, s, middle := first.value, second.value, big.NewRat(spec.Min+spec.Max, 2)
	k, vn, vs := square(width), first.variance(), second.variance()
	least, greatest := 1024*spec.Min, 1024*spec.Max
	value := middle
	if number.Sign() > 0 {
		value = add(middle, quo(s, mul(rat(2), number)))
	}
	n.value = min(max(nearest(scale(value, 10)), least), greatest)
	n.stddev = float64(spec.Max-spec.Min) / 2
	n.low, n.high = float64(least)/1024, float64(greatest)/1024
	if number.Sign() <= 0 || second.clamped(width) || square(number).Cmp(mul(k, vn)) <= 0 {
		return n
	}
	inside := func(point int64) bool { // (S − 2δN)² ≤ k·(v_S + 4δ²·v_N)
		delta := mul(rat(2), sub(big.NewRat(point, 1024), middle))
		return square(sub(s, mul(delta, number))).Cmp(mul(k, add(vs, mul(square(delta), vn)))) <= 0
	}
	// The inequality holds for the unclamped value. Outwards from there, it holds up to some point
	// and fails beyond. If it fails for every possible mean, nothing is known.
	if value.Cmp(rat(spec.Min)) < 0 && !inside(least) || value.Cmp(rat(spec.Max)) > 0 && !inside(greatest) {
		return n
	}
	from := floor(scale(value, 10)).Int64()
	low, high := end(from, -1, inside), end(from+1, 1, inside)
	low, high = min(max(low, least), greatest, n.value), max(min(max(high, least), greatest), n.value)
	n.low, n.high = float64(low)/1024, float64(high)/1024
	slope := quo(s, mul(rat(2), number))
	variance := add(mul(square(slope), vn), quo(vs, rat(4)))
	n.stddev = min(n.stddev, rootOf(quo(variance, square(number))))
	return n
}

// end returns the first number outside, searching from the given number in one direction (1 or −1).
// It doubles its steps and then bisects.
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
