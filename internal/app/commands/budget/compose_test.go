package budget

import (
	"math"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/state/compose"
)

func TestBudgetComposeGolden(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"budget_compose.golden": "budget compose --mechanism gaussian:sigma=100:count=500 --delta 1e-6",
		"budget_compose_json.golden": "budget compose --mechanism gaussian:sigma=100:count=500 --delta 1e-6 --format " +
			"json",
	} {
		code, stdout, stderr := run(t, strings.Fields(args)...)
		if code != command.ExitOK || stderr != "" {
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
		if err := print(&app{&command.App{Stdout: &out}}); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/"+name, out.String())
	}
}

// Input that cannot be a composition ends in exit code 2, and the message names the
// flag and the parameter.
func TestBudgetComposeRefusesBadInput(t *testing.T) {
	t.Parallel()
	const good = "--mechanism gaussian:sigma=3 "
	cases := []struct{ args, want string }{
		{"--delta 1e-6", "--mechanism is needed"},
		{good, "either --epsilon or --delta"},
		{good + "--epsilon 1 --delta 1e-6", "either --epsilon or --delta"},
		{good + "--delta 0", "--delta must be"},
		{good + "--delta NaN", "--delta must be"},
		{good + "--epsilon -1", "--epsilon must be"},
		{good + "--epsilon 1 --accountant moments", "--accountant"},
		{good + "--epsilon 1 --group 0", "--group 0"},
		{"--mechanism laplace:scale=1:sampling=0.1 --group 2 --delta 1e-6", "is known for a group"},
	}
	for _, bad := range []struct{ mechanism, want string }{
		{"", `unknown mechanism ""`},
		{"gauss:sigma=1", `unknown mechanism "gauss"`},
		{"gaussian", "sigma is missing"},
		{"gaussian:sigma=x", `sigma is "x"`},
		{"gaussian:sigma=1:sigma=2", "sigma is given twice"},
		{"gaussian:sigma=1:scale=2", `no "scale"`},
		{"gaussian:sigma=0", "sigma is 0"},
		{"gaussian:sigma=Inf", "sigma is +Inf"},
		{"gaussian:sigma=1e-9", "sigma is 1e-09"},
		{"gaussian:sigma=1:sensitivity=0", "sensitivity is 0"},
		{"gaussian:sigma=1:sensitivity=1e9", "sigma/sensitivity is"},
		{"gaussian:sigma=1:sampling=0", "sampling is 0"},
		{"gaussian:sigma=1:sampling=1.5", "sampling is 1.5"},
		{"gaussian:sigma=1:count=0", "count is 0"},
		{"gaussian:sigma=1:count=1e10", "count is 1e+10"},
		{"laplace:scale=0", "scale is 0"},
		{"gaussian-without-replacement:sigma=1", "sampling is missing"},
		{"laplace:sigma=1", `no "sigma"`},
		{"discrete-gaussian:sigma=1e-4", "sigma is 0.0001"},
		{"randomized-response:epsilon=-1", "epsilon is -1"},
		{"randomized-response:epsilon=1:values=1", "values is 1"},
		{"eps-delta:epsilon=1", "delta is missing"},
		{"eps-delta:epsilon=Inf:delta=0", "epsilon is +Inf"},
		{"eps-delta:epsilon=1:delta=1", "delta is 1"},
	} {
		cases = append(cases, struct{ args, want string }{"--delta 1e-6 --mechanism=" + bad.mechanism, bad.want})
	}
	for _, tc := range cases {
		for _, line := range []string{"compose", "compare"} {
			code, stdout, stderr := run(t, append([]string{"budget", line}, strings.Fields(tc.args)...)...)
			if line == "compare" && strings.Contains(tc.args, "--accountant") {
				continue
			}
			if code != command.ExitUsage || stdout != "" {
				t.Errorf("%s %s: exit %d, stdout %q", line, tc.args, code, stdout)
			}
			if !strings.Contains(stderr, tc.want) || !strings.Contains(stderr, "--") {
				t.Errorf("%s %s: stderr %q does not say %q", line, tc.args, stderr, tc.want)
			}
		}
	}
}
