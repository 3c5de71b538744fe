package mechanisms_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/individual"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

// With d = 1, and coordinate by coordinate: the same digits give the same release as Release.
func TestAVectorIsReleasedAsItsCoordinatesAre(t *testing.T) {
	t.Parallel()
	noise := discreteNoise(t, 3.5)
	sum := []int64{7, -1 << 53, 1 << 53, 0}
	for d := 1; d <= len(sum); d++ {
		together, alone := seeded(16), seeded(16)
		got, err := noise.ReleaseVector(nil, sum[:d], together)
		if err != nil || len(got) != d {
			t.Fatal(got, err)
		}
		for j, v := range got {
			if want, err := noise.Release(float64(sum[j]), alone); err != nil || v != want {
				t.Errorf("coordinate %d of %d: %v, want %v (%v)", j, d, v, want, err)
			}
		}
	}
}

func discreteNoise(t testing.TB, sigma float64) *mechanisms.DiscreteGaussian {
	t.Helper()
	noise, err := mechanisms.NewDiscreteGaussian(sigma)
	if err != nil {
		t.Fatal(err)
	}
	return noise
}

func TestAVectorBeyondExactFloatsIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []int64{1<<53 + 1, -1<<53 - 1, math.MinInt64, math.MaxInt64} {
		src := seeded(1)
		before := *src.PCG
		var out *units.RangeError
		got, err := discreteNoise(t, 2).ReleaseVector(nil, []int64{0, bad}, src)
		if !errors.As(err, &out) || out.Parameter != "sum[1]" || got != nil || *src.PCG != before {
			t.Errorf("%d: %v, %v", bad, got, err)
		}
	}
}

// Mean 0, the variance of the law and no covariance, each within 5.5 standard errors: 14 checks
// reject a right sampler with probability below 6e-7. The variance is summed from the law.
func TestAVectorsNoiseHasItsMoments(t *testing.T) {
	t.Parallel()
	const d, n, sigma = 4, 100_000, 2.5
	var mass, second, fourth float64
	for x := -60.0; x <= 60; x++ {
		p := math.Exp(-x * x / (2 * sigma * sigma))
		mass, second, fourth = mass+p, second+p*x*x, fourth+p*x*x*x*x
	}
	variance, kurtosis := second/mass, fourth/mass
	noise, src, sum := discreteNoise(t, sigma), seeded(40), []int64{5, -3, 0, 1000}
	var means [d]float64
	var products [d][d]float64
	var dst []float64
	for range n {
		var err error
		if dst, err = noise.ReleaseVector(dst, sum, src); err != nil {
			t.Fatal(err)
		}
		for i := range d {
			x := dst[i] - float64(sum[i])
			means[i] += x / n
			for j := range i + 1 {
				products[i][j] += x * (dst[j] - float64(sum[j])) / n
			}
		}
	}
	for i := range d {
		if off := means[i] / math.Sqrt(variance/n); math.Abs(off) > 5.5 {
			t.Errorf("mean of coordinate %d: %v standard errors", i, off)
		}
		for j := range i + 1 {
			want, deviation := 0.0, variance
			if i == j {
				want, deviation = variance, math.Sqrt(kurtosis-variance*variance)
			}
			if off := (products[i][j] - want) / (deviation / math.Sqrt(n)); math.Abs(off) > 5.5 {
				t.Errorf("covariance of %d and %d: %v, want %v: %v standard errors", i, j, products[i][j], want, off)
			}
		}
	}
}

// An attacker who knows both sums, which one user's gradient tells apart, weighs the
// likelihoods of the release. What is measured stays below the ε of the integer norm's ρ, and
// comes near to the ε of Gaussian noise of that norm; a user who is charged for one coordinate
// instead of the vector is caught. False alarms: falseAlarm.
func TestAttackOnAVectorSum(t *testing.T) {
	t.Parallel()
	const sigma, delta, games = 100.0, 1e-2, 200_000
	q, err := individual.NewQuantiser(1, 64)
	if err != nil {
		t.Fatal(err)
	}
	vector, norm, err := q.Quantise(nil, []float64{0.9, -0.9, 0.9, 0.9, -0.9, 0.9, 0.9, 0.9})
	if err != nil {
		t.Fatal(err)
	}
	noise := discreteNoise(t, sigma)
	others := []int64{100, 20, -3, 0, 7, 9, -1000, 1}
	var sum []int64
	var dst []float64
	play := func(secret float64, src mechanisms.Source) float64 {
		sum = append(sum[:0], others...)
		for j := range sum {
			sum[j] += int64(secret) * vector[j]
		}
		if dst, err = noise.ReleaseVector(dst, sum, src); err != nil {
			panic(err)
		}
		ratio := 0.0
		for j, v := range dst {
			x, y := v-float64(others[j]), float64(vector[j])
			ratio += (2*x*y - y*y) / (2 * sigma * sigma)
		}
		return ratio
	}
	price, err := norm.ZCDP(sigma)
	if err != nil {
		t.Fatal(err)
	}
	claim := zcdpEpsilon(t, price, delta)
	gaussian, err := pld.New(pld.Gaussian{Sigma: sigma / math.Sqrt(float64(norm))}, pld.Options{})
	if err != nil {
		t.Fatal(err)
	}
	exact, err := gaussian.EpsilonAt(delta)
	if err != nil {
		t.Fatal(err)
	}
	measured := lowerBound(play, delta, games, 77)
	t.Logf("measured %v, claimed %v, continuous noise %v", measured, claim, exact)
	if measured > claim || measured < exact*0.75 {
		t.Errorf("measured %v, claimed %v, continuous noise %v", measured, claim, exact)
	}
	single := individual.SquaredNorm(vector[0] * vector[0])
	wrong, err := single.ZCDP(sigma)
	if err != nil {
		t.Fatal(err)
	}
	if broken := zcdpEpsilon(t, wrong, delta); measured <= broken {
		t.Errorf("the charge for one coordinate, %v, is not refuted by %v", broken, measured)
	}
}

func BenchmarkReleaseVector(b *testing.B) {
	noise, src := discreteNoise(b, 1<<16), &mechanisms.System{}
	sum, dst := make([]int64, 1000), make([]float64, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := noise.ReleaseVector(dst, sum, src); err != nil {
			b.Fatal(err)
		}
	}
}

func zcdpEpsilon(t *testing.T, price loss.ZCDP, delta float64) float64 {
	t.Helper()
	epsilon, err := conversion.ApproxZCDPToEpsilon(price, delta)
	if err != nil {
		t.Fatal(err)
	}
	return epsilon
}
