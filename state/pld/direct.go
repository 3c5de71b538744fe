package pld

import "math"

// directLimit is the maximum number of multiplications for which distributions are convolved term
// by term. Direct convolution has no absolute error.
const directLimit = 1 << 22

// directCost returns about the number of multiplications of direct, or +Inf if it is too large.
func (c *composition) directCost() float64 {
	if float64(c.lattice.last) > float64(c.options.MaxPoints) {
		return math.Inf(1)
	}
	cost, length := 0.0, 1.0
	for _, f := range c.factors {
		size := float64(len(f.mass)-1) * float64(c.stepOf(f))
		// In repeated squaring, the last squaring takes (power/2)² multiplications, and all earlier
		// squarings together take a third of that.
		power := size*float64(f.count) + 1
		if f.count > 1 {
			cost += power * power / 3
		}
		cost += length * power
		length += power - 1
	}
	return cost
}

// direct convolves term by term. All terms are positive, so the relative error is at most the
// number of roundings on the longest path to a result, times a rounding error.
func (c *composition) direct() (curve, error) {
	out := counted{values: []float64{1}}
	for _, f := range c.factors {
		step := c.stepOf(f)
		dense := make([]float64, (len(f.mass)-1)*step+1)
		for k, p := range f.mass {
			dense[k*step] = p
		}
		out = out.convolve(counted{values: dense}.power(f.count))
	}
	t := tilted{value: out.values, relative: math.Expm1(out.roundings * 0x1p-52)}
	// Products that underflow lose less than 2^-1000 in total.
	t.beyond = 0x1p-1000
	curve := newCurve(c.lattice, c.start(), c.lattice.last, 1, c.inherent)
	c.accumulate(t, &curve)
	curve.finish()
	return curve, nil
}

// counted is a sequence with a bound on the number of roundings in each of its terms.
type counted struct {
	values    []float64
	roundings float64
}

func (a counted) convolve(b counted) counted {
	if len(a.values) < len(b.values) {
		a, b = b, a
	}
	out := counted{
		values:    make([]float64, len(a.values)+len(b.values)-1),
		roundings: a.roundings + b.roundings + float64(len(b.values)) + 1,
	}
	for j, q := range b.values {
		if q == 0 {
			continue
		}
		target := out.values[j : j+len(a.values)]
		for i, p := range a.values {
			target[i] += float64(p * q)
		}
	}
	return out
}

func (a counted) power(n int) counted {
	out := counted{values: []float64{1}}
	for {
		if n&1 == 1 {
			out = out.convolve(a)
		}
		if n >>= 1; n == 0 {
			return out
		}
		a = a.convolve(a)
	}
}
