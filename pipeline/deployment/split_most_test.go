package deployment_test

import (
	"errors"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Where so many windows are asked for that no precision is left, the greatest number that leaves
// some is named: it compiles, and one more does not.
func TestTheGreatestLastAtLeastIsNamed(t *testing.T) {
	most := regexp.MustCompile(`With last_at_least: ([0-9]+) or less`)
	for name, keys := range map[string]deployment.Keys{"private": {Mode: deployment.KeysPrivate}, "public": {Mode: deployment.KeysPublic, List: []string{"a"}}} {
		cfg := deploytest.Config("localhost:1")
		compile := func(windows, bound int) error {
			cfg.Privacy.Epsilon, cfg.Privacy.Delta, cfg.Privacy.DeltaKeys = 1e-4, 0.1, 0
			cfg.Metrics = []deployment.Metric{{
				Name: "m", Window: time.Hour, Keys: keys, MaxKeysPerUser: 3, MaxEventsPerKey: bound,
				Target: noisereduction.Target{Relative: 0.1, Confidence: 0.95}, LastAtLeast: windows,
			}}
			_, err := deployment.Compile(cfg)
			return err
		}
		var wrong *deployment.ConfigError
		err := compile(1<<40, 50)
		if !errors.As(err, &wrong) || wrong.Field != "metrics.m.last_at_least" {
			t.Fatalf("%s: %v", name, err)
		}
		found := most.FindStringSubmatch(wrong.Reason)
		if found == nil {
			t.Fatalf("%s: %v", name, err)
		}
		n, err := strconv.Atoi(found[1])
		if err != nil || n < 2 {
			t.Fatalf("%s: %v (%v)", name, found, err)
		}
		if err := compile(n, 50); err != nil {
			t.Errorf("%s: %d windows: %v", name, n, err)
		}
		if err := compile(n+1, 50); err == nil {
			t.Errorf("%s: %d windows are taken", name, n+1)
		}
		if name == "private" {
			continue // its first rung is a quarter of the top, which one window always leaves
		}
		if err := compile(1, 1<<30); !errors.As(err, &wrong) || wrong.Field != "metrics.m.max_events_per_key" {
			t.Errorf("%s: one window of too much: %v", name, err)
		}
	}
}
