package pld_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// google/differential-privacy, pld_privacy_accountant_test.py: test_gaussian_basic
// (stated to 1e-3), test_poisson_subsampled_gaussian (1e-3; the project asks for
// 1e-4), test_epsilon_delta_basic (exact), test_laplace_basic (1e-6).
func TestCompositionsHaveTheReferenceValues(t *testing.T) {
	gaussian := must.Have(pld.New(pld.Gaussian{Sigma: math.Sqrt(3)}, pld.Options{}))
	three := must.Have(gaussian.Compose(must.Have(gaussian.Power(2))))
	if got := must.Have(three.DeltaAt(1)); math.Abs(got-0.126936) > 1e-6 {
		t.Errorf("three Gaussians of sigma √3 at 1: %v, want 0.126936", got)
	}
	if got := must.Have(three.EpsilonAt(0.126936)); math.Abs(got-1) > 1e-5 {
		t.Errorf("three Gaussians of sigma √3 at 0.126936: %v, want 1", got)
	}

	sampled := must.Have(must.Have(pld.New(pld.SubsampledGaussian{Sigma: 0.5, Sampling: 0.2}, pld.Options{})).Power(3))
	if got := must.Have(sampled.DeltaAt(1)); math.Abs(got-0.15594) > 1e-5 {
		t.Errorf("three subsampled Gaussians at 1: %v, want 0.15594", got)
	}
	if got := must.Have(sampled.EpsilonAt(0.15594)); math.Abs(got-1) > 1e-3 {
		t.Errorf("three subsampled Gaussians at 0.15594: %v, want 1", got)
	}

	approx := must.Have(must.Have(pld.New(pld.Approx{Epsilon: 1, Delta: 0.1},
		pld.Options{})).Compose(must.Have(pld.New(pld.Approx{Epsilon: 2, Delta: 0.2}, pld.Options{}))))
	if got := must.Have(approx.DeltaAt(3)); math.Abs(got-0.28) > 1e-14 {
		t.Errorf("(1, 0.1) and (2, 0.2) at 3: %v, want 0.28", got)
	}
	if got := must.Have(approx.EpsilonAt(0.28 * (1 + 1e-13))); math.Abs(got-3) > 1e-10 {
		t.Errorf("(1, 0.1) and (2, 0.2) at 0.28: %v, want 3", got)
	}

	laplace := must.Have(must.Have(must.Have(pld.New(pld.Laplace{Scale: 1},
		pld.Options{})).Power(3)).Compose(must.Have(must.Have(pld.New(pld.Laplace{Scale: 2}, pld.Options{})).Power(2))))
	if got := must.Have(laplace.DeltaAt(4)); got > 1e-14 {
		t.Errorf("five Laplace mechanisms of total epsilon 4 at 4: %v, want 0", got)
	}
	if got := must.Have(laplace.EpsilonAt(1e-14)); math.Abs(got-4) > 1e-6 {
		t.Errorf("five Laplace mechanisms of total epsilon 4 at 1e-14: %v, want 4", got)
	}
}

// google/differential-privacy, accountant_test.py: the noise that get_smallest_gaussian_noise and
// get_smallest_subsampled_gaussian_noise find for (1, δ), to 7 decimals, and
// get_smallest_laplace_noise, to 0.1. Where the sensitivity is not 1 the noise is divided by it.
func TestTheReferenceNoiseHasTheReferenceDelta(t *testing.T) {
	long.Test(t)
	for _, c := range []struct {
		pair   pld.Pair
		count  int
		delta  float64
		within float64
	}{
		{pld.Gaussian{Sigma: 1.0 / 3}, 1, 0.78760074, 1e-8},
		{pld.Gaussian{Sigma: 10.0 / 6}, 25, 0.78760074, 1e-8},
		// δ changes by 3e-8 (2e-8) for a change of 1e-4 in sigma.
		{pld.SubsampledGaussian{Sigma: 0.67379294682, Sampling: 0.01}, 1, 1e-5, 1e-9},
		{pld.SubsampledGaussian{Sigma: 3.20956502598 / 6, Sampling: 0.001}, 25, 1e-5, 1e-9},
	} {
		d := must.Have(must.Have(pld.New(c.pair, pld.Options{MinDelta: 1e-8})).Power(c.count))
		if got := must.Have(d.DeltaAt(1)); math.Abs(got-c.delta) > c.within {
			t.Errorf("%#v, %d times, at 1: %v, want %v within %v", c.pair, c.count, got, c.delta, c.within)
		}
	}
	for _, c := range []struct {
		scale float64
		count int
	}{{13.6, 20}, {71, 500}} {
		less := must.Have(must.Have(must.Have(pld.New(pld.Laplace{Scale: c.scale + 0.1},
			pld.Options{Interval: 0x1p-11})).Power(c.count)).DeltaAt(1))
		more := must.Have(must.Have(must.Have(pld.New(pld.Laplace{Scale: c.scale - 0.1},
			pld.Options{Interval: 0x1p-11})).Power(c.count)).DeltaAt(1))
		if less > 1e-4 || more < 1e-4 {
			t.Errorf("%d Laplace mechanisms of scale %v ± 0.1: delta from %v to %v, want 1e-4 between", c.count,
				c.scale, less, more)
		}
	}
}

// optimalDelta returns, by Kairouz, Oh and Viswanath (2015), Theorem 3.3, the δ at (k−2i)·ε of k
// mechanisms of (ε, δ).
func optimalDelta(epsilon, delta float64, k, i int) float64 {
	sum := 0.0
	for l := range i {
		logChoose, _ := math.Lgamma(float64(k + 1))
		a, _ := math.Lgamma(float64(l + 1))
		b, _ := math.Lgamma(float64(k - l + 1))
		log := logChoose - a - b - float64(k)*math.Log1p(math.Exp(epsilon))
		sum += math.Exp(log+float64(k-l)*epsilon) - math.Exp(log+float64(k-2*i+l)*epsilon)
	}
	keep := math.Pow(1-delta, float64(k))
	return 1 - keep + keep*sum
}

func TestApproximateMechanismsComposeOptimally(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		k              int
	}{{0.5, 0, 30}, {0.125, 1e-6, 200}, {1, 1e-3, 7}, {0.0625, 0, 3000}} {
		d := must.Have(must.Have(pld.New(pld.Approx{Epsilon: c.epsilon, Delta: c.delta}, pld.Options{})).Power(c.k))
		for i := 0; i <= c.k/2; i += 1 + c.k/40 {
			want := optimalDelta(c.epsilon, c.delta, c.k, i)
			got := must.Have(d.DeltaAt(float64(c.k-2*i) * c.epsilon))
			if math.Abs(got-want) > 1e-9*want+1e-15 {
				t.Errorf("%+v at %v: %v, want %v", c, float64(c.k-2*i)*c.epsilon, got, want)
			}
		}
	}
}

// google/differential-privacy, pld_privacy_accountant_test.py,
// test_randomized_response: noise parameter 4/(3 + e) with 4 values is pure ε = 1, and
// its total variation is the difference of the two probabilities.
func TestRandomizedResponseOfManyValues(t *testing.T) {
	d := must.Have(pld.New(pld.RandomizedResponse{Epsilon: 1, Values: 4}, pld.Options{}))
	if got := must.Have(d.DeltaAt(1)); got > 1e-14 {
		t.Errorf("at 1: %v, want 0", got)
	}
	if got, want := must.Have(d.DeltaAt(0)), (math.E-1)/(math.E+3); math.Abs(got-want) > 1e-14 {
		t.Errorf("at 0: %v, want %v", got, want)
	}
}

func TestManyGaussiansAreNoBetterAndLittleWorseThanOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp(rapid.Float64Range(-0.5, 6).Draw(t, "log sigma"))
		count := rapid.IntRange(1, 2000).Draw(t, "count")
		mu := math.Sqrt(float64(count)) / sigma
		if mu > 6 {
			count = max(1, int(36*sigma*sigma))
			mu = math.Sqrt(float64(count)) / sigma
		}
		// An interval of a sixteenth of the spread makes it quick.
		d := must.Have(must.Have(pld.New(pld.Gaussian{Sigma: sigma},
			pld.Options{Interval: 0.0625 / sigma})).Power(count))
		deviations := rapid.Float64Range(-1, 8).Draw(t, "deviations")
		epsilon := max(0, mu*(deviations+mu/2))
		got, exact := must.Have(d.DeltaAt(epsilon)), gaussianDelta(t, 1/mu, epsilon)
		// The grid raises μ² by a relative 1/6·256, and with it ln δ by (x² + xμ)/2 times
		// that, x deviations out: at most 0.037.
		if got < exact || got > exact*1.05+1e-20 {
			t.Fatalf("%d of sigma %v at %v: %v, exact %v", count, sigma, epsilon, got, exact)
		}
	})
}

func TestTinyDeltasAreSharp(t *testing.T) {
	d := must.Have(must.Have(pld.New(pld.Gaussian{Sigma: 2}, pld.Options{Interval: 0x1p-9, MinDelta: 1e-250})).Power(4))
	for _, deviations := range []float64{5, 10, 20, 30, 33} {
		epsilon := deviations + 0.5
		got, exact := must.Have(d.DeltaAt(epsilon)), gaussianDelta(t, 1, epsilon)
		if got < exact || got > exact*1.01 {
			t.Errorf("at %v: %v, exact %v", epsilon, got, exact)
		}
		if back := must.Have(d.EpsilonAt(exact)); back < epsilon || back > epsilon+1e-3 {
			t.Errorf("at delta %v: %v, exact %v", exact, back, epsilon)
		}
	}
}

func TestBelowTheFloorNothingIsShown(t *testing.T) {
	d := must.Have(pld.New(pld.Gaussian{Sigma: 1}, pld.Options{MinDelta: 1e-6}))
	epsilon, err := d.EpsilonAt(1e-60)
	var floor *pld.FloorError
	if !math.IsInf(epsilon, 1) || !errors.As(err, &floor) {
		t.Fatalf("epsilon %v, error %v: want +Inf and a *FloorError", epsilon, err)
	}
	if floor.Floor > 1e-6*1e-10 {
		t.Errorf("the floor is %v, far above what was asked for", floor.Floor)
	}
	if got := must.Have(d.DeltaAt(math.Inf(1))); got != floor.Floor {
		t.Errorf("delta at infinity is %v, the floor %v", got, floor.Floor)
	}
}
