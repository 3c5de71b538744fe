package commands

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

// The reference figures: 560 and 487 releases at (1, 1e-6), σ = 100 and
// one event in each.
func TestBudgetReleases(t *testing.T) {
	t.Parallel()
	for accountant, want := range map[string]string{"gdp": "560", "zcdp": "487"} {
		code, stdout, stderr := run(t, "budget", "releases",
			"--epsilon", "1", "--delta", "1e-6", "--accountant", accountant, "--sigma", "100", "--contribution", "1")
		if code != exitOK || stderr != "" {
			t.Fatalf("%s: exit %d, stderr %q", accountant, code, stderr)
		}
		if first, _, _ := strings.Cut(stdout, "\n"); strings.Join(strings.Fields(first), " ") != "releases "+want {
			t.Errorf("%s: first line %q, want %s releases", accountant, first, want)
		}
		_, stdout, _ = run(t, "budget", "releases", "--accountant", accountant, "--sigma", "100", "--format", "json")
		var out struct{ Releases json.Number }
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || out.Releases.String() != want {
			t.Errorf("%s: JSON %q (%v)", accountant, stdout, err)
		}
	}
}

func TestBudgetGolden(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"budget_releases.golden":      "budget releases --sigma 100 --contribution 3",
		"budget_releases_json.golden": "budget releases --sigma 100 --contribution 3 --format json",
		"budget_convert.golden":       "budget convert --epsilon 1 --delta 1e-6",
		"budget_convert_json.golden":  "budget convert --epsilon 1 --delta 1e-6 --accountant zcdp --format json",
	} {
		code, stdout, stderr := run(t, strings.Fields(args)...)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: exit %d, stderr %q", args, code, stderr)
		}
		golden.File(t, "testdata/"+name, stdout)
	}
}

// From any two numbers the third comes back, rounded to the safe side.
func TestBudgetConvertAgreesWithItself(t *testing.T) {
	t.Parallel()
	type numbers struct{ Epsilon, Delta, Mu, Rho float64 }
	convert := func(args ...string) (n numbers) {
		t.Helper()
		code, stdout, stderr := run(t, append([]string{"budget", "convert", "--format", "json"}, args...)...)
		if code != exitOK {
			t.Fatalf("%v: exit %d, stderr %q", args, code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	text := func(v float64) string { b, _ := json.Marshal(v); return string(b) }
	for _, accountant := range []string{"gdp", "zcdp"} {
		by := "--accountant=" + accountant
		a := convert(by, "--epsilon", "1", "--delta", "1e-6")
		if math.Abs(a.Rho-a.Mu*a.Mu/2) > 1e-12 {
			t.Errorf("%s: rho %v is not mu²/2 for mu %v", accountant, a.Rho, a.Mu)
		}
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-6*want {
				t.Errorf("%s: %s is %v, want %v", accountant, what, got, want)
			}
		}
		near("delta from mu", convert(by, "--epsilon", "1", "--mu", text(a.Mu)).Delta, 1e-6)
		near("delta from rho", convert(by, "--epsilon", "1", "--rho", text(a.Rho)).Delta, 1e-6)
		near("epsilon from mu", convert(by, "--delta", "1e-6", "--mu", text(a.Mu)).Epsilon, 1)
		near("epsilon from rho", convert(by, "--delta", "1e-6", "--rho", text(a.Rho)).Epsilon, 1)
	}
	// δ = Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2) at μ = 1, ε = 1: 0.12693673750664394
	// (Dong, Roth and Su, Gaussian differential privacy, Corollary 1).
	if got := convert("--epsilon", "1", "--mu", "1").Delta; math.Abs(got-0.12693673750664394) > 1e-12 {
		t.Errorf("delta of mu 1 at epsilon 1 is %v", got)
	}
}
