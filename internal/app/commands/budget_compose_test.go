package commands

import (
	"math"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/state/compose"
)

func TestBudgetComposeGolden(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"budget_compose.golden":      "budget compose --mechanism gaussian:sigma=100:count=500 --delta 1e-6",
		"budget_compose_json.golden": "budget compose --mechanism gaussian:sigma=100:count=500 --delta 1e-6 --format json",
	} {
		code, stdout, stderr := run(t, strings.Fields(args)...)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: exit %d, stderr %q", args, code, stderr)
		}
		golden.File(t, "testdata/"+name, stdout)
	}
}

// The answers of accountants that work in float64 may differ in their last
// digits on other processors, so these goldens have none that do: six digits.
func TestBudgetCompareGolden(t *testing.T) {
	t.Parallel()
	var list []compose.Mechanism
	for _, text := range []string{"eps-delta:epsilon=0.5:delta=1e-9", "gaussian:sigma=8:count=4"} {
		m, err := parseMechanism(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	q, err := compose.EpsilonAt(1e-6)
	if err != nil {
		t.Fatal(err)
	}
	verdicts, err := compose.Compare(list, q)
	if err != nil {
		t.Fatal(err)
	}
	for i := range verdicts {
		epsilon := &verdicts[i].Loss.Epsilon
		*epsilon = math.Ceil(*epsilon*1e6) / 1e6
	}
	for name, print := range map[string]func(*app) error{
		"budget_compare.golden":      func(a *app) error { return a.printVerdicts(cli.Table, verdicts) },
		"budget_compare_json.golden": func(a *app) error { return a.printVerdicts(cli.JSON, verdicts) },
	} {
		var out strings.Builder
		if err := print(&app{stdout: &out}); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/"+name, out.String())
	}
}
