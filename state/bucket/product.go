package bucket

import (
	"math"
	"sort"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
)

// product is the transform Π F_i^counts_i of a composition in one direction, without the trailing
// components below e^-cutoff.
type product struct {
	centre     int       // the window of losses has its centre at centre·interval
	mechanisms float64   // number of composed mechanisms
	re, im     []float64 // components 0 ≤ k < len
	errBounds  []float64 // |component − true| ≤ errBounds[k]·|component| + mechanisms·wideErr·4
	omitted    float64   // bound on the modulus of every omitted component
	infinity   float64   // probability of an unbounded loss, rounded up
	wrapAround float64   // probability of a finite loss beyond the window, rounded up
}

// set composes the counted mechanisms. It adds logarithms instead of multiplying components,
// because the rounding error of a sum of b addends is at most b units of their absolute values.
func (p *product) set(t *Table, spectra []*spectrum, counts Counts) {
	half := t.options.Points / 2
	size, rest := componentCount(spectra, counts, half+1)
	*p = product{re: resized(p.re, size), im: resized(p.im, size), errBounds: resized(p.errBounds, size), omitted: rest}
	active, logFinite := 0, 0.0 // logFinite: log Π(1 − infinity)
	for i, n := range counts {
		if n == 0 {
			continue
		}
		s, times := spectra[i], float64(n)
		active++
		p.centre += int(n) * s.shift
		p.mechanisms += times
		logFinite += times * math.Log1p(-s.infinity)
		re, im := s.re[:size], s.im[:size]
		for k := range re {
			p.re[k] += times * re[k]
			p.im[k] += times * im[k]
			p.errBounds[k] += times * (math.Abs(re[k]) + math.Abs(im[k]))
		}
	}
	roundings := float64(active+16) * 2 * unit
	p.infinity = min(1, -math.Expm1(logFinite*(1+roundings))*(1+8*unit))
	for k := range p.re {
		modulus := math.Exp(p.re[k])
		sin, cos := math.Sincos(p.im[k])
		p.errBounds[k] = math.Expm1(p.errBounds[k]*roundings) + 16*unit
		p.re[k], p.im[k] = modulus*cos, modulus*sin
	}
	p.wrapAround = overflow(t, spectra, counts, float64(half)*t.options.Interval)
}

// componentCount returns the number of components to compute, and a bound on the others' modulus.
func componentCount(spectra []*spectrum, counts Counts, all int) (size int, rest float64) {
	logBound := func(block int) float64 {
		sum := 0.0
		for i, n := range counts {
			if n > 0 {
				sum += float64(n) * spectra[i].tops[block]
			}
		}
		return sum
	}
	blocks := (all + blockSize - 1) / blockSize
	b := sort.Search(blocks, func(b int) bool { return logBound(b) < -cutoff })
	if b == blocks {
		return all, 0
	}
	// At least one block is computed, because every sum begins with the first component.
	return max(1, b) * blockSize, math.Exp(-cutoff) * (1 + 16*unit)
}

func resized(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// overflow returns an upper bound on the probability that the finite losses add up to the top of
// the window or more. It is the smallest of Chernoff's bounds e^(Σ log moment − λ·distance).
func overflow(t *Table, spectra []*spectrum, counts Counts, distance float64) float64 {
	best := 0.0
	for j, l := range lambdas {
		sum, size := 0.0, l*distance
		for i, n := range counts {
			if n > 0 {
				m := float64(n) * spectra[i].moments[j]
				sum += m
				size += math.Abs(m)
			}
		}
		best = min(best, sum-l*distance+size*float64(t.Len()+8)*2*unit)
	}
	return min(1, math.Exp(best)*(1+16*unit))
}

// deltaAt returns an upper bound on δ(ε) in this direction, and the error bound that it includes.
func (p *product) deltaAt(c *circle, epsilon float64) (delta, errBound float64) {
	errBound = p.infinity + p.wrapAround
	w := c.weight(epsilon, p.centre)
	if w.empty() {
		return clamp(errBound), clamp(errBound)
	}
	powerErr := p.mechanisms * 4 * wideErr
	sum := w.zero * p.re[0]
	low, sizes := 0.0, math.Abs(sum) // low: sum of the rounding errors of additions to sum
	sumErr := w.zeroErr*math.Abs(p.re[0]) + w.zero*(math.Abs(p.re[0])*p.errBounds[0]+powerErr)
	for k := 1; k < len(p.re); k++ {
		wr, wi, wErr := w.component(k)
		term := 2 * (wr*p.re[k] + wi*p.im[k])
		size := math.Abs(wr) + math.Abs(wi)
		modulus := math.Abs(p.re[k]) + math.Abs(p.im[k])
		sumErr += 2 * (wErr*(modulus*(1+p.errBounds[k])+powerErr) + size*(modulus*(p.errBounds[k]+8*unit)+powerErr))
		if k == c.n/2 {
			term /= 2
		}
		var rest float64
		sum, rest = rounding.TwoSum(sum, term)
		low += rest
		sizes += math.Abs(term)
	}
	n := float64(c.n)
	sumErr = (sumErr+8*unit*sizes)/n*(1+float64(len(p.re)+16)*unit) + p.omitted*n
	errBound += sumErr
	return clamp(max((sum+low)/n, 0) + errBound), clamp(errBound)
}

// clamp rounds p up, to at most 1. NaN becomes 1, which is always an upper bound.
func clamp(p float64) float64 {
	if p *= 1 + 8*unit; p <= 1 {
		return p
	}
	return 1
}
