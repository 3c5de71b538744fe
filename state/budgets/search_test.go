package budgets

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/units"
)

// A search stops where δ, rounded upwards, is still at most the requested one, and one float64 (or
// unit of B²) further is above it. Half of the draws are at the ends of the ranges.
func TestASearchStopsAtTheLastSafeValue(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 11, 5))
	ends := []float64{MinDelta, 1e-200, 1e-17, 0.3, 0.5, 0.999, 1 - 1e-9, math.Nextafter(1, 0)}
	mus := []float64{MinMu, 1e-12, 1e-3, math.Nextafter(1e-3, 1), 1, 12, 300, MaxMu}
	rounds := 1000
	if !long.On() {
		rounds = 200
	}
	for i := range rounds {
		a := Accountants()[i%2]
		mu, delta := math.Exp(math.Log(MinMu)+rng.Float64()*math.Log(MaxMu/MinMu)), math.Pow(10, -300*rng.Float64())
		switch rng.IntN(4) {
		case 0:
			mu, delta = mus[rng.IntN(len(mus))], ends[rng.IntN(len(ends))]
		case 1:
			delta = ends[rng.IntN(len(ends))]
		case 2:
			delta = 1 - math.Pow(2, -53*rng.Float64())/2
		}
		target := bigmath.New(delta)
		safe := func(mu2 *big.Float, epsilon float64) bool { return deltaUpper(mu2, epsilon, a).Cmp(target) <= 0 }
		square := bigmath.Square(mu)
		if e := epsilonUpper(square, delta, a); !safe(square, e) || e > 0 && safe(square, math.Nextafter(e, 0)) {
			t.Errorf("%s: μ = %v at %v: ε = %v is not the least", a, mu, delta, e)
		}
		epsilon := math.Pow(10, -6+10*rng.Float64())
		m := largestMu2(epsilon, target, a)
		if !safe(bigFromMu2(m), epsilon) || m < units.MaxMu2 && safe(bigFromMu2(m+1), epsilon) {
			t.Errorf("%s: (%v, %v): B² = %v units is not the greatest", a, epsilon, delta, m)
		}
		c, err := ConvertEpsilonDelta(epsilon, delta, a)
		least, next := bigmath.Square(MinMu), bigmath.Square(math.Nextafter(c.Mu, MaxMu))
		if err != nil {
			if safe(least, epsilon) && !safe(bigmath.Square(MaxMu), epsilon) {
				t.Errorf("%s: (%v, %v): %v", a, epsilon, delta, err)
			}
		} else if !safe(bigmath.Square(c.Mu), epsilon) || safe(next, epsilon) {
			t.Errorf("%s: (%v, %v): μ = %v is not the greatest", a, epsilon, delta, c.Mu)
		}
	}
}

// Evaluations of δ are counted by their allocations. Without a good start a search takes more than
// 50; with one it takes 3 or 4, and at most 17 in 12,000 draws.
func TestASearchTakesAFewEvaluations(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 6, 2))
	evaluations, searches := 0.0, 0.0
	for i := range 60 {
		a := Accountants()[i%2]
		epsilon, delta := math.Pow(10, -6+10*rng.Float64()), math.Pow(10, -16*rng.Float64())
		c, err := ConvertEpsilonDelta(epsilon, delta, a)
		if err != nil {
			continue // no μ in range: the search ends at its limits
		}
		one := testing.AllocsPerRun(1, func() { deltaUpper(bigmath.Square(c.Mu), epsilon, a) })
		for name, search := range map[string]func(){
			"μ":  func() { must.Have(ConvertEpsilonDelta(epsilon, delta, a)) },
			"ε":  func() { must.Have(ConvertDeltaMu(delta, c.Mu, a)) },
			"B²": func() { largestMu2(epsilon, bigmath.New(delta), a) },
		} {
			n := testing.AllocsPerRun(1, search) / one
			if evaluations, searches = evaluations+n, searches+1; n > 30 {
				t.Errorf("%s: %s of (%v, %v) takes %.0f evaluations", a, name, epsilon, delta, n)
			}
		}
	}
	if evaluations > 6*searches {
		t.Errorf("%.1f evaluations on average, 6 at most", evaluations/searches)
	}
}
