package mechanisms

import (
	"math"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
)

// checkCounts is a χ² test of counts against a probability for each outcome, at a false-reject rate
// of 1e-8 by the law of χ², below 2e-7 with the skewness of small cells. Outcomes that are expected
// fewer than 50 times, and whatever the probabilities leave, form one cell together.
func checkCounts[K comparable](t *testing.T, name string, counts map[K]int, n int, law map[K]float64) {
	t.Helper()
	chi2, cells := 0.0, 0
	restCount, restMass := n, 1.0
	for x, p := range law {
		if expected := p * float64(n); expected >= 50 {
			diff := float64(counts[x]) - expected
			chi2 += diff * diff / expected
			cells++
			restCount -= counts[x]
			restMass -= p
		}
	}
	if expected := restMass * float64(n); expected >= 50 {
		diff := float64(restCount) - expected
		chi2 += diff * diff / expected
		cells++
	} else {
		chance.CheckRate(t, name+": the rare outcomes", restCount, n, max(restMass, 1e-300))
	}
	if cells < 2 {
		return
	}
	limit := distuv.ChiSquared{K: float64(cells - 1)}.Quantile(1 - 1e-8)
	if !(chi2 <= limit) {
		t.Errorf("%s: χ² = %.1f over %d cells, limit %.1f", name, chi2, cells, limit)
	}
}

// checkDistribution is a Kolmogorov-Smirnov test at a false-reject rate of 1e-7 per
// call: the limit is √(ln(2/1e-7)/2n). It sorts xs.
func checkDistribution(t *testing.T, name string, xs []float64, cdf func(float64) float64) {
	t.Helper()
	sort.Float64s(xs)
	n, ks := float64(len(xs)), 0.0
	for i, x := range xs {
		f := cdf(x)
		ks = max(ks, math.Abs(f-float64(i)/n), math.Abs(f-float64(i+1)/n))
	}
	if limit := math.Sqrt(math.Log(2/1e-7) / 2 / n); !(ks <= limit) {
		t.Errorf("%s: Kolmogorov-Smirnov distance %.6f, limit %.6f", name, ks, limit)
	}
}

// checkMean fails if a mean differs from want by more than 6.5 of its standard errors: false-reject
// rate 1e-10 per call by the normal law, and 2e-8, the greatest here, for the skew squares of
// 10,000 Laplace draws.
func checkMean(t *testing.T, name string, xs []float64, want float64) {
	t.Helper()
	n, sum, squares := float64(len(xs)), 0.0, 0.0
	for _, x := range xs {
		sum += x
		squares += x * x
	}
	mean := sum / n
	spread := math.Sqrt((squares/n - mean*mean) / n)
	if !(math.Abs(mean-want) <= 6.5*spread) {
		t.Errorf("%s: mean %.6g, want %.6g within %.3g", name, mean, want, 6.5*spread)
	}
}

func laplaceCDF(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}

func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// discreteLaplaceLaw returns tanh(r/2)·e^(−r·|x|), r the rate, as far as it matters.
func discreteLaplaceLaw(rate float64) map[int64]float64 {
	law := map[int64]float64{}
	for x := int64(0); rate*float64(x) < 25; x++ {
		p := math.Tanh(rate/2) * math.Exp(-rate*float64(x))
		law[x], law[-x] = p, p
	}
	return law
}

func discreteGaussianLaw(sigma float64) map[int64]float64 {
	law, sum := map[int64]float64{}, 0.0
	last := int64(40*sigma) + 2
	for x := -last; x <= last; x++ {
		law[x] = math.Exp(-float64(x) * float64(x) / (2 * sigma * sigma))
		sum += law[x]
	}
	for x := range law {
		law[x] /= sum
	}
	return law
}
