package bucket

import "math/bits"

// wideErr is a bound on the absolute error of every component that transform returns, for inputs
// whose absolute values have a sum of at most 2. A component is a sum of the inputs times products
// of at most log2(n) roots. One butterfly level is a complex product and a sum in 106 bits, with an
// error below 2^-98 relative to the sum of the absolute inputs. There are at most 20 levels.
const wideErr = 0x1p-90

// roots are cos(2πk/n) and −sin(2πk/n) for 0 ≤ k < n, with errors below 2^-103.
type roots struct{ cos, sin []wide }

// newRoots computes the roots in the first octant and mirrors them to all others.
func newRoots(n int) roots {
	r := roots{cos: make([]wide, n), sin: make([]wide, n)}
	for k := range n/8 + 1 {
		angle := wideTwoPi.mul(wide{float64(k), 0}).scale(1 / float64(n))
		s, c := wideSinCos(angle)
		for _, p := range [...]struct {
			index    int
			cos, sin wide
		}{
			{k, c, s}, {n/4 - k, s, c}, {n/4 + k, s.neg(), c}, {n/2 - k, c.neg(), s},
			{n/2 + k, c.neg(), s.neg()}, {3*n/4 - k, s.neg(), c.neg()}, {3*n/4 + k, s, c.neg()}, {n - k, c, s.neg()},
		} {
			r.cos[p.index%n], r.sin[p.index%n] = p.cos, p.sin.neg()
		}
	}
	return r
}

// transform replaces (re, im) by its discrete Fourier transform Σ_j x_j e^(−2πijk/n): decimation in
// time, radix 2. len(re) = len(im) = n, a power of two.
func (r roots) transform(re, im []wide) {
	n := len(re)
	shift := bits.UintSize - bits.TrailingZeros(uint(n))
	for i := range n {
		if j := int(bits.Reverse(uint(i)) >> shift); j > i {
			re[i], re[j] = re[j], re[i]
			im[i], im[j] = im[j], im[i]
		}
	}
	for half := 1; half < n; half *= 2 {
		stride := n / (2 * half)
		for k := range half {
			c, s := r.cos[k*stride], r.sin[k*stride]
			for a := k; a < n; a += 2 * half {
				b := a + half
				x := re[b].mul(c).sub(im[b].mul(s))
				y := re[b].mul(s).add(im[b].mul(c))
				re[b], im[b] = re[a].sub(x), im[a].sub(y)
				re[a], im[a] = re[a].add(x), im[a].add(y)
			}
		}
	}
}
