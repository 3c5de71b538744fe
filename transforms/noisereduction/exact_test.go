package noisereduction

import (
	"testing"
)

// playedDigits adapts seededDigits to the exported interface.
type playedDigits struct{ randomDigits }

func (p playedDigits) Word() uint64 { return p.word() }

// TestGaussRoundsLikeASampler: from the same digits the exported Gauss draws what the
// sampler of releases draws.
func TestGaussRoundsLikeASampler(t *testing.T) {
	for _, sigma := range []float64{0x1p-23, 0.7, 1, 37, 1000, 0x1p40} {
		u := precision(t, sigma)
		exponent := latticeExponent(u)
		q, shift := scaledDeviation(u, exponent)
		var gauss Gauss
		var algorithm normal
		one, two := seededDigits(t, 8), seededDigits(t, 8)
		for range 100 {
			want, err := algorithm.rounded(q, shift, one)
			if err != nil {
				t.Fatal(err)
			}
			got, err := gauss.Rounded(u, exponent, playedDigits{two})
			if err != nil || got != want {
				t.Fatalf("sigma %g: drew %d, %v; want %d", sigma, got, err, want)
			}
		}
	}
}
