package year

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/internal/testing/repeated"
)

func TestGolden(t *testing.T) {
	repeated.File(t, "testdata/year-small.golden", Experiments()[0], repeated.Small)
}

// What README says and shows of a year is what the experiment finds.
func TestReadmeShowsWhatIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("makes up 7 million events: leave out -short")
	}
	found := repeated.File(t, "testdata/year-default.golden", Experiments()[0], experiment.Options{Seed: 1})
	golden.File(t, "../../../../docs/year.svg", found.Figures[0].SVG(true)+"\n")
}

// Populations come as often as is said of them: shares of 100,000 users, whose deviation is below
// 0.002; four of them are exceeded with probability 1e-4.
func TestPopulationsComeAsOftenAsIsSaid(t *testing.T) {
	for _, c := range []struct {
		population       int
		days, part, want float64 // the share of users who come on fewer than so many of so many days
	}{
		{0, 0.0100, 1, 0.5}, {0, 58.0 / 365, 1, 0.99}, {1, 0.0625, 1, 0.5}, {1, 0.8145, 1, 0.95},
	} {
		random := experiment.Options{Seed: 9}.Random(c.population, c.days)
		p := Populations()[c.population]
		below := 0.0
		for range 100_000 {
			if p.often(random) < c.days {
				below += 1e-5
			}
		}
		if math.Abs(below-c.want) > 0.0064 {
			t.Errorf("%s: %v of users come on fewer than %v of days, not %v", p.Name, below, c.days, c.want)
		}
	}
}

// Noise that is divided beforehand has the size that its budget buys: k windows of Laplace noise of
// scale b cost k·2/b, and of Gaussian noise √(2k)/σ in μ.
func TestDividedBudgetsAreSpentInTheLastWindow(t *testing.T) {
	for _, windows := range []int{1, 365} {
		got, err := Divide(windows)
		if err != nil {
			t.Fatal(err)
		}
		if cost := float64(windows) * KeysPerUser / (got[0].Sigma / math.Sqrt2); math.Abs(cost-Epsilon) > 1e-12 {
			t.Errorf("%d windows of Laplace noise cost %v", windows, cost)
		}
		mu := math.Sqrt(KeysPerUser*float64(windows)) / got[1].Sigma
		// δ(ε) of μ-GDP (Balle and Wang 2018, Theorem 8).
		phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
		spent := phi(-Epsilon/mu+mu/2) - math.Exp(Epsilon)*phi(-Epsilon/mu-mu/2)
		if math.Abs(spent/Delta-1) > 1e-6 {
			t.Errorf("%d windows of Gaussian noise have δ = %v", windows, spent)
		}
	}
}
