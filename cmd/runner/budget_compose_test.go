package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// composed is the JSON of compose.
type composed struct {
	Epsilon, Delta float64
	Accountant     string
	Mechanisms     int
}

func compose(t *testing.T, args ...string) composed {
	t.Helper()
	code, stdout, stderr := run(t, append([]string{"budget", "compose", "--format", "json"}, args...)...)
	if code != exitOK || stderr != "" {
		t.Fatalf("%v: exit %d, stderr %q", args, code, stderr)
	}
	var c composed
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func compared(t *testing.T, args ...string) []verdict {
	t.Helper()
	code, stdout, stderr := run(t, append([]string{"budget", "compare", "--format", "json"}, args...)...)
	if code != exitOK || stderr != "" {
		t.Fatalf("%v: exit %d, stderr %q", args, code, stderr)
	}
	var list []verdict
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestBudgetComposeGolden(t *testing.T) {
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
	list, q := mechanisms(t, "eps-delta:epsilon=0.5:delta=1e-9", "gaussian:sigma=8:count=4"), question{delta: 1e-6}
	verdicts, err := compare(list, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Epsilon != nil {
			*v.Epsilon = math.Ceil(*v.Epsilon*1e6) / 1e6
		}
	}
	for name, print := range map[string]func(*app) error{
		"budget_compare.golden":      func(a *app) error { return a.printVerdicts(verdicts) },
		"budget_compare_json.golden": func(a *app) error { return a.printVerdictsJSON(verdicts) },
	} {
		var out strings.Builder
		if err := print(&app{stdout: &out}); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/"+name, out.String())
	}
}

func mechanisms(t *testing.T, texts ...string) []mechanism {
	t.Helper()
	var list []mechanism
	for _, text := range texts {
		m, err := parseMechanism(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// Values that others computed.
func TestBudgetComposeAgreesWithOthers(t *testing.T) {
	for _, tc := range []struct {
		name, args string
		accountant string
		within     float64
		epsilon    float64
		delta      float64
	}{
		// μ = 1 at ε = 1: Dong, Roth and Su, Gaussian differential privacy, Corollary 1.
		{"three Gaussians", "--mechanism gaussian:sigma=1.7320508075688772:count=3 --epsilon 1", "gdp", 1e-12, 1, 0.126936737506644},
		// dp_accounting of Google's differential-privacy library for Python, pld/privacy_loss_distribution_test.py.
		{"three Gaussians by PLD", "--mechanism gaussian:sigma=1.7320508075688772:count=3 --epsilon 1 --accountant pld", "pld", 1e-3, 1, 0.126936},
		{"Poisson samples", "--mechanism gaussian:sigma=0.5:sampling=0.2:count=3 --epsilon 1", "pld", 1e-4, 1, 0.15594},
		{"two of (ε, δ)", "--mechanism eps-delta:epsilon=1:delta=0.1 --mechanism eps-delta:epsilon=2:delta=0.2 --epsilon 3", "pld", 1e-9, 3, 0.28},
		// 0.28 = 1 − (1 − 0.1)(1 − 0.2) is the probability that either fails; the basic sum is 0.3.
		{"two of (ε, δ) added up", "--mechanism eps-delta:epsilon=1:delta=0.1 --mechanism eps-delta:epsilon=2:delta=0.2 --epsilon 3 --accountant basic", "basic", 1e-12, 3, 0.3},
		// Koskela, Tobaben and Honkela: what 495 steps cost in Gaussian terms, 420 cost in Rényi's.
		{"495 Gaussian steps", "--mechanism gaussian:sigma=100:count=495 --delta 1e-5", "gdp", 1e-3, 0.815, 1e-5},
		{"420 Rényi steps", "--mechanism gaussian:sigma=100:count=420 --delta 1e-5 --accountant rdp", "rdp", 1.5e-3, 0.815, 1e-5},
		// Package state's tests: ρ = 1/32 is 0.6880024554878085 at 1e-3, to the precision of the grid of orders.
		{"zCDP", "--mechanism gaussian:sigma=4 --delta 1e-3 --accountant zcdp", "zcdp", 1e-9, 0.6880024554878085, 1e-3},
		{"discrete zCDP", "--mechanism discrete-gaussian:sigma=8:sensitivity=2 --delta 1e-3 --accountant zcdp", "zcdp", 1e-9, 0.6880024554878085, 1e-3},
		{"sensitivity", "--mechanism gaussian:sigma=8:sensitivity=2 --delta 1e-3 --accountant zcdp", "zcdp", 1e-9, 0.6880024554878085, 1e-3},
		{"Laplace added up", "--mechanism laplace:scale=8:count=4 --epsilon 0.5 --accountant basic", "basic", 0, 0.5, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := compose(t, strings.Fields(tc.args)...)
			if got.Accountant != tc.accountant || math.Abs(got.Epsilon-tc.epsilon) > tc.within || math.Abs(got.Delta-tc.delta) > tc.within {
				t.Errorf("got %+v, want (%v, %v) by %s within %v", got, tc.epsilon, tc.delta, tc.accountant, tc.within)
			}
		})
	}
}

// On Gaussian noise every accountant applies, and theory has them in this order;
// rdp is at most as good as zcdp, which has every order and not a grid of them.
func TestBudgetCompareOrdersAccountantsOnGaussians(t *testing.T) {
	for _, args := range []string{
		"--mechanism gaussian:sigma=100:count=500 --delta 1e-6",
		"--mechanism gaussian:sigma=20:count=7 --mechanism gaussian:sigma=5:sensitivity=0.5 --delta 1e-9",
	} {
		at := map[string]float64{}
		list := compared(t, strings.Fields(args)...)
		for _, v := range list {
			if v.Reason != "" {
				t.Fatalf("%s: %s does not apply: %s", args, v.Accountant, v.Reason)
			}
			at[v.Accountant] = *v.Epsilon
		}
		order := []string{"gdp", "pld", "zcdp", "rdp"}
		for i := range order[1:] {
			if !(at[order[i]] <= at[order[i+1]]) {
				t.Errorf("%s: %s says %v, %s says %v", args, order[i], at[order[i]], order[i+1], at[order[i+1]])
			}
		}
		if !(at["rdp"] < min(at["basic"], at["advanced"])) {
			t.Errorf("%s: rdp is not below the simple ones: %v", args, at)
		}
		if list[0].Accountant != "gdp" || !slices.IsSortedFunc(list, func(x, y verdict) int { return int(math.Copysign(1, *x.Epsilon-*y.Epsilon)) }) {
			t.Errorf("%s: not sorted: %v", args, at)
		}
	}
}

// compose and compare say the same, and what does not apply has a reason.
func TestBudgetCompareAgreesWithCompose(t *testing.T) {
	args := strings.Fields("--mechanism laplace:scale=10:count=30 --mechanism discrete-gaussian:sigma=8 --delta 1e-6")
	for _, v := range compared(t, args...) {
		with := append([]string{"--accountant", v.Accountant}, args...)
		if v.Reason == "" {
			if got := compose(t, with...); got.Epsilon != *v.Epsilon || got.Delta != *v.Delta || got.Mechanisms != 31 {
				t.Errorf("%s: compose says %+v, compare %v", v.Accountant, got, *v.Epsilon)
			}
			continue
		}
		code, stdout, stderr := run(t, append([]string{"budget", "compose"}, with...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, v.Reason) || !strings.Contains(stderr, "--accountant "+v.Accountant) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", v.Accountant, code, stdout, stderr)
		}
	}
}

// The answer to one question, asked the other way round, is no better than the
// question was, and hardly worse.
func TestBudgetComposeAgreesWithItself(t *testing.T) {
	for _, list := range []string{
		"gaussian:sigma=10:count=20",
		"laplace:scale=12:count=20",
		"gaussian:sigma=9:sampling=0.1:count=50",
		"randomized-response:epsilon=0.2:values=3:count=9",
		"eps-delta:epsilon=0.1:delta=1e-9:count=11",
	} {
		for _, v := range compared(t, "--mechanism", list, "--delta", "1e-6") {
			if v.Reason != "" {
				continue
			}
			back := compose(t, "--mechanism", list, "--accountant", v.Accountant, "--epsilon", fmt.Sprint(*v.Epsilon))
			if back.Delta > 1e-6*(1+1e-6) || v.Accountant == "gdp" && back.Delta < 1e-6*(1-1e-6) {
				t.Errorf("%s by %s: ε = %v at 1e-6, but δ = %v there", list, v.Accountant, *v.Epsilon, back.Delta)
			}
		}
	}
}

// Losses that need more points than a grid may have are asked for on a coarser
// one; the answer is still an upper bound of the exact one.
func TestBudgetComposeTakesACoarserGrid(t *testing.T) {
	coarse, fine := "gaussian:sigma=0.02:count=40", "gaussian:sigma=1000"
	var size *pld.SizeError
	if _, err := convolve(mechanisms(t, coarse, fine), question{delta: 1e-6}, pld.Options{}); !errors.As(err, &size) {
		t.Fatalf("the finest grid holds them (%v): take others", err)
	}
	args := []string{"--mechanism", coarse, "--mechanism", fine, "--delta", "1e-6"}
	exact, grid := compose(t, args...), compose(t, append(args, "--accountant", "pld")...)
	if !(grid.Epsilon >= exact.Epsilon && grid.Epsilon < 1.01*exact.Epsilon) {
		t.Errorf("exact %v, on a grid %v", exact.Epsilon, grid.Epsilon)
	}
}

// What cannot be a composition ends in exit code 2, and the message names the
// flag and the parameter.
func TestBudgetComposeRefusesBadInput(t *testing.T) {
	const good = "--mechanism gaussian:sigma=3 "
	cases := []struct{ args, want string }{
		{"--delta 1e-6", "--mechanism is needed"},
		{good, "either --epsilon or --delta"},
		{good + "--epsilon 1 --delta 1e-6", "either --epsilon or --delta"},
		{good + "--delta 0", "--delta is 0"},
		{good + "--delta 1", "--delta is 1"},
		{good + "--delta -0.5", "--delta is -0.5"},
		{good + "--delta NaN", "--delta is NaN"},
		{good + "--epsilon -1", "--epsilon is -1"},
		{good + "--epsilon NaN", "--epsilon is NaN"},
		{good + "--epsilon Inf", "--epsilon is +Inf"},
		{good + "--epsilon 1 --accountant moments", "--accountant"},
	}
	for _, bad := range []struct{ mechanism, want string }{
		{"", `unknown mechanism ""`},
		{"gauss:sigma=1", `unknown mechanism "gauss"`},
		{"gaussian", "sigma is missing"},
		{"gaussian:", "not of the form"},
		{"gaussian:sigma", "not of the form"},
		{"gaussian:sigma=", `sigma is ""`},
		{"gaussian:sigma=x", `sigma is "x"`},
		{"gaussian:sigma=1:sigma=2", "sigma is given twice"},
		{"gaussian:sigma=1:scale=2", `no "scale"`},
		{"gaussian:sigma=0", "sigma is 0"},
		{"gaussian:sigma=-1", "sigma is -1"},
		{"gaussian:sigma=NaN", "sigma is NaN"},
		{"gaussian:sigma=Inf", "sigma is +Inf"},
		{"gaussian:sigma=1e-9", "sigma is 1e-09"},
		{"gaussian:sigma=1:sensitivity=0", "sensitivity is 0"},
		{"gaussian:sigma=1:sensitivity=NaN", "sensitivity is NaN"},
		{"gaussian:sigma=1:sensitivity=1e9", "sigma/sensitivity is"},
		{"gaussian:sigma=1:sampling=0", "sampling is 0"},
		{"gaussian:sigma=1:sampling=1.5", "sampling is 1.5"},
		{"gaussian:sigma=1:count=0", "count is 0"},
		{"gaussian:sigma=1:count=1.5", "count is 1.5"},
		{"gaussian:sigma=1:count=-2", "count is -2"},
		{"gaussian:sigma=1:count=1e10", "count is 1e+10"},
		{"laplace:scale=0", "scale is 0"},
		{"laplace:sigma=1", `no "sigma"`},
		{"laplace:scale=1:sensitivity=-1", "sensitivity is -1"},
		{"discrete-gaussian:sigma=1:sensitivity=0.5", "sensitivity is 0.5"},
		{"discrete-gaussian:sigma=1e-4", "sigma is 0.0001"},
		{"randomized-response:epsilon=-1", "epsilon is -1"},
		{"randomized-response:epsilon=1:values=1", "values is 1"},
		{"eps-delta:epsilon=1", "delta is missing"},
		{"eps-delta:delta=0.1", "epsilon is missing"},
		{"eps-delta:epsilon=Inf:delta=0", "epsilon is +Inf"},
		{"eps-delta:epsilon=1:delta=1", "delta is 1"},
		{"eps-delta:epsilon=1:delta=NaN", "delta is NaN"},
	} {
		cases = append(cases, struct{ args, want string }{"--delta 1e-6 --mechanism=" + bad.mechanism, bad.want})
	}
	for _, tc := range cases {
		for _, command := range []string{"compose", "compare"} {
			code, stdout, stderr := run(t, append([]string{"budget", command}, strings.Fields(tc.args)...)...)
			if command == "compare" && strings.Contains(tc.args, "--accountant") {
				continue
			}
			if code != exitUsage || stdout != "" {
				t.Errorf("%s %s: exit %d, stdout %q", command, tc.args, code, stdout)
			}
			if !strings.Contains(stderr, tc.want) || !strings.Contains(stderr, "--") {
				t.Errorf("%s %s: stderr %q does not say %q", command, tc.args, stderr, tc.want)
			}
		}
	}
}

// On Poisson samples, too, the distribution says the least, and Rényi orders say less
// than the price of all data.
func TestBudgetComposeOrdersAccountantsOfPoissonSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("convolves a thousand samples")
	}
	at := map[string]float64{}
	for _, by := range []string{"pld", "rdp"} {
		code, stdout, stderr := run(t, "budget", "compose", "--mechanism", "gaussian:sigma=2:sampling=0.01:count=1000", "--delta", "1e-6",
			"--accountant", by, "--format", "json")
		var out struct{ Epsilon float64 }
		if err := json.Unmarshal([]byte(stdout), &out); code != exitOK || err != nil {
			t.Fatalf("%s: exit %d, %s%s (%v)", by, code, stdout, stderr, err)
		}
		at[by] = out.Epsilon
	}
	if !(at["pld"] <= at["rdp"] && at["rdp"] < 1.3*at["pld"]) {
		t.Errorf("pld and rdp say %v", at)
	}
}

// An accountant that has no answer says why, and prints no number.
func TestBudgetComposeSaysWhatDoesNotApply(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"--mechanism gaussian:sigma=1:sampling=0.1 --delta 1e-6 --accountant gdp", "Poisson sample"},
		{"--mechanism gaussian:sigma=1:sampling=0.1 --delta 1e-6 --accountant zcdp", "Poisson sample"},
		{"--mechanism eps-delta:epsilon=1:delta=1e-9 --delta 1e-6 --accountant gdp", "eps-delta"},
		{"--mechanism eps-delta:epsilon=1:delta=1e-9 --delta 1e-6 --accountant rdp", "eps-delta"},
		{"--mechanism eps-delta:epsilon=1:delta=1e-3 --delta 1e-6", "unbounded loss"},
		{"--mechanism eps-delta:epsilon=1:delta=1e-3 --delta 1e-6 --accountant zcdp", "add up to 0.001"},
		{"--mechanism eps-delta:epsilon=1:delta=1e-3 --delta 1e-6 --accountant basic", "add up to 0.001"},
		{"--mechanism eps-delta:epsilon=0.1:delta=1e-4:count=11 --delta 1e-3 --accountant zcdp", "add up to 0.0011"},
		{"--mechanism eps-delta:epsilon=0.1:delta=1e-4:count=11 --delta 1e-3 --accountant basic", "add up to 0.0011"},
		{"--mechanism discrete-gaussian:sigma=4 --delta 1e-6 --accountant gdp", "discrete-gaussian"},
		{"--mechanism laplace:scale=1:count=2 --epsilon 1 --accountant basic", "add up to more"},
		{"--mechanism laplace:scale=1 --delta 0.5 --accountant advanced", "1/e"},
		{"--mechanism gaussian:sigma=100:count=100001 --delta 1e-6 --accountant advanced", "at most 100000"},
	} {
		code, stdout, stderr := run(t, append([]string{"budget", "compose"}, strings.Fields(tc.args)...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tc.want) || !strings.Contains(stderr, "--accountant") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want %q", tc.args, code, stdout, stderr, tc.want)
		}
	}
}

// Sums never come out too small, and what a float64 holds comes out exactly.
func TestBudgetSumsRoundUp(t *testing.T) {
	var exact, tenths total
	exact.add(1, 1)
	exact.add(2, 3)
	if exact.value() != 7 {
		t.Errorf("1 + 3·2 is %v", exact.value())
	}
	tenths.add(0.1, 1)
	tenths.add(0.2, 1)
	if got := tenths.value(); !(got > 0.3) || got > 0.3000000000000001 {
		t.Errorf("0.1 + 0.2 is %v", got)
	}
}
