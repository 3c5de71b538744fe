package pld

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// unnamed is Gaussian noise that Sampled does not know, so that it is sampled loss by loss.
type unnamed struct{ Gaussian }

func curveAt(t *rapid.T, p Pair, d Direction, g Grid, epsilon float64) float64 {
	t.Helper()
	v := must.Have(Discretize(p, d, g))
	delta := v.Infinity
	for i, m := range v.Probabilities {
		if l := v.Loss(i); l > epsilon {
			delta += m * -math.Expm1(epsilon-l)
		}
	}
	return delta
}

// Two algorithms for one pair: the normal masses between the edges of the mixture, and the
// distribution without sampling, sampled loss by loss. The second is never less, at any real ε,
// and little more: its own grid is four times as fine, so that it is within 5/4 of a grid step.
func TestSamplingLossByLossIsTheMixtureOfGaussians(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Gaussian{Sigma: math.Exp(rapid.Float64Range(-0.7, 2).Draw(t, "log sigma"))}
		q := math.Exp(rapid.Float64Range(-7, -0.01).Draw(t, "log q"))
		d := rapid.SampledFrom([]Direction{Remove, Add}).Draw(t, "direction")
		epsilon := rapid.Float64Range(-1, 3).Draw(t, "epsilon")
		exact := Sampled{Pair: g, Sampling: q}
		grid := must.Have(exact.extent(d, 1e-14).grid(0x1p-8, MaxSize))
		want, got := curveAt(t, exact, d, grid, epsilon), curveAt(t, Sampled{Pair: unnamed{g}, Sampling: q}, d, grid,
			epsilon)
		most := max(want*(1+2e-2), curveAt(t, exact, d, grid, epsilon-0x5p-10)) + 1e-12
		if !(got >= want*(1-1e-9)-1e-15 && got <= most) {
			t.Fatalf("sigma %v, q %v, direction %d, at %v: %v loss by loss, %v as a mixture", g.Sigma, q, d, epsilon,
				got, want)
		}
	})
}
