package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/golden"
	"github.com/tollgate-dp/tollgate/state"
)

func TestValidateGolden(t *testing.T) {
	example := filepath.Join("..", "..", "docs", "example.yaml")
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
	stdout, _ := mustRun(t, "validate", "--offline", "--format", "json", "--config", write(t, "tollgate.yaml", planned))
	var p plan
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil || len(p.Metrics) != 2 || decoder.More() {
		t.Fatalf("%v: %s", err, stdout)
	}
	if p.Metrics[0].Threshold == nil || p.Metrics[1].Threshold != nil || p.Metrics[0].Windows != 24 || p.Metrics[0].Lasts != "1d" {
		t.Errorf("%+v", p.Metrics)
	}
}

// Without brokers validate says what it can, and that it could not look.
func TestValidateNeedsBrokersUnlessOffline(t *testing.T) {
	code, stdout, stderr := run(t, "validate", "--config", write(t, "tollgate.yaml", planned))
	if code != exitError || !strings.Contains(stdout, "differential privacy") || !strings.Contains(stderr, "--offline") {
		t.Errorf("exit %d, stdout %s, stderr %s", code, stdout, stderr)
	}
}

// Budgets of periods add: four periods are twice the μ, and δ adds up.
func TestPeriodsAddUp(t *testing.T) {
	b, err := state.NewBudget(1, 1e-6, state.GDP, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	over := overPeriods(b)
	if len(over) != 4 || over[0].Epsilon > 1 || over[0].Epsilon < 0.999999 {
		t.Fatalf("%+v", over)
	}
	for _, n := range over {
		want := 1e-6 * float64(n.Periods)
		if n.Delta < want*(1-1e-9) || n.Delta > want*(1+1e-9) {
			t.Errorf("%+v", n)
		}
		delta, err := state.ConvertEpsilonMu(n.Epsilon, b.Mu2.Mu()*math.Sqrt(float64(n.Periods)), state.GDP)
		if err != nil || delta.Delta > 9e-7*float64(n.Periods)*(1+1e-9) {
			t.Errorf("%+v does not hold: δ is %v (%v)", n, delta.Delta, err)
		}
	}
}
