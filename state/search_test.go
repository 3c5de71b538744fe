package state

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
)

// bisected finds ε as epsilonUpper, by halving alone.
func bisected(mu, delta float64, a Accountant) float64 {
	target := bigmath.New(delta)
	last := int(math.Float64bits(hugeEpsilon))
	pattern := sort.Search(last, func(i int) bool {
		return deltaUpper(bigmath.Square(mu), math.Float64frombits(uint64(i)), a).Cmp(target) <= 0
	})
	if pattern == last {
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(pattern))
}

// bisectedMu finds μ as ConvertEpsilonDelta, by halving alone.
func bisectedMu(epsilon, delta float64, a Accountant) float64 {
	target := bigmath.New(delta)
	first, last := int(math.Float64bits(MinMu)), int(math.Float64bits(MaxMu))
	i := sort.Search(last-first+1, func(i int) bool {
		return deltaUpper(bigmath.Square(math.Float64frombits(uint64(first+i))), epsilon, a).Cmp(target) > 0
	})
	if i == 0 || i == last-first+1 {
		return math.NaN()
	}
	return math.Float64frombits(uint64(first + i - 1))
}

func TestAGuidedSearchFindsWhatHalvingFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 11))
	rounds := 300
	if testing.Short() {
		rounds = 40
	}
	for i := range rounds {
		a := []Accountant{GDP, ZCDP}[i%2]
		mu := math.Pow(10, -15+18*rng.Float64())
		if i%3 > 0 {
			mu = math.Pow(10, -3+5*rng.Float64())
		}
		delta := math.Pow(10, -16*rng.Float64())
		if i%5 == 0 {
			delta = math.Pow(10, -300*rng.Float64())
		}
		if got, want := epsilonUpper(bigmath.Square(mu), delta, a), bisected(mu, delta, a); got != want {
			t.Errorf("%s: μ = %v at %v: ε = %v, halving finds %v", a, mu, delta, got, want)
		}
		epsilon := math.Pow(10, -6+10*rng.Float64())
		c, err := ConvertEpsilonDelta(epsilon, delta, a)
		if want := bisectedMu(epsilon, delta, a); c.Mu != want && !(err != nil && math.IsNaN(want)) {
			t.Errorf("%s: (%v, %v): μ = %v (%v), halving finds %v", a, epsilon, delta, c.Mu, err, want)
		}
	}
}

// TestAGuidedSearchEvaluatesLittle counts evaluations in exact arithmetic, of which halving
// has 62.
func TestAGuidedSearchEvaluatesLittle(t *testing.T) {
	for _, a := range []Accountant{GDP, ZCDP} {
		for _, mu := range []float64{1e-9, 1e-4, 0.01, 0.5, 1, 7, 100} {
			for _, delta := range []float64{0.01, 1e-6, 1e-15, 1e-100} {
				target := bigmath.New(delta)
				if deltaUpper(bigmath.Square(mu), 0, a).Cmp(target) <= 0 {
					continue
				}
				start, slope := nearZeroOf(0x1p-200, hugeEpsilon, math.Log(delta), false, func(epsilon float64) float64 { return logDelta(mu, epsilon, a) })
				evaluated := 0
				leastPattern(1, int(math.Float64bits(hugeEpsilon)), start, slope, func(epsilon float64) (bool, float64) {
					evaluated++
					d := deltaUpper(bigmath.Square(mu), epsilon, a)
					return d.Cmp(target) <= 0, excessOf(d, target)
				})
				if evaluated > 10 {
					t.Errorf("%s: μ = %v at %v took %d evaluations", a, mu, delta, evaluated)
				}
			}
		}
	}
}
