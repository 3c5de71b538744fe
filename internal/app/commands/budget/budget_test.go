package budget

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

// The reference figures: 560 and 487 releases at (1, 1e-6), σ = 100 and
// one event in each.
func TestBudgetReleases(t *testing.T) {
	t.Parallel()
	for accountant, want := range map[string]string{"gdp": "560", "zcdp": "487"} {
		code, stdout, stderr := run(t, "budget", "releases",
			"--epsilon", "1", "--delta", "1e-6", "--accountant", accountant, "--sigma", "100", "--contribution", "1")
		if code != command.ExitOK || stderr != "" {
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
		if code != command.ExitOK || stderr != "" {
			t.Errorf("%s: exit %d, stderr %q", args, code, stderr)
		}
		golden.File(t, "testdata/"+name, stdout)
	}
}
