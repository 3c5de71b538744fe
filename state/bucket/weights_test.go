package bucket

import (
	"math"
	"math/cmplx"
	"testing"
)

func TestClosedFormOfTheWeightsIsTheirTransform(t *testing.T) {
	const n, spacing = 64, 0.25
	c := newCircle(newRoots(n), spacing)
	for _, centre := range []int{0, 5, -70, 1000} {
		for _, epsilon := range []float64{0, 0.1, 1, 1.25, -3, 7.9, 8, 248.3, -25, 400} {
			w := c.weight(epsilon, centre)
			var sum [n/2 + 1]complex128
			for j := -n / 2; j < n/2; j++ {
				if v := 1 - math.Exp(epsilon-float64(centre+j)*spacing); v > 0 {
					for k := range sum {
						sum[k] += complex(v, 0) * cmplx.Exp(complex(0, -2*math.Pi*float64(j*k)/n))
					}
				}
			}
			if w.empty() {
				if sum[0] != 0 {
					t.Errorf("ε %v at centre %d: said to be empty, sum is %v", epsilon, centre, sum[0])
				}
				continue
			}
			if d := math.Abs(w.zero - real(sum[0])); d > w.zeroErr+1e-12 {
				t.Errorf("ε %v at centre %d: component 0 is off by %g", epsilon, centre, d)
			}
			for k := 1; k <= n/2; k++ {
				re, im, by := w.component(k)
				if d := cmplx.Abs(complex(re, im) - sum[k]); d > by+1e-12 {
					t.Errorf("ε %v at centre %d: component %d is off by %g", epsilon, centre, k, d)
				}
			}
		}
	}
}
