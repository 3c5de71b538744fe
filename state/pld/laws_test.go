package pld_test

import (
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// coarse keeps properties quick.
var coarse = pld.Options{Interval: 0x1p-5, MinDelta: 1e-12}

func drawPair(t *rapid.T) pld.Pair {
	sigma := math.Exp(rapid.Float64Range(0, 2).Draw(t, "log sigma"))
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return pld.Gaussian{Sigma: sigma}
	case 1:
		return pld.SubsampledGaussian{Sigma: sigma, Sampling: rapid.Float64Range(0.01, 1).Draw(t, "sampling")}
	case 2:
		return pld.Laplace{Scale: sigma}
	case 3:
		return pld.DiscreteGaussian{Sigma: sigma, Sensitivity: rapid.IntRange(1, 2).Draw(t, "sensitivity")}
	case 4:
		return pld.RandomizedResponse{Epsilon: 1 / sigma, Values: rapid.IntRange(2, 5).Draw(t, "values")}
	}
	return pld.Approx{Epsilon: 1 / sigma, Delta: rapid.SampledFrom([]float64{0, 1e-9, 1e-3}).Draw(t, "delta")}
}

func drawDistribution(t *rapid.T) *pld.Distribution {
	d := power(t, distribution(t, drawPair(t), coarse), rapid.IntRange(1, 12).Draw(t, "count"))
	for range rapid.IntRange(0, 2).Draw(t, "others") {
		d = compose(t, d, power(t, distribution(t, drawPair(t), coarse), rapid.IntRange(1, 12).Draw(t, "count")))
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
			delta := deltaAt(t, d, epsilon)
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
			if !math.IsInf(epsilon, 1) && (err != nil || deltaAt(t, d, epsilon) > delta) {
				t.Fatalf("delta at the epsilon %v of %v is %v, error %v", epsilon, delta, deltaAt(t, d, epsilon), err)
			}
			largest = epsilon
		}
	})
}

// close reports whether two upper bounds of the same δ differ by no more than their
// error bounds.
func close(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(a, b)+1e-16 }

func TestTheOrderOfCompositionDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawDistribution(t), drawDistribution(t), drawDistribution(t)
		epsilon := rapid.Float64Range(0, 40).Draw(t, "epsilon")
		want := deltaAt(t, compose(t, a, b, c), epsilon)
		for _, other := range []*pld.Distribution{compose(t, c, b, a), compose(t, compose(t, b, c), a), compose(t, c, compose(t, a, b))} {
			if got := deltaAt(t, other, epsilon); !close(got, want) {
				t.Fatalf("at %v: %v in one order, %v in another", epsilon, want, got)
			}
		}
	})
}

func TestAPowerIsRepeatedComposition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := drawPair(t)
		n := rapid.IntRange(1, 12).Draw(t, "count")
		epsilon := rapid.Float64Range(0, 15).Draw(t, "epsilon")
		repeated := distribution(t, pair, coarse)
		for range n - 1 {
			repeated = compose(t, repeated, distribution(t, pair, coarse))
		}
		a, b := deltaAt(t, power(t, distribution(t, pair, coarse), n), epsilon), deltaAt(t, repeated, epsilon)
		if !close(a, b) {
			t.Fatalf("%#v, %d times, at %v: %v as a power, %v step by step", pair, n, epsilon, a, b)
		}
	})
}

func TestMoreMechanismsCostMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawDistribution(t), drawDistribution(t)
		epsilon := rapid.Float64Range(0, 30).Draw(t, "epsilon")
		alone, both := deltaAt(t, a, epsilon), deltaAt(t, compose(t, a, b), epsilon)
		if both < alone*(1-1e-6)-1e-16 {
			t.Fatalf("at %v: %v alone, %v with another", epsilon, alone, both)
		}
	})
}

// The exact curve of Gaussians is that of one; their Rényi conversion loses by Lemma
// C.4 of Koskela, Tobaben and Honkela; adding up (ε, δ) loses more. The distribution
// loses its discretisation only.
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

		gdp, err := conversion.GDPToDelta(loss.GDP{Mu: mu}, epsilon)
		if err != nil {
			t.Fatalf("converting: %v", err)
		}
		exact := deltaAt(t, power(t, distribution(t, pld.Gaussian{Sigma: sigma}, pld.Options{Interval: 0.03 / sigma}), n), epsilon)
		curve, err := conversion.GDPToRDP(loss.GDP{Mu: mu}, orders)
		if err != nil {
			t.Fatalf("converting: %v", err)
		}
		rdp, err := conversion.RDPToDelta(curve, epsilon)
		if err != nil {
			t.Fatalf("converting: %v", err)
		}
		each, err := conversion.GDPToDelta(loss.GDP{Mu: 1 / sigma}, epsilon/float64(n))
		if err != nil {
			t.Fatalf("converting: %v", err)
		}
		simple := min(1, float64(n)*each)
		if !(gdp <= exact && exact <= rdp && rdp <= simple) {
			t.Fatalf("%d of sigma %v at epsilon %v: gdp %v, pld %v, rdp %v, simple %v", n, sigma, epsilon, gdp, exact, rdp, simple)
		}
		if exact > gdp*1.05 {
			t.Fatalf("%d of sigma %v at epsilon %v: %v is far from the exact %v", n, sigma, epsilon, exact, gdp)
		}
	})
}

// Koskela, Tobaben and Honkela, Section 5: at σ = 100 and δ = 1e-5, 495 steps cost by
// their exact curve what 420 cost by Rényi accounting, ε ≈ 0.815.
func TestAsManyGaussianStepsAsTheExactCurveAllows(t *testing.T) {
	step := distribution(t, pld.Gaussian{Sigma: 100}, pld.Options{MinDelta: 1e-6})
	if got := epsilonAt(t, power(t, step, 495), 1e-5); math.Abs(got-0.815) > 0.001 {
		t.Errorf("495 steps cost %v, want 0.815", got)
	}
}

func TestASampleLeaksLessThanEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp(rapid.Float64Range(-0.5, 2).Draw(t, "log sigma"))
		sampling := rapid.Float64Range(1e-3, 1).Draw(t, "sampling")
		n := rapid.IntRange(1, 20).Draw(t, "count")
		epsilon := rapid.Float64Range(0, 10).Draw(t, "epsilon")
		fine := pld.Options{Interval: 0x1p-6 / sigma, MinDelta: 1e-12}
		part := deltaAt(t, power(t, distribution(t, pld.SubsampledGaussian{Sigma: sigma, Sampling: sampling}, fine), n), epsilon)
		whole := deltaAt(t, power(t, distribution(t, pld.Gaussian{Sigma: sigma}, fine), n), epsilon)
		if part > whole*1.001+1e-12 {
			t.Fatalf("sigma %v, %d times, at %v: %v from a sample of %v, %v from all", sigma, n, epsilon, part, sampling, whole)
		}
	})
}

func TestAFinerGridIsTighter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair, n := drawPair(t), rapid.IntRange(1, 10).Draw(t, "count")
		epsilon := rapid.Float64Range(0, 10).Draw(t, "epsilon")
		last := 1.0
		for _, interval := range []float64{0.25, 0x1p-4, 0x1p-7} {
			delta := deltaAt(t, power(t, distribution(t, pair, pld.Options{Interval: interval, MinDelta: 1e-12}), n), epsilon)
			if delta > last*(1+1e-6)+1e-16 {
				t.Fatalf("%#v, %d times, at %v: %v on a grid of %v, %v on a coarser one", pair, n, epsilon, delta, interval, last)
			}
			last = delta
		}
	})
}

func TestGridsOfDifferentIntervalsCompose(t *testing.T) {
	fine := distribution(t, pld.Gaussian{Sigma: 5}, pld.Options{Interval: 0x1p-12})
	rough := distribution(t, pld.Gaussian{Sigma: 1}, pld.Options{Interval: 0x1p-7})
	d := compose(t, fine, rough)
	sigma := 1 / math.Sqrt(1+1.0/25)
	for _, epsilon := range []float64{0, 1, 3, 6} {
		if got, exact := deltaAt(t, d, epsilon), gaussianDelta(t, sigma, epsilon); got < exact || got > exact*1.001 {
			t.Errorf("at %v: %v, exact %v", epsilon, got, exact)
		}
	}
}

func TestADistributionMayBeAskedConcurrently(t *testing.T) {
	d := power(t, distribution(t, pld.SubsampledGaussian{Sigma: 1, Sampling: 0.1}, coarse), 50)
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
