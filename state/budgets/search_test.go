package budgets

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/units"
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

// halvedMu2 is largestMu2 by halving alone.
func halvedMu2(epsilon float64, target *big.Float, a Accountant) units.Mu2 {
	lo, hi := units.Mu2(0), units.MaxMu2
	if deltaUpper(bigFromMu2(hi), epsilon, a).Cmp(target) <= 0 {
		return hi
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; deltaUpper(bigFromMu2(mid), epsilon, a).Cmp(target) > 0 {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo
}

func TestAGuidedSearchFindsWhatHalvingFinds(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 4, 11))
	rounds := 300
	if !long.On() {
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
		target := bigmath.New(delta)
		if got, want := largestMu2(epsilon, target, a), halvedMu2(epsilon, target, a); got != want {
			t.Errorf("%s: (%v, %v): B² = %v units, halving finds %v", a, epsilon, delta, got, want)
		}
	}
}

// TestASearchTakesAFewEvaluations counts evaluations of δ by what they allocate. Without a good start
// a search takes more than 50; with one it takes 3 or 4, and 17 at most in 12,000 draws.
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
			"μ":  func() { must(ConvertEpsilonDelta(epsilon, delta, a)) },
			"ε":  func() { must(ConvertDeltaMu(delta, c.Mu, a)) },
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

// TestAnEpsilonIsTheLeastThatIsSafe compares with the curve in 384 bits, not with another search:
// at ε, δ is not above the requested one; one float64 below ε, it is. Half of the draws are at the
// ends of the ranges.
func TestAnEpsilonIsTheLeastThatIsSafe(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 11, 5))
	ends := []float64{MinDelta, 1e-200, 1e-17, 0.3, 0.5, 0.999, 1 - 1e-9, math.Nextafter(1, 0)}
	mus := []float64{MinMu, 1e-12, 1e-3, math.Nextafter(1e-3, 1), 1, 12, 300, MaxMu}
	rounds := 400
	if !long.On() {
		rounds = 150
	}
	positive := 0
	for i := range rounds {
		mu, delta := math.Exp(math.Log(MinMu)+rng.Float64()*math.Log(MaxMu/MinMu)), math.Pow(10, -300*rng.Float64())
		switch i % 4 {
		case 0:
			mu, delta = mus[rng.IntN(len(mus))], ends[rng.IntN(len(ends))]
		case 1:
			delta = ends[rng.IntN(len(ends))]
		case 2:
			delta = 1 - math.Pow(2, -53*rng.Float64())/2
		}
		c := must(ConvertDeltaMu(delta, mu, GDP))
		square, target := bigmath.Square(mu), bigmath.New(delta)
		if c.Epsilon > 0 {
			positive++
			below := bigmath.GaussianDelta(square, bigmath.New(math.Nextafter(c.Epsilon, 0)))
			if bigmath.Upward(below).Cmp(target) <= 0 {
				t.Errorf("μ = %v at %v: ε = %v, and the float64 below it is enough", mu, delta, c.Epsilon)
			}
		}
		if bigmath.GaussianDelta(square, bigmath.New(c.Epsilon)).Cmp(target) > 0 {
			t.Errorf("μ = %v at %v: at ε = %v δ is above it", mu, delta, c.Epsilon)
		}
		back, err := ConvertEpsilonDelta(max(1e-300, min(c.Epsilon, MaxEpsilon)), delta, GDP)
		if err == nil && bigmath.GaussianDelta(bigmath.Square(back.Mu), bigmath.New(back.Epsilon)).Cmp(target) > 0 {
			t.Errorf("(%v, %v): at μ = %v δ is above it", back.Epsilon, delta, back.Mu)
		}
	}
	if positive < rounds/4 {
		t.Errorf("%d of %d are above 0: the test shows too little", positive, rounds)
	}
}
