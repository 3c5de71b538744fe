package commands

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

func TestBudgetCalibrateGolden(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"budget_calibrate.golden":      "budget calibrate --epsilon 1 --delta 1e-6 --releases 560",
		"budget_calibrate_json.golden": "budget calibrate --epsilon 1 --delta 1e-6 --releases 365 --contribution 20 --format json",
	} {
		code, stdout, stderr := run(t, strings.Fields(args)...)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: exit %d, stderr %q", args, code, stderr)
		}
		golden.File(t, "testdata/"+name, stdout)
	}
}

// What compose says of the σ as it is printed is what calibrate said, and with the next
// smaller number of four digits it is over the budget.
func TestBudgetCalibrateAgreesWithCompose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, mechanism, epsilon, delta string }{
		{"--releases 1", "gaussian:count=1", "1", "1e-6"},
		{"--releases 10000 --contribution 3", "gaussian:sensitivity=3:count=10000", "0.5", "1e-9"},
		{"--releases 10000 --sampling 0.005", "gaussian:sampling=0.005:count=10000", "1", "1e-6"},
		{"--releases 10000 --sampling 0.01 --contribution 0.3", "gaussian:sensitivity=0.3:sampling=0.01:count=10000", "1", "1e-5"},
	} {
		args := append(strings.Fields("budget calibrate --format json "+c.args), "--epsilon", c.epsilon, "--delta", c.delta)
		code, stdout, stderr := run(t, args...)
		if code != exitOK || stderr != "" {
			t.Fatalf("%s: exit %d, stderr %q", c.args, code, stderr)
		}
		var out struct {
			Sigma      json.Number
			Epsilon    float64
			Composed   float64 `json:"composed_epsilon"`
			Accountant string
		}
		if err := json.Unmarshal([]byte(stdout), &out); err != nil {
			t.Fatal(err)
		}
		got := composed(t, "--mechanism", c.mechanism+":sigma="+out.Sigma.String(), "--delta", c.delta)
		if got.Epsilon != out.Composed || got.Accountant != out.Accountant || !(got.Epsilon <= out.Epsilon) {
			t.Errorf("%s: %s, but compose says %+v", c.args, stdout, got)
		}
		sigma, err := out.Sigma.Float64()
		if err != nil {
			t.Fatal(err)
		}
		digits, exponent, _ := strings.Cut(strconv.FormatFloat(sigma, 'e', 3, 64), "e")
		number, err := strconv.Atoi(strings.ReplaceAll(digits, ".", ""))
		if err != nil || number == 1000 {
			t.Fatalf("σ = %v: take other releases (%v)", sigma, err)
		}
		less := strconv.Itoa(number-1) + "e" + exponent
		less = strings.Replace(less, less[:1], less[:1]+".", 1)
		if got := composed(t, "--mechanism", c.mechanism+":sigma="+less, "--delta", c.delta); !(got.Epsilon > out.Epsilon) {
			t.Errorf("%s: σ = %s is enough, too: %+v", c.args, less, got)
		}
	}
}

func TestBudgetCalibrateRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", `"releases" not set`},
		{"--releases 0", "--releases is 0: it must be an integer from 1 to 1000000000"},
		{"--releases 2.5", "--releases"},
		{"--releases 1 --epsilon 0", "--epsilon is 0: it must be above 0 and at most 1e6"},
		{"--releases 1 --epsilon NaN", "--epsilon is NaN"},
		{"--releases 1 --delta 1", "--delta is 1: it must be at least 1e-300 and below 1"},
		{"--releases 1 --sampling 1.5", "--sampling is 1.5: it must be at least 2^-60 and at most 1"},
		{"--releases 1 --sampling 0", "--sampling is 0"},
		{"--releases 1 --contribution 0", "--contribution is 0: it must be between 1e-30 and 1e30"},
		{"--releases 1000000000 --epsilon 1e-9 --delta 1e-300", "no standard deviation up to 1.099e+12 keeps 1000000000 releases within epsilon 1e-09"},
		{"--releases 10 --sampling 0.01 --epsilon 0.01 --delta 1e-300", "by rdp"},
	} {
		code, stdout, stderr := run(t, append([]string{"budget", "calibrate"}, strings.Fields(c.args)...)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want %q", c.args, code, stdout, stderr, c.want)
		}
	}
}
