package bucket

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
)

// wide is the unevaluated sum hi + lo of two float64 values with |lo| ≤ ulp(hi)/2, which has about
// 106 bits (Dekker, 1971). Raising a transform to the power of a count multiplies its error by that
// count. With 106 bits, the error is negligible for any count.
type wide struct{ hi, lo float64 }

// exactSum returns a + b without a rounding error.
func exactSum(a, b float64) wide {
	sum, rest := rounding.TwoSum(a, b)
	return wide{sum, rest}
}

// ordered returns the same as exactSum. It requires |a| ≥ |b|.
func ordered(a, b float64) wide {
	s := a + b
	return wide{s, b - (s - a)}
}

func (a wide) add(b wide) wide {
	s := exactSum(a.hi, b.hi)
	t := exactSum(a.lo, b.lo)
	s = ordered(s.hi, s.lo+t.hi)
	return ordered(s.hi, s.lo+t.lo)
}

func (a wide) neg() wide { return wide{-a.hi, -a.lo} }

func (a wide) sub(b wide) wide { return a.add(b.neg()) }

func (a wide) mul(b wide) wide {
	p := a.hi * b.hi
	e := math.FMA(a.hi, b.hi, -p)
	e += float64(a.hi*b.lo) + float64(a.lo*b.hi)
	return ordered(p, e)
}

// divide returns a/d.
func (a wide) divide(d float64) wide {
	q := a.hi / d
	r := math.FMA(-q, d, a.hi)
	return ordered(q, (r+a.lo)/d)
}

// scale returns a·p for a power of two p.
func (a wide) scale(p float64) wide { return wide{a.hi * p, a.lo * p} }

// wideTwoPi is 2π to 107 bits.
var wideTwoPi = wide{2 * math.Pi, 2 * 1.2246467991473532e-16}

// wideSinCos returns sin x and cos x for 0 ≤ x ≤ π/4 by their Taylor series. The first omitted
// terms are below 2^-115.
func wideSinCos(x wide) (sin, cos wide) {
	square := x.mul(x).neg()
	sin, cos = x, wide{1, 0}
	odd, even := sin, cos
	for n := 1.0; n < 28; n += 2 {
		even = even.mul(square).divide(n * (n + 1))
		cos = cos.add(even)
		odd = odd.mul(square).divide((n + 1) * (n + 2))
		sin = sin.add(odd)
	}
	return sin, cos
}
