package bucket_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// On a grid that is far too coarse, bounds are loose, but never better than the truth, and never
// NaN.
func TestCoarseGridsAreSound(t *testing.T) {
	answers := 0
	for exponent := 0; exponent <= 8; exponent += 1 {
		for _, points := range []int{1 << 6, 1 << 9} {
			for sigma := 0.3; sigma < 70; sigma *= 1.31 {
				table, err := bucket.NewTable([]pld.Pair{pld.Gaussian{Sigma: sigma}},
					bucket.Options{Interval: math.Ldexp(1, -exponent), Points: points})
				if size := (*pld.SizeError)(nil); errors.As(err, &size) {
					continue // the losses of one mechanism do not fit
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, count := range []uint32{1, 13, 843} {
					mu := math.Sqrt(float64(count)) / sigma
					if mu > 100 {
						continue
					}
					answers++
					curve := curveOf(t, table, count)
					for _, epsilon := range []float64{0, 1, 16} {
						if d, truth := must.Have(curve.DeltaAt(epsilon)), gaussianDelta(t, mu,
							epsilon); !(d >= truth*(1-1e-12) && d <= 1) {
							t.Errorf("interval 2^-%d, %d points, %d times σ = %v: δ(%v) = %v, the truth is %v",
								exponent, points, count, sigma, epsilon, d, truth)
						}
					}
					e, err := curve.EpsilonAt(1e-6)
					if floor := (*pld.FloorError)(nil); errors.As(err, &floor) && math.IsInf(e, 1) {
						// so coarse that no ε is good enough
					} else if err != nil || math.IsNaN(e) || gaussianDelta(t, mu, e) > 1e-6*(1+1e-9) {
						t.Errorf("interval 2^-%d, %d points, %d times σ = %v: ε(1e-6) = %v, %v", exponent, points,
							count, sigma, e, err)
					}
					if m, err := curve.SmallestMu(1e-6); err == nil && !(m >= mu*(1-1e-3)) || math.IsNaN(m) {
						t.Errorf("interval 2^-%d, %d points, %d times σ = %v: μ = %v, %v; the truth is %v", exponent,
							points, count, sigma, m, err, mu)
					}
				}
			}
		}
	}
	if answers < 300 {
		t.Errorf("%d answers: the test shows too little", answers)
	}
}
