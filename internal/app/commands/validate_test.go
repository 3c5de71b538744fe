package commands

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/commands/commandtest"
	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/internal/testing/golden"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/budgets"
)

func TestValidateGolden(t *testing.T) {
	t.Parallel()
	example := filepath.Join("..", "..", "..", "docs", "example.yaml")
	for name, args := range map[string][]string{
		"validate.golden": {"validate", "--offline", "--config", commandtest.Write(t, "tollgate.yaml",
			commandtest.TwoMetrics)},
		"validate_json.golden": {"validate", "--offline", "--format", "json", "--config", commandtest.Write(t,
			"tollgate.yaml", commandtest.TwoMetrics)},
	} {
		stdout, stderr := mustRun(t, args...)
		golden.File(t, "testdata/"+name, stdout)
		if !strings.Contains(stderr, "there is no key in") {
			t.Errorf("stderr %s", stderr)
		}
	}
	code, stdout, stderr := tollgate(t, "validate", "--offline", "--config", example)
	if code != command.ExitConfig || stdout != "" || !strings.Contains(stderr, "TOLLGATE_PASSWORD") {
		t.Errorf("a password that is not set: exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	text := contentsOf(t, example)
	if !strings.Contains(text, "TOLLGATE_PASSWORD=any tollgate validate --config example.yaml --offline\n") {
		t.Error("the example does not say how to check it")
	}
	if code, stdout, stderr := runWith(t.Context(), map[string]string{"TOLLGATE_PASSWORD": "any"}, "validate",
		"--offline", "--config", example); code != command.ExitOK {
		t.Errorf("the command of the example: exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
}

// Budgets of periods add where every window lies within one: n periods are √n times the
// μ, and δ adds up.
func TestPeriodsAddUp(t *testing.T) {
	t.Parallel()
	text := strings.Replace(commandtest.TwoMetrics, "lasts: 1d", "period: 1d", 1)
	stdout, _ := mustRun(t, "validate", "--offline", "--format", "json", "--config", commandtest.Write(t,
		"tollgate.yaml", text))
	var p plan.Plan
	must.Succeed(t, json.Unmarshal([]byte(stdout), &p))
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

// onlyPublic has no metric with private keys.
const onlyPublic = `
kafka: {brokers: ["localhost:1"]}
events: {topic: visits, format: jsonl, fields: {user: u, key: k, time: t}, time_unit: ms}
privacy: {epsilon: 1, delta: 1e-6, lasts: 1d}
metrics:
  - {name: views, window: {size: 1h}, keys: {list: [a]}, target: {absolute: 100}}
keys: {noise: {file: noise.key}, user_hash: {file: user.key}}
`

// Readers of a count of a private key are told that it may be too high: before the run (the
// goldens) and in the README. Of public keys nothing is said.
func TestRuleTheBiasOfPrivateKeysIsSaid(t *testing.T) {
	t.Parallel()
	const biased = "too high on average"
	for _, name := range []string{"testdata/validate.golden", "testdata/validate_json.golden", "../../../README.md"} {
		if !strings.Contains(strings.Join(strings.Fields(contentsOf(t, name)), " "), biased) {
			t.Errorf("%s does not say it", name)
		}
	}
	if stdout, _ := mustRun(t, "validate", "--offline", "--config", commandtest.Write(t, "tollgate.yaml",
		onlyPublic)); strings.Contains(stdout, biased) {
		t.Errorf("there is no private key:\n%s", stdout)
	}
	one := commandtest.Write(t, "one.csv", "when,who,where\n2025-03-03T00:00:01Z,ann,home\n")
	for says, more := range map[bool][]string{true: nil, false: {"--public-keys", "a"}} {
		if stdout, _ := mustRun(t, commandtest.FileArgs(one, more...)...); strings.Contains(stdout, biased) != says {
			t.Errorf("demo %q:\n%s", more, stdout)
		}
	}
}

// Only before the start can something be reserved for private keys: so it is said there,
// with what to write and what it costs, and init says it with what was promised.
func TestRuleValidateSaysWhatPrivateKeysNeed(t *testing.T) {
	t.Parallel()
	const never, reserved = "can never add a metric with private keys", "1e-07 of the 1e-06 is reserved for metrics " +
		"with private keys that may be added later"
	file := onlyPublic
	stdout, _ := mustRun(t, "validate", "--offline", "--config", commandtest.Write(t, "tollgate.yaml", file))
	if !strings.Contains(stdout, never) || !strings.Contains(stdout, "privacy.delta_keys: 1e-07, which takes 1% of") ||
		strings.Contains(stdout, reserved) {
		t.Errorf("without a reserve:\n%s", stdout)
	}
	file = strings.Replace(file, "delta: 1e-6", "delta: 1e-6, delta_keys: 1e-7", 1)
	stdout, _ = mustRun(t, "validate", "--offline", "--exact", "--config", commandtest.Write(t, "tollgate.yaml", file))
	if strings.Contains(stdout, never) || !strings.Contains(stdout, reserved) {
		t.Errorf("with a reserve:\n%s", stdout)
	}
	stdout, _ = mustRun(t, "validate", "--offline", "--config", commandtest.Write(t, "tollgate.yaml",
		commandtest.TwoMetrics), "--exact")
	if strings.Contains(stdout, never) || strings.Contains(stdout, "reserved") {
		t.Errorf("with a private metric:\n%s", stdout)
	}
}
