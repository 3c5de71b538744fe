package year

import (
	"encoding/json"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/python"
	"github.com/tollgate-dp/tollgate/internal/testing/repeated"
)

func TestGolden(t *testing.T) {
	repeated.File(t, "testdata/year-small.golden", Experiments()[0], repeated.Small)
}

// README shows the experiment's figure.
func TestReadmeShowsWhatIsFound(t *testing.T) {
	long.Test(t)
	found := repeated.File(t, "testdata/year-default.golden", Experiments()[0], experiment.Options{Seed: 1,
		Size: experiment.Default})
	golden.File(t, "../../../../docs/year.svg", found.Figures[0].SVG()+"\n")
	recomputed(t, found)
}

// recomputed checks the means with docs/year.py, which shares no code with the experiment.
func recomputed(t *testing.T, found *experiment.Result) {
	interpreter := python.With(t, "numpy")
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	check := exec.CommandContext(t.Context(), interpreter, "../../../../docs/year.py")
	check.Stdin = strings.NewReader(string(text))
	out, err := check.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Errorf("docs/year.py: %v", err)
	}
}

// The noise of a divided promise spends the whole budget: μ = √(2·days)/σ, and δ(ε) follows from
// Balle and Wang 2018, Theorem 8.
func TestDividedBudgetsAreSpentOnTheLastDay(t *testing.T) {
	for _, days := range []int{1, 365} {
		mu := math.Sqrt(2*float64(days)) / Sigma(2, days)
		phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
		spent := phi(-Epsilon/mu+mu/2) - math.Exp(Epsilon)*phi(-Epsilon/mu-mu/2)
		if math.Abs(spent/Delta-1) > 1e-6 {
			t.Errorf("%d days have δ = %v", days, spent)
		}
	}
}

// With a cap of two days and one key, a user with two keys on each of three days loses half of each
// event on the first two days, and all of the third.
func TestACapLosesWhatComesLater(t *testing.T) {
	y := &year{users: 1, days: 3}
	var events []Event
	for day := range 3 {
		events = append(events, Event{0, day, 4}, Event{0, day, 7})
	}
	errors, beyond := y.capped(events, 2, 1)
	sigma := Sigma(1, 2)
	for day, lost := range []float64{0.5, 0.5, 1} {
		want := 100 * ((Keys-2)*sigma*math.Sqrt(2/math.Pi) + 2*folded(lost, sigma)) / 2
		if math.Abs(errors[day]/want-1) > 1e-12 {
			t.Errorf("day %d: %v, want %v", day, errors[day], want)
		}
	}
	if math.Abs(beyond-200./3) > 1e-12 {
		t.Errorf("%v%% are left out", beyond)
	}
}
