package noisereduction

import (
	"math"
	"sort"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/state/units"
)

// playedDigits are those of seededDigits under the exported interface.
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

// TestGaussOnEveryLattice is a KS test (critical value 2.9/√n, false-reject rate 1e-7
// per lattice) on lattices from 2^10 to 2^50 points per deviation; half a spacing of
// rounding moves the distribution function by 0.4 times that at most.
func TestGaussOnEveryLattice(t *testing.T) {
	n := chance.Trials(100_000)
	u := precision(t, 1)
	for _, exponent := range []uint{10, 20, 34, 40, 50} {
		src := playedDigits{seededDigits(t, uint64(exponent))}
		var gauss Gauss
		z := make([]float64, n)
		for i := range z {
			noise, err := gauss.Rounded(u, exponent, src)
			if err != nil {
				t.Fatal(err)
			}
			z[i] = math.Ldexp(float64(noise), -int(exponent))
		}
		sort.Float64s(z)
		ks := 0.0
		for i, x := range z {
			ks = max(ks, math.Abs(phi(x)-float64(i)/float64(n)), math.Abs(phi(x)-float64(i+1)/float64(n)))
		}
		if limit := 2.9/math.Sqrt(float64(n)) + 0.4*math.Ldexp(1, -int(exponent)); ks > limit {
			t.Errorf("lattice 2^-%d: KS distance %.6f, limit %.6f", exponent, ks, limit)
		}
	}
}

func TestGaussRefusesLatticesThatDoNotSuit(t *testing.T) {
	var gauss Gauss
	for name, c := range map[string]struct {
		u        units.Precision
		exponent uint
	}{
		"no precision": {units.Precision{}, 10},
		"too fine":     {precision(t, 1), 52},
		"too coarse":   {precision(t, 0x1p-20), 10},
		"far too fine": {precision(t, 0x1p40), 1 << 20},
	} {
		if y, err := gauss.Rounded(c.u, c.exponent, playedDigits{seededDigits(t, 1)}); err == nil {
			t.Errorf("%s: drew %d", name, y)
		}
	}
}
