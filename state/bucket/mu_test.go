package bucket_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

// below returns the member of the grid of μ before mu: 13 significant bits.
func below(mu float64) float64 { return math.Float64frombits(math.Float64bits(mu) - 1<<40) }

type composition struct {
	name   string
	pairs  []pld.Pair
	counts []uint32
}

func compositions() []composition {
	return []composition{
		{"Gaussians", []pld.Pair{pld.Gaussian{Sigma: 3}, pld.Gaussian{Sigma: 7}}, []uint32{4, 20}},
		{"many sampled Gaussians", []pld.Pair{pld.SubsampledGaussian{Sigma: 2, Sampling: 0.005}}, []uint32{10000}},
		{"few sampled Gaussians", []pld.Pair{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.1}}, []uint32{3}},
		{"heterogeneous",
			[]pld.Pair{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.01},
				pld.SubsampledGaussian{Sigma: 4, Sampling: 0.2}, pld.Laplace{Scale: 6}}, []uint32{200, 40, 5}},
	}
}

func TestSmallestMuCoversEveryEpsilonAndNothingSmallerDoes(t *testing.T) {
	const slack = 1e-9
	for _, c := range compositions() {
		t.Run(c.name, func(t *testing.T) {
			if !long.On() && c.name != "Gaussians" {
				t.Skip("the others take seconds")
			}
			curve := curveOf(t, newTable(t, bucket.Options{Interval: 0x1p-9, Points: 1 << 13}, c.pairs...), c.counts...)
			mu := must.Have(curve.SmallestMu(slack))
			if covered, err := curve.CoveredBy(mu, slack); err != nil || !covered {
				t.Errorf("CoveredBy(%v) = %v, %v", mu, covered, err)
			}
			steps := 250 // incommensurable with the samples of the search
			if !long.On() {
				steps = 50
			}
			less, step := below(mu), 9*mu/float64(steps)
			// worst is where δ is highest above what the next smaller μ allows.
			worst, exceeded := 0.0, 0.0
			scan := func(from, step float64, steps int) {
				for i := range steps {
					epsilon := max(0, from+float64(i)*step)
					d := must.Have(curve.DeltaAt(epsilon))
					if most := gaussianDelta(t, mu, epsilon) + slack; d > most {
						t.Fatalf("μ = %v: δ(%v) = %v, above the %v that is said to cover it", mu, epsilon, d, most)
					}
					if by := d / (gaussianDelta(t, less, epsilon) + slack); by > exceeded {
						worst, exceeded = epsilon, by
					}
				}
			}
			scan(0, step, steps)
			scan(worst-step, step/20, 40)
			if exceeded < 1-2e-5 {
				t.Errorf("%v covers as well as %v: δ(%v) is %v of what it allows", less, mu, worst, exceeded)
			}
		})
	}
}

func TestSmallestMuOfGaussiansIsTheirOwn(t *testing.T) {
	table := newTable(t, bucket.Options{Interval: 0x1p-10, Points: 1 << 14}, pld.Gaussian{Sigma: 10},
		pld.Gaussian{Sigma: 25})
	for i, counts := range [][]uint32{{100, 0}, {25, 50}, {0, 1}, {1, 0}} {
		if i > 1 && !long.On() {
			break
		}
		exact := math.Sqrt(float64(counts[0])/100 + float64(counts[1])/625)
		mu := must.Have(curveOf(t, table, counts...).SmallestMu(1e-13))
		if mu < exact*(1-1e-9) || mu > exact*1.001 {
			t.Errorf("%v: μ = %v, exact %v", counts, mu, exact)
		}
	}
}

func TestWhatNothingCoversIsAnError(t *testing.T) {
	curve := curveOf(t,
		newTable(t, bucket.Options{Interval: 0x1p-8, Points: 1 << 12}, pld.Approx{Epsilon: 1, Delta: 1e-6}), 1)
	var floor *pld.FloorError
	if mu, err := curve.SmallestMu(1e-9); !errors.As(err, &floor) || !math.IsInf(mu, 1) {
		t.Errorf("slack below δ: μ = %v, %v; want +Inf and a *pld.FloorError", mu, err)
	}
	if covered, err := curve.CoveredBy(128, 1e-9); covered || err != nil {
		t.Errorf("slack below δ: CoveredBy = %v, %v", covered, err)
	}
	// The mass above slack is pure ε = 1, whose smallest μ is known.
	pure := must.Have(conversion.PureToGDP(1))
	if mu := must.Have(curve.SmallestMu(2e-6)); mu < pure.Mu-1e-5 || mu > pure.Mu*1.001 {
		t.Errorf("slack above δ: μ = %v, of pure ε = 1 %v", mu, pure.Mu)
	}
	if !long.On() {
		return
	}
	curve = curveOf(t,
		newTable(t, bucket.Options{Interval: 0x1p-6, Points: 1 << 16}, pld.Approx{Epsilon: 400, Delta: 1e-6}), 1)
	var out *units.RangeError
	if mu, err := curve.SmallestMu(1e-5); err != nil && (!errors.As(err, &out) || !math.IsInf(mu, 1)) {
		t.Errorf("ε = 400: μ = %v, %v", mu, err)
	}
}
