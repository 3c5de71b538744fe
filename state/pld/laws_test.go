package pld_test

import (
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// coarse keeps properties quick.
var coarse = pld.Options{Interval: 0x1p-5, MinDelta: 1e-12}

func drawPair(t *rapid.T) pld.Pair {
	sigma := math.Exp(rapid.Float64Range(0, 2).Draw(t, "log sigma"))
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return pld.Gaussian{Sigma: sigma}
	case 1:
		return pld.SubsampledGaussian{Sigma: sigma, Sampling: rapid.Float64Range(0.01, 1).Draw(t, "sampling")}
	case 2:
		return pld.Laplace{Scale: sigma}
	case 3:
		return pld.DiscreteGaussian{Sigma: sigma, Sensitivity: rapid.IntRange(1, 2).Draw(t, "sensitivity")}
	case 4:
		return pld.BoundedRange{Epsilon: 1 / sigma}
	case 5:
		return pld.RandomizedResponse{Epsilon: 1 / sigma, Values: rapid.IntRange(2, 5).Draw(t, "values")}
	}
	return pld.Approx{Epsilon: 1 / sigma, Delta: rapid.SampledFrom([]float64{0, 1e-9, 1e-3}).Draw(t, "delta")}
}

func drawDistribution(t *rapid.T) *pld.Distribution {
	d := must.Have(must.Have(pld.New(drawPair(t), coarse)).Power(rapid.IntRange(1, 12).Draw(t, "count")))
	for range rapid.IntRange(0, 2).Draw(t, "others") {
		d = must.Have(d.Compose(must.Have(must.Have(pld.New(drawPair(t), coarse)).Power(rapid.IntRange(1, 12).Draw(t,
			"count")))))
	}
	return d
}

func TestDeltaFallsWithEpsilonAndEpsilonWithDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDistribution(t)
		epsilons := rapid.SliceOfN(rapid.Float64Range(0, 60), 20, 20).Draw(t, "epsilons")
		slices.Sort(epsilons)
		last := 1.0
		for _, epsilon := range epsilons {
			delta := must.Have(d.DeltaAt(epsilon))
			if !(delta >= 0) || delta > last*(1+0x1p-50) {
				t.Fatalf("delta at %v is %v, after %v", epsilon, delta, last)
			}
			last = delta
		}
		exponents := rapid.SliceOfN(rapid.Float64Range(-14, -0.01), 20, 20).Draw(t, "exponents")
		slices.Sort(exponents)
		largest := math.Inf(1)
		for _, exponent := range exponents {
			delta := math.Pow(10, exponent)
			epsilon, err := d.EpsilonAt(delta)
			if math.IsNaN(epsilon) || epsilon > largest*(1+0x1p-40)+1e-12 {
				t.Fatalf("epsilon at %v is %v, after %v", delta, epsilon, largest)
			}
			if !math.IsInf(epsilon, 1) && (err != nil || must.Have(d.DeltaAt(epsilon)) > delta) {
				t.Fatalf("delta at the epsilon %v of %v is %v, error %v", epsilon, delta,
					must.Have(d.DeltaAt(epsilon)), err)
			}
			largest = epsilon
		}
	})
}

// close reports whether two upper bounds of the same δ differ by no more than their error bounds.
func close(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(a, b)+1e-16 }

func TestAPowerIsRepeatedComposition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := drawPair(t)
		n := rapid.IntRange(1, 12).Draw(t, "count")
		epsilon := rapid.Float64Range(0, 15).Draw(t, "epsilon")
		repeated := must.Have(pld.New(pair, coarse))
		for range n - 1 {
			repeated = must.Have(repeated.Compose(must.Have(pld.New(pair, coarse))))
		}
		a, b := must.Have(must.Have(must.Have(pld.New(pair, coarse)).Power(n)).DeltaAt(epsilon)),
			must.Have(repeated.DeltaAt(epsilon))
		if !close(a, b) {
			t.Fatalf("%#v, %d times, at %v: %v as a power, %v step by step", pair, n, epsilon, a, b)
		}
	})
}

// The exact curve of Gaussians is the curve of one; their Rényi conversion loses by Lemma C.4 of
// Koskela, Tobaben and Honkela; adding up (ε, δ) loses more. The distribution loses its
// discretisation only.
func TestAccountantsOfGaussiansAreOrdered(t *testing.T) {
	var orders []float64
	for a := 1.05; a < 2000; a *= 1.1 {
		orders = append(orders, a)
	}
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp(rapid.Float64Range(1, 4).Draw(t, "log sigma"))
		n := rapid.IntRange(8, 300).Draw(t, "count")
		mu := math.Sqrt(float64(n)) / sigma
		epsilon := mu * (mu/2 + rapid.Float64Range(1, 7).Draw(t, "deviations"))

		gdp := must.Have(conversion.GDPToDelta(loss.GDP{Mu: mu}, epsilon))
		exact := must.Have(must.Have(must.Have(pld.New(pld.Gaussian{Sigma: sigma},
			pld.Options{Interval: 0.03 / sigma})).Power(n)).DeltaAt(epsilon))
		curve := must.Have(conversion.GDPToRDP(loss.GDP{Mu: mu}, orders))
		rdp := must.Have(conversion.RDPToDelta(curve, epsilon))
		each := must.Have(conversion.GDPToDelta(loss.GDP{Mu: 1 / sigma}, epsilon/float64(n)))
		simple := min(1, float64(n)*each)
		if !(gdp <= exact && exact <= rdp && rdp <= simple) {
			t.Fatalf("%d of sigma %v at epsilon %v: gdp %v, pld %v, rdp %v, simple %v", n, sigma, epsilon, gdp, exact,
				rdp, simple)
		}
		if exact > gdp*1.05 {
			t.Fatalf("%d of sigma %v at epsilon %v: %v is far from the exact %v", n, sigma, epsilon, exact, gdp)
		}
	})
}

func TestGridsOfDifferentIntervalsCompose(t *testing.T) {
	fine := must.Have(pld.New(pld.Gaussian{Sigma: 5}, pld.Options{Interval: 0x1p-12}))
	rough := must.Have(pld.New(pld.Gaussian{Sigma: 1}, pld.Options{Interval: 0x1p-7}))
	d := must.Have(fine.Compose(rough))
	sigma := 1 / math.Sqrt(1+1.0/25)
	for _, epsilon := range []float64{0, 1, 3, 6} {
		if got, exact := must.Have(d.DeltaAt(epsilon)), gaussianDelta(t, sigma,
			epsilon); got < exact || got > exact*1.001 {
			t.Errorf("at %v: %v, exact %v", epsilon, got, exact)
		}
	}
}

func TestADistributionMayBeAskedConcurrently(t *testing.T) {
	d := must.Have(must.Have(pld.New(pld.SubsampledGaussian{Sigma: 1, Sampling: 0.1}, coarse)).Power(50))
	var answers [8]float64
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			delta, err := d.DeltaAt(1)
			if err != nil {
				t.Error(err)
			}
			answers[i] = delta
		})
	}
	group.Wait()
	for _, a := range answers {
		if a != answers[0] || a <= 0 || a >= 1 {
			t.Errorf("answers %v", answers)
		}
	}
}
