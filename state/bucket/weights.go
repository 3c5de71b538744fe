package bucket

import "math"

// circle holds values, by frequency, from which a closed form gives the transform of a weight
// vector for any ε. With z = e^(−2πik/n) and r = z·e^(−spacing), the values are 1/(1−z) = ½ −
// ½i·cot(πk/n) and 1/(1−r).
type circle struct {
	n        int
	spacing  float64   // a power of two
	decay    float64   // e^(−spacing)
	cos, sin []float64 // z = cos[k] + i·sin[k], 0 ≤ k < n
	plain    []float64 // imaginary part of 1/(1−z), 1 ≤ k ≤ n/2
	re, im   []float64 // 1/(1−r), 1 ≤ k ≤ n/2
}

func newCircle(r roots, spacing float64) *circle {
	n := len(r.cos)
	c := &circle{
		n: n, spacing: spacing, decay: math.Exp(-spacing), cos: make([]float64, n), sin: make([]float64, n),
		plain: make([]float64, n/2+1), re: make([]float64, n/2+1), im: make([]float64, n/2+1),
	}
	for k := range n {
		c.cos[k], c.sin[k] = r.cos[k].hi, r.sin[k].hi
	}
	for k := 1; k <= n/2; k++ {
		half := math.Sin(math.Pi * float64(k) / float64(n))
		c.plain[k] = c.sin[k] / (4 * half * half)
		inverse := 1 / complex(-math.Expm1(-spacing)+2*c.decay*half*half, -c.decay*c.sin[k])
		c.re[k], c.im[k] = real(inverse), imag(inverse)
	}
	return c
}

// weight is the vector w_j = [1 − e^(ε − loss_j)]₊ of Lemma D.1 of Koskela et al., on the losses
// (centre+j)·spacing, −n/2 ≤ j < n/2. w_j is the factor of a loss in δ(ε). Let c = e^(−d), where d
// is the distance from ε to the first loss above ε, and let e be the same for the first loss beyond
// the window. Two geometric sums give component k ≥ 1 of the transform:
//
//	z^first·(1/(1−z) − c/(1−r)) − z^(n/2)·(1/(1−z) − e/(1−r)).
type weight struct {
	*circle
	first   int        // the first j with a loss above ε; n/2 if there is none
	near    [2]float64 // 1/(1−z) − c/(1−r) = (near[0] + near[1]·z)/((1−z)(1−r)), both ≥ 0 at d ≤ spacing
	tail    float64    // e
	zero    float64    // Σ w_j
	zeroErr float64    // bound on the error of zero
}

// weight returns the weights for a finite epsilon. |centre| must be below 2^52, so that
// (centre+j)·spacing and ε/spacing are exact.
func (c *circle) weight(epsilon float64, centre int) weight {
	w := weight{circle: c, first: c.n / 2}
	first := math.Floor(epsilon/c.spacing) + 1 - float64(centre)
	if first >= float64(c.n/2) {
		return w
	}
	w.first = int(math.Max(first, float64(-c.n/2)))
	distance := float64(centre+w.first)*c.spacing - epsilon
	steps := float64(c.n/2 - w.first)
	w.near = [2]float64{-math.Expm1(-distance), c.decay * math.Expm1(c.spacing-distance)}
	w.tail = math.Exp(-distance - steps*c.spacing)
	w.zero = steps - math.Exp(-distance)*math.Expm1(-steps*c.spacing)/math.Expm1(-c.spacing)
	w.zeroErr = 16 * unit * (steps + 1)
	return w
}

// empty reports whether every loss in the window is at most ε.
func (w *weight) empty() bool { return w.first == w.n/2 }

// component returns component k ≥ 1 of the transform of w and a bound on its error.
func (w *weight) component(k int) (re, im, errBound float64) {
	turn := (k * w.first) & (w.n - 1)
	tr, ti := w.cos[turn], w.sin[turn]
	nr, ni := w.near[0]+w.near[1]*w.cos[k], w.near[1]*w.sin[k]
	nr, ni = nr*tr-ni*ti, nr*ti+ni*tr
	nr, ni = nr*0.5-ni*w.plain[k], nr*w.plain[k]+ni*0.5
	nr, ni = nr*w.re[k]-ni*w.im[k], nr*w.im[k]+ni*w.re[k]
	fr, fi := 0.5-w.tail*w.re[k], w.plain[k]-w.tail*w.im[k]
	if k&1 == 1 {
		fr, fi = -fr, -fi
	}
	re, im = nr-fr, ni-fi
	ends := 0.5 + math.Abs(w.plain[k]) + w.tail*(math.Abs(w.re[k])+math.Abs(w.im[k]))
	return re, im, 32 * unit * (math.Abs(re) + math.Abs(im) + 2*ends)
}
