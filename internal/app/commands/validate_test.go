package commands

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

func TestValidateGolden(t *testing.T) {
	t.Parallel()
	example := filepath.Join("..", "..", "..", "docs", "example.yaml")
	for name, args := range map[string][]string{
		"validate.golden":      {"validate", "--offline", "--config", write(t, "tollgate.yaml", planned)},
		"validate_json.golden": {"validate", "--offline", "--format", "json", "--config", write(t, "tollgate.yaml", planned)},
	} {
		stdout, stderr := mustRun(t, args...)
		golden.File(t, "testdata/"+name, stdout)
		if !strings.Contains(stderr, "there is no key in") {
			t.Errorf("stderr %s", stderr)
		}
	}
	code, stdout, stderr := run(t, "validate", "--offline", "--config", example)
	if code != exitConfig || stdout != "" || !strings.Contains(stderr, "TOLLGATE_PASSWORD") {
		t.Errorf("a password that is not set: exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	text := contentsOf(t, example)
	if !strings.Contains(text, "TOLLGATE_PASSWORD=any tollgate validate --config example.yaml --offline\n") {
		t.Error("the example does not say how to check it")
	}
	if code, stdout, stderr := runWith(t.Context(), map[string]string{"TOLLGATE_PASSWORD": "any"}, "validate", "--offline", "--config", example); code != exitOK {
		t.Errorf("the command of the example: exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
}

// planned is the configuration of the goldens.
const planned = `
kafka: {brokers: ["localhost:1"]}
events: {topic: visits, format: jsonl, fields: {user: u, key: k, time: t}, time_unit: ms}
privacy: {epsilon: 1, delta: 1e-6}
metrics:
  - name: private
    window: {size: 1h}
    bounds: {max_keys_per_user: 2, max_events_per_key: 3}
    target: {relative: 0.1}
    last_at_least: 24
  - name: public
    window: {size: 1h}
    keys: {list: [a, b]}
    ladder: {expected_max: 1000000}
    target: {relative: 0.05, absolute: 1000}
    last_at_least: 24
keys: {noise: {file: noise.key}, user_hash: {file: user.key}}
`

func TestValidateJSONIsOneObject(t *testing.T) {
	t.Parallel()
	stdout, _ := mustRun(t, "validate", "--offline", "--format", "json", "--config", write(t, "tollgate.yaml", planned))
	var p plan.Plan
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil || len(p.Metrics) != 2 || decoder.More() {
		t.Fatalf("%v: %s", err, stdout)
	}
	if p.Metrics[0].Threshold == nil || p.Metrics[1].Threshold != nil || p.Metrics[0].Windows != 24 || p.Metrics[0].Lasts != "1d" {
		t.Errorf("%+v", p.Metrics)
	}
}

// Budgets of periods add where every window lies within one: n periods are √n times the
// μ, and δ adds up.
func TestPeriodsAddUp(t *testing.T) {
	t.Parallel()
	text := strings.Replace(planned, "delta: 1e-6", "delta: 1e-6, period: 1d", 1)
	stdout, _ := mustRun(t, "validate", "--offline", "--format", "json", "--config", write(t, "tollgate.yaml", text))
	var p plan.Plan
	if err := json.Unmarshal([]byte(stdout), &p); err != nil {
		t.Fatal(err)
	}
	over := p.Periods
	if len(over) != 4 || over[0].Epsilon > 1 || over[0].Epsilon < 0.999999 {
		t.Fatalf("%+v", over)
	}
	for _, n := range over {
		want := 1e-6 * float64(n.Periods)
		if n.Delta < want*(1-1e-9) || n.Delta > want*(1+1e-9) {
			t.Errorf("%+v", n)
		}
		delta, err := budgets.ConvertEpsilonMu(n.Epsilon, p.Mu*math.Sqrt(float64(n.Periods)), budgets.GDP)
		if err != nil || delta.Delta > 9e-7*float64(n.Periods)*(1+1e-9) {
			t.Errorf("%+v does not hold: δ is %v (%v)", n, delta.Delta, err)
		}
	}
}

// capped has explicit caps: what a window costs follows from them alone.
func capped(metrics string) string {
	return `
kafka: {brokers: ["localhost:1"]}
events: {topic: visits, format: jsonl, fields: {user: u, key: k, time: t}, time_unit: ms}
privacy: {epsilon: 1, delta: 1e-6}
metrics:` + metrics + `
keys: {noise: {file: noise.key}, user_hash: {file: user.key}}
`
}

const (
	cappedViews = `
  - {name: views, window: {size: 1h}, keys: {list: [a]}, target: {relative: 0.1}, ladder: {sigma: 40}, last_at_least: 100000}`
	cappedUsers = `
  - {name: users, kind: distinct_users, window: {size: 1d}, keys: {list: [a]}, target: {relative: 0.1}, ladder: {sigma: 40}, last_at_least: 40}`
)

// What validate says of an explicit cap is what the budget pays for, not what
// was asked for: 89 releases at σ = 40 (tollgate budget releases --sigma 40).
func TestRuleAnExplicitCapLastsAsLongAsTheBudgetPays(t *testing.T) {
	t.Parallel()
	const short = "last_at_least asks for more windows"
	for _, test := range []struct {
		name, metrics string
		rows          []string // beginning and end of a metric's line
		short         bool
	}{
		{"one", cappedViews, []string{"views ... 89 windows (3d17h)"}, true},
		{"two that fit", strings.ReplaceAll(cappedViews, "100000", "40") + cappedUsers, []string{"views ... up to 40 windows (1d16h)", "users ... up to 40 windows (40d)"}, false},
		{"two that do not", strings.ReplaceAll(cappedViews, "100000", "60") + cappedUsers, []string{"views ... up to 60 windows (2d12h)", "users ... up to 40 windows (40d)"}, true},
	} {
		stdout, _ := mustRun(t, "validate", "--offline", "--config", write(t, "tollgate.yaml", capped(test.metrics)))
		spaces := regexp.MustCompile(`  +`)
		for _, row := range test.rows {
			begin, end, _ := strings.Cut(row, " ... ")
			found := false
			for line := range strings.Lines(stdout) {
				line = spaces.ReplaceAllString(strings.TrimSpace(line), "  ")
				found = found || strings.HasPrefix(line, begin+"  ") && strings.HasSuffix(line, "  "+end)
			}
			if !found {
				t.Errorf("%s: no line %q in\n%s", test.name, row, stdout)
			}
		}
		if got := strings.Contains(stdout, short); got != test.short {
			t.Errorf("%s: it is said that not everything fits: %t, want %t\n%s", test.name, got, test.short, stdout)
		}
	}
}

// Readers of a count of a private key are told that it may be too high:
// where the promise is, before the run and in the README.
func TestRuleTheBiasOfPrivateKeysIsSaid(t *testing.T) {
	t.Parallel()
	const biased = "too high on average"
	stdout, _ := mustRun(t, "validate", "--offline", "--config", write(t, "tollgate.yaml", planned))
	if !strings.Contains(stdout, biased) {
		t.Errorf("validate does not say it:\n%s", stdout)
	}
	stdout, _ = mustRun(t, "validate", "--offline", "--format", "json", "--config", write(t, "tollgate.yaml", planned))
	if !strings.Contains(stdout, biased) {
		t.Errorf("validate does not say it in JSON:\n%s", stdout)
	}
	stdout, _ = mustRun(t, "validate", "--offline", "--config", write(t, "tollgate.yaml", capped(cappedViews)))
	if strings.Contains(stdout, biased) {
		t.Errorf("there is no private key:\n%s", stdout)
	}
	if stdout, _ = mustRun(t, fileArgs(write(t, "one.csv", "when,who,where\n2025-03-03T00:00:01Z,ann,home\n"))...); !strings.Contains(stdout, biased) {
		t.Errorf("the demo does not say it:\n%s", stdout)
	}
	if stdout, _ = mustRun(t, fileArgs(write(t, "one.csv", "when,who,where\n2025-03-03T00:00:01Z,ann,home\n"), "--public-keys", "a")...); strings.Contains(stdout, biased) {
		t.Errorf("the demo has no private key:\n%s", stdout)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil || !strings.Contains(string(readme), biased) {
		t.Errorf("README.md does not say it (%v)", err)
	}
}

// Only before the start can something be reserved for private keys: so it is said there,
// with what to write and what it costs, and init says it with what was promised.
func TestRuleValidateSaysWhatPrivateKeysNeed(t *testing.T) {
	t.Parallel()
	const never, reserved = "can never add a metric with private keys", "1e-07 of the 1e-06 is reserved for metrics with private keys that may be added later"
	file := capped(cappedViews)
	stdout, _ := mustRun(t, "validate", "--offline", "--config", write(t, "tollgate.yaml", file))
	if !strings.Contains(stdout, never) || !strings.Contains(stdout, "privacy.delta_keys: 1e-07, which takes 1 % of") || strings.Contains(stdout, reserved) {
		t.Errorf("without a reserve:\n%s", stdout)
	}
	file = strings.Replace(file, "delta: 1e-6", "delta: 1e-6, delta_keys: 1e-7", 1)
	stdout, _ = mustRun(t, "validate", "--offline", "--exact", "--config", write(t, "tollgate.yaml", file))
	if strings.Contains(stdout, never) || !strings.Contains(stdout, reserved) {
		t.Errorf("with a reserve:\n%s", stdout)
	}
	stdout, _ = mustRun(t, "validate", "--offline", "--config", write(t, "tollgate.yaml", planned), "--exact")
	if strings.Contains(stdout, never) || strings.Contains(stdout, "reserved") {
		t.Errorf("with a private metric:\n%s", stdout)
	}
}
