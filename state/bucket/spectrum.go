package bucket

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/pld"
)

const (
	unit = 0x1p-53 // half a unit in the last place of 1

	// cutoff truncates a product: components below e^-cutoff only enter the error bound.
	cutoff = 60

	// number of components that share one bound in spectrum.tops
	blockSize = 32
)

// lambdas are the exponents λ > 0 of the moments in a spectrum: 2^(j/8) from 2^-4 to 2^10. They are
// used for Chernoff's bound and for the Rényi orders λ + 1.
var lambdas = func() []float64 {
	var l []float64
	for j := -32; j <= 80; j++ {
		l = append(l, math.Exp2(float64(j)/8))
	}
	return l
}()

// spectrum is a pld.Vector in a form that can be raised to any power: the logarithm of the discrete
// Fourier transform of its finite part, shifted by its mean, with error bounds. It is immutable.
type spectrum struct {
	shift    int       // lattice steps subtracted from every loss before the transform
	infinity float64   // mass at +∞
	re, im   []float64 // log F_k, 0 ≤ k ≤ n/2, to within a relative 8·2^-53 plus 2·wideErr/|F_k|
	tops     []float64 // tops[b] is an upper bound on re[k] for k ≥ b·blockSize
	moments  []float64 // by λ in lambdas: log Σ mass·e^(λ·(loss − shift·interval)), rounded up
}

// newSpectra transforms two vectors together, as the real and imaginary parts of one complex
// vector: x̂_k = (ẑ_k + conj ẑ_(n−k))/2, ŷ_k = (ẑ_k − conj ẑ_(n−k))/(2i).
func newSpectra(x, y pld.Vector, r roots) (a, b *spectrum) {
	n := len(r.cos)
	a, b = emptySpectrum(x, n), emptySpectrum(y, n)
	re, im := a.onCircle(x, n), b.onCircle(y, n)
	r.transform(re, im)
	for k := range n/2 + 1 {
		m := (n - k) % n
		a.set(k, re[k].add(re[m]).scale(0.5), im[k].sub(im[m]).scale(0.5))
		b.set(k, im[k].add(im[m]).scale(0.5), re[m].sub(re[k]).scale(0.5))
	}
	a.bound()
	b.bound()
	return a, b
}

func emptySpectrum(v pld.Vector, n int) *spectrum {
	s := &spectrum{infinity: v.Infinity, re: make([]float64, n/2+1), im: make([]float64, n/2+1)}
	sum, total := 0.0, 0.0
	for i, m := range v.Probabilities {
		sum += m * float64(i)
		total += m
	}
	if total > 0 {
		s.shift = v.Lowest + int(math.Round(sum/total))
	}
	for _, l := range lambdas {
		s.moments = append(s.moments, logMoment(v, s.shift, l))
	}
	return s
}

// onCircle returns the masses, at most n, on a circle of n points with the mean at 0.
func (s *spectrum) onCircle(v pld.Vector, n int) []wide {
	out := make([]wide, n)
	for i, m := range v.Probabilities {
		out[(v.Lowest+i-s.shift)&(n-1)] = wide{m, 0}
	}
	return out
}

// set stores the logarithm of x + iy as component k. Near 1, it computes the logarithm of the
// modulus from the distance to 1, which is exact to 100 bits.
func (s *spectrum) set(k int, x, y wide) {
	square := x.mul(x).add(y.mul(y))
	switch off := square.sub(wide{1, 0}).hi; {
	case square.hi < wideErr*wideErr: // the modulus is known only to be small
		s.re[k] = math.Log(wideErr)
	case math.Abs(off) < 0.5:
		s.re[k] = math.Log1p(off) / 2
	default:
		s.re[k] = math.Log(square.hi) / 2
	}
	s.im[k] = math.Atan2(y.hi, x.hi)
}

// bound sets tops to the maxima of the components, each of which is increased by its error bound.
func (s *spectrum) bound() {
	s.tops = make([]float64, (len(s.re)+blockSize-1)/blockSize)
	top := math.Inf(-1)
	for k := len(s.re) - 1; k >= 0; k-- {
		up := math.Log1p(2*wideErr*math.Exp(-s.re[k])) + math.Abs(s.re[k])*16*unit
		top = math.Max(top, s.re[k]+up)
		if k%blockSize == 0 {
			s.tops[k/blockSize] = top
		}
	}
}

// logMoment returns log Σ p·e^(λ·(loss − shift·interval)), rounded up, or +Inf if an addend exceeds
// the range of a float64. It computes the exponential once for each block of losses, for the
// greatest loss, and multiplies it by factors below 1. Terms that underflow are negligible compared
// with the sum so far.
func logMoment(v pld.Vector, shift int, lambda float64) float64 {
	sum, slack := wide{}, 0.0
	down := math.Exp(-lambda * v.Interval)
	exponent := func(i int) float64 { return lambda * float64(v.Lowest+i-shift) * v.Interval }
	for from := 0; from < len(v.Probabilities); from += blockSize {
		block := v.Probabilities[from:min(from+blockSize, len(v.Probabilities))]
		for len(block) > 0 && block[len(block)-1] == 0 {
			block = block[:len(block)-1]
		}
		if len(block) == 0 {
			continue
		}
		inner, power := 0.0, 1.0
		for j := len(block) - 1; j >= 0; j-- {
			inner += block[j] * power
			power *= down
		}
		// The exponents at the block's ends bound the errors of all its terms. A power that is
		// below e^-745 has an error of less than 2^-1074·inner.
		top, bottom := exponent(from+len(block)-1), exponent(from)
		term := inner * math.Exp(top)
		slack += term * (4*blockSize + math.Abs(top) + math.Abs(bottom) + (top - bottom))
		sum = sum.add(wide{term, 0})
	}
	if !(sum.hi+slack <= math.MaxFloat64) {
		return math.Inf(1)
	}
	const lost = 0x1p-1000 // exceeds the sum of 2^-1074 for each loss
	var l float64
	if off := sum.sub(wide{1, 0}).hi; off > -0.5 {
		l = math.Log1p(off + 2*unit*slack + lost) // preserves the digits of a sum near 1
	} else {
		l = math.Log(sum.hi + 2*unit*slack + lost)
	}
	return l + math.Abs(l)*4*unit
}
