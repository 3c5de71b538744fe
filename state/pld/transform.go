package pld

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// unitRoundoff is a bound on the relative error of one float64 operation.
const unitRoundoff = 0x1p-53

// transformError returns a bound on the error of every coefficient that fourier.FFT computes, in
// either direction. n is the sequence's length, a power of two, and norm the sum of its absolute
// values.
//
// A coefficient is a sum over the inputs, each of which is multiplied by at most one twiddle factor
// for every two binary stages (the transform has radix 4). The arguments of the twiddle factors are
// below 3π/2 and have 3 roundings, so the factors have errors of at most 16u. A complex product
// adds √5·u, and the two additions add 2u. Two stages add less than 32u relative to an input's
// share.
func transformError(n int, norm float64) float64 {
	return (16*math.Log2(float64(n)) + 16) * unitRoundoff * norm
}

// transformed returns the curve of the composition. It computes one transform per factor and tilt.
func (c *composition) transformed() (curve, error) {
	s := shapeOf(c.factors)
	tilts := c.tilts(s)
	windows := make([]window, len(tilts))
	end := 0
	for i, theta := range tilts {
		w, err := c.windowFor(s, theta)
		if err != nil {
			return curve{}, err
		}
		windows[i] = w
		end = max(end, min(c.lattice.last, w.low+w.size-1))
	}
	from := min(c.start(), end)
	if end-from+1 > 2*c.options.MaxPoints {
		return curve{}, &SizeError{Points: float64(end - from + 1), Limit: 2 * c.options.MaxPoints,
			Interval: c.lattice.unit}
	}
	out := newCurve(c.lattice, from, end, 1, c.inherent)
	var work workspace
	for i, theta := range tilts {
		t, err := c.convolve(theta, windows[i], &work)
		if err != nil {
			return curve{}, err
		}
		c.accumulate(t, &out)
	}
	out.finish()
	return out, nil
}

// workspace is memory for convolve. It is reused for each tilt.
type workspace struct {
	plan      *fourier.FFT
	sequence  []float64
	spectrum  []complex128
	product   []complex128
	errBounds []float64 // bound on the error of each coefficient of product
}

func (w *workspace) reset(n int) {
	if w.plan == nil || w.plan.Len() != n {
		w.plan = fourier.NewFFT(n)
		w.sequence = make([]float64, n)
		w.spectrum = make([]complex128, n/2+1)
		w.product = make([]complex128, n/2+1)
		w.errBounds = make([]float64, n/2+1)
	}
	for i := range w.product {
		w.product[i], w.errBounds[i] = 1, 0
	}
}

// convolve returns the composition of the measures tilted by e^(θ·loss), on a window of the
// lattice. Mass outside the window wraps around into the window, which increases the result. Mass
// above the window is also included in tilted.beyond.
func (c *composition) convolve(theta float64, w window, work *workspace) (tilted, error) {
	work.reset(w.size)
	t := tilted{low: w.low, theta: theta, beyond: c.beyond(w)}
	sizes := 0.0
	for _, f := range c.factors {
		scale := f.logMoment(theta)
		largest, folds := c.tilt(f, theta, scale, work.sequence)
		work.plan.Coefficients(work.spectrum, work.sequence)
		norm := 0.0
		for _, v := range work.sequence {
			norm += v
		}
		work.multiply(f.count, transformError(w.size, norm)+float64(folds+1)*2*unitRoundoff*norm)
		count := float64(f.count)
		t.scale += count * scale
		sizes += count * math.Abs(scale)
		t.relative += count * (elementaryError + largest*0x1p-51)
	}
	t.relative += sizes * float64(len(c.factors)+2) * 0x1p-52
	t.relative = math.Expm1(t.relative)
	t.value, t.errBound = work.invert(w)
	return t, nil
}

// tilt sets sequence to mass·e^(θ·loss − scale) of f, folded to the length of sequence. It returns
// the largest exponent and the number of times that the measure wraps around.
func (c *composition) tilt(f factor, theta, scale float64, sequence []float64) (largest float64, folds int) {
	clear(sequence)
	step, mask := c.stepOf(f), len(sequence)-1
	for k, p := range f.mass {
		a := float64(theta * f.loss(k))
		largest = max(largest, math.Abs(a)+math.Abs(scale))
		sequence[(k*step)&mask] += float64(p * math.Exp(a-scale))
	}
	return largest, len(f.mass) * step / len(sequence)
}

// multiply multiplies product by the n-th power of spectrum, whose coefficients have errors of at
// most e. If |z| ≤ m, the true power is within n·e·(m+e)^(n−1) of the exact power of the computed
// coefficient z. A computed product of n complex numbers has a relative error of at most √5·n·u.
func (w *workspace) multiply(n int, e float64) {
	count := float64(n)
	e += 8 * unitRoundoff * (e + 1)
	for i, z := range w.spectrum {
		x := w.product[i]
		size := math.Sqrt(real(x)*real(x) + imag(x)*imag(x))
		m := math.Sqrt(real(z)*real(z)+imag(z)*imag(z)) + e
		below := power(m, n-1)
		above := below * m
		w.errBounds[i] = (w.errBounds[i]*above + size*(count*e*below+above*count*4*unitRoundoff)) * (1 + count*0x1p-51)
		w.product[i] = x * power(z, n)
	}
}

// power returns x^n by repeated squaring.
func power[T float64 | complex128](x T, n int) T {
	if n == 1 {
		return x
	}
	result := T(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result *= x
		}
		x *= x
	}
	return result
}

// invert returns the inverse transform of product, rotated to begin at the low end of the window,
// and a bound on the error of every value.
func (w *workspace) invert(win window) (value []float64, errBound float64) {
	n := win.size
	norm := 0.0
	for i, x := range w.product {
		weight := 2.0
		if i == 0 || i == n/2 {
			weight = 1
		}
		size := math.Sqrt(real(x)*real(x) + imag(x)*imag(x))
		errBound += weight * w.errBounds[i]
		norm += weight * size
	}
	errBound = (errBound + transformError(n, norm)) / float64(n) * (1 + float64(n)*unitRoundoff)
	w.plan.Sequence(w.sequence, w.product)
	value = make([]float64, n)
	for j := range value {
		value[j] = w.sequence[(win.low+j)&(n-1)] / float64(n)
	}
	return value, errBound * (1 + 0x1p-40)
}
