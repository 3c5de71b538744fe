package counts

import (
	"math"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/testing/repeated"
)

func TestGolden(t *testing.T) {
	e := Experiments()[0]
	found := repeated.File(t, "testdata/counts.golden", e, repeated.Small)
	repeated.OnOneProcessor(t, e, repeated.Small, found)
}

// kolmogorov returns the distance of a sample from a law. If the law is right, the distance exceeds
// 2.3/√n with probability at most 2·e^(−2·2.3²) < 6e-5.
func kolmogorov(sample []float64, law func(float64) float64) float64 {
	slices.Sort(sample)
	worst, n := 0.0, float64(len(sample))
	for i, v := range sample {
		p := law(v)
		worst = max(worst, math.Abs(p-float64(i)/n), math.Abs(float64(i+1)/n-p))
	}
	return worst
}

// The noise of every rung has the law of its deviation, whatever the rungs before it. In a process,
// the noise that a rung removes is independent of the noise that is left, so that the last rung
// reveals as much about the count as all rungs together.
func TestRungsHaveTheirLaws(t *testing.T) {
	const n = 40_000
	laplaceLaw := func(sigma float64) func(float64) float64 {
		return func(v float64) float64 {
			tail := math.Exp(-math.Abs(v)*math.Sqrt2/sigma) / 2
			if v < 0 {
				return tail
			}
			return 1 - tail
		}
	}
	normalLaw := func(sigma float64) func(float64) float64 {
		return func(v float64) float64 { return math.Erfc(-v/sigma/math.Sqrt2) / 2 }
	}
	for name, c := range map[string]struct {
		ladder ladder
		law    func(sigma float64) func(float64) float64
	}{
		"Brownian": {ladder{rungs: brownian}, normalLaw},
		"Laplace":  {ladder{rungs: laplace}, laplaceLaw},
		"fresh":    {ladder{rungs: fresh}, normalLaw},
	} {
		random := experiment.Options{Seed: 5}.Random(name)
		rungs := []float64{10, 9, 4, 1}
		samples := make([][]float64, len(rungs))
		var products float64 // sum of the finest noise times the noise removed before it
		for range n {
			next := c.ladder.rungs(0, rungs[0], random)
			for i, sigma := range rungs {
				samples[i] = append(samples[i], next(sigma))
			}
			fine := samples[3][len(samples[3])-1]
			products += fine * (samples[0][len(samples[0])-1] - fine)
		}
		for i, sigma := range rungs {
			if d := kolmogorov(samples[i], c.law(sigma)); d > 2.3/math.Sqrt(n) {
				t.Errorf("%s noise of deviation %v is %v from its law", name, sigma, d)
			}
		}
		// Independent noise has covariance 0; with fresh rungs it is minus the finest variance.
		want, deviation := 0.0, math.Sqrt(99.0/n)*2
		if name == "fresh" {
			want = -1
		}
		if got := products / n; math.Abs(got-want) > 4*deviation {
			t.Errorf("%s: the finest and the removed noise have covariance %v", name, got)
		}
	}
}

// No ladder can overdraw a filter: no trial pays more than the budget, and only paid counts are
// answered.
func TestNoMethodPaysMoreThanTheBudget(t *testing.T) {
	counts := truth(experiment.Options{Seed: 3}.Random())
	for _, m := range methods() {
		p := m.open()
		random := experiment.Options{Seed: 4}.Random(m.name)
		answered := 0
		for _, count := range counts {
			_, done, err := m.answer(p, count, 0.2, random)
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			if done {
				answered++
			}
		}
		var spent, most float64
		switch f := p.(type) {
		case gdpPayer:
			spent, most = f.Spent().Mu, f.Budget().Mu
		case zcdpPayer:
			spent, most = f.Spent().Rho, f.Budget().Rho
		case exPostPayer:
			spent, most = f.Spent().Epsilon, epsilon
		}
		if !(spent <= most*(1+1e-12) && spent > most/2) || answered < 10 {
			t.Errorf("%s: %d counts for %v of %v", m.name, answered, spent, most)
		}
	}
}
