package bucket_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// Koskela, Tobaben and Honkela, Sections 4.1 and C.4: at σ = 100 and δ = 1e-5, 495
// releases under Gaussian accounting cost what 420 cost under Rényi accounting,
// "ε = 0.8" in the paper; 0.815 by Corollary C.2.
func TestKoskelaGradientDescentCostsWhatThePaperSays(t *testing.T) {
	table := newTable(t, bucket.Options{}, pld.Gaussian{Sigma: 100})
	gaussian := must.Have(curveOf(t, table, 495).EpsilonAt(1e-5))
	if math.Abs(gaussian-0.815) > 5e-4 {
		t.Errorf("495 releases: ε = %v, want 0.815", gaussian)
	}
	exact := must.Have(budgets.ConvertDeltaMu(1e-5, math.Sqrt(495)/100, budgets.GDP))
	if gaussian < exact.Epsilon || gaussian > exact.Epsilon*1.0005 {
		t.Errorf("495 releases: ε = %v, want within 0.05%% above %v", gaussian, exact.Epsilon)
	}
	var orders []float64
	for alpha := 2.0; alpha < 100; alpha += 0.125 {
		orders = append(orders, alpha)
	}
	curve := must.Have(conversion.ZCDPToRDP(loss.ZCDP{Rho: 420.0 / 2 / 1e4}, orders))
	renyi := must.Have(conversion.RDPToEpsilon(curve, 1e-5))
	if math.Abs(renyi-gaussian) > 1e-3 {
		t.Errorf("420 releases under Rényi accounting cost %v, 495 under Gaussian accounting %v", renyi, gaussian)
	}
}

func TestDeltaOfGaussiansIsAtLeastTheExactAndWithinOnePercent(t *testing.T) {
	sigmas := []float64{2, 5, 12, 30}
	pairs := make([]pld.Pair, len(sigmas))
	for i, s := range sigmas {
		pairs[i] = pld.Gaussian{Sigma: s}
	}
	table := newTable(t, bucket.Options{Interval: 0x1p-10, Points: 1 << 15}, pairs...)
	curve := table.NewCurve()
	rapid.Check(t, func(t *rapid.T) {
		counts := table.NewCounts()
		square := 0.0
		for i, s := range sigmas {
			counts[i] = rapid.Uint32Range(0, uint32(2*s*s)).Draw(t, "count")
			square += float64(counts[i]) / (s * s)
		}
		counts[0]++
		square += 1 / (sigmas[0] * sigmas[0])
		must.Have(0, curve.Set(counts))
		mu := math.Sqrt(square)
		epsilon := rapid.Float64Range(0, 4).Draw(t, "deviations")*mu + square/2
		got := must.Have(curve.DeltaAt(epsilon))
		exact := must.Have(budgets.ConvertEpsilonMu(epsilon, mu, budgets.GDP))
		if got < exact.Delta*(1-1e-12) || got > exact.Delta*1.01+1e-12 {
			t.Fatalf("μ = %v, ε = %v: δ = %v, exact %v", mu, epsilon, got, exact.Delta)
		}
	})
}

// Both discretise in the same way and return upper bounds, by different means: one untilted
// transform against direct or tilted ones. The bounds cover their difference.
func TestCurveAgreesWithComposingPrivacyLossDistributions(t *testing.T) {
	for _, c := range []struct {
		name   string
		pairs  []pld.Pair
		counts []uint32
	}{
		{"Gaussians", []pld.Pair{pld.Gaussian{Sigma: 3}, pld.Gaussian{Sigma: 7}}, []uint32{4, 20}},
		{"sampled Gaussians",
			[]pld.Pair{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.01},
				pld.SubsampledGaussian{Sigma: 2, Sampling: 0.02}}, []uint32{300, 500}},
		{"one sampled Gaussian", []pld.Pair{pld.SubsampledGaussian{Sigma: 0.8, Sampling: 0.1}}, []uint32{1}},
		{"Laplace and Gaussian", []pld.Pair{pld.Laplace{Scale: 5}, pld.Gaussian{Sigma: 4}}, []uint32{10, 3}},
		{"randomised response", []pld.Pair{pld.RandomizedResponse{Epsilon: 0.5, Values: 2}}, []uint32{20}},
		{"(ε, δ)", []pld.Pair{pld.Approx{Epsilon: 0.25, Delta: 1e-6}, pld.Gaussian{Sigma: 5}}, []uint32{8, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const interval = 0x1p-9
			curve := curveOf(t, newTable(t, bucket.Options{Interval: interval, Points: 1 << 14}, c.pairs...),
				c.counts...)
			var parts []*pld.Distribution
			for i, p := range c.pairs {
				d := must.Have(pld.New(p, pld.Options{Interval: interval, MinDelta: 1e-18}))
				d = must.Have(d.Power(int(c.counts[i])))
				parts = append(parts, d)
			}
			composed := must.Have(parts[0].Compose(parts[1:]...))
			for epsilon := 0.0; epsilon < 6; epsilon += 0.1875 { // on both lattices
				got, want, by := must.Have(curve.DeltaAt(epsilon)), must.Have(composed.DeltaAt(epsilon)),
					must.Have(curve.ErrorAt(epsilon))
				if math.Abs(got-want) > by+want*1e-8+1e-15 {
					t.Errorf("δ(%v) = %v, composing gives %v: difference %g, bound %g", epsilon, got, want,
						got-want, by)
				}
			}
		})
	}
}

func TestErrorBoundStaysSmallAfterAMillionMechanisms(t *testing.T) {
	long.Test(t)
	table := newTable(t, bucket.Options{Interval: 0x1p-13, Points: 1 << 17}, pld.Gaussian{Sigma: 1000})
	curve := curveOf(t, table, 1_000_000)
	exact := gaussianDelta(t, 1, 4)
	got, by := must.Have(curve.DeltaAt(4)), must.Have(curve.ErrorAt(4))
	if by > 1e-11 || got < exact || got > exact*1.05 {
		t.Errorf("δ(4) = %v with error bound %g, exact %v", got, by, exact)
	}
}

func TestLossesBeyondTheWindowCountInFull(t *testing.T) {
	// 2000 mechanisms at σ = 10 are √20-GDP: their losses spread over 60, the window is 16.
	table := newTable(t, bucket.Options{Interval: 0x1p-8, Points: 1 << 12}, pld.Gaussian{Sigma: 10})
	curve := curveOf(t, table, 2000)
	for _, epsilon := range []float64{0, 5, 10, 15, 20, 30} {
		if got, exact := must.Have(curve.DeltaAt(epsilon)), gaussianDelta(t, math.Sqrt(20), epsilon); got < exact {
			t.Errorf("δ(%v) = %v is below the exact %v", epsilon, got, exact)
		}
	}
	var floor *pld.FloorError
	if e, err := curve.EpsilonAt(1e-9); !errors.As(err, &floor) || !math.IsInf(e, 1) {
		t.Errorf("ε at 1e-9 is %v, %v; want +Inf and a *pld.FloorError", e, err)
	}
}
