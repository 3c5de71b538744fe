package deployment_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// TestCompileRefusesInvalidValues: every invalid value names its field.
func TestCompileRefusesInvalidValues(t *testing.T) {
	for _, test := range []struct {
		field  string
		change func(c *deployment.Config)
	}{
		{"kafka.brokers", func(c *deployment.Config) { c.Kafka.Brokers = nil }},
		{"events.topic", func(c *deployment.Config) { c.Events.Topic = "" }},
		{"events.user", func(c *deployment.Config) { c.Events.Format.User = "" }},
		{"privacy", func(c *deployment.Config) { c.Privacy.Epsilon = 0 }},
		{"privacy", func(c *deployment.Config) { c.Privacy.Epsilon = math.NaN() }},
		{"privacy", func(c *deployment.Config) { c.Privacy.Delta = 0 }},
		{"privacy", func(c *deployment.Config) { c.Privacy.Delta = 1 }},
		{"privacy.accountant", func(c *deployment.Config) { c.Privacy.Accountant = "renyi" }},
		{"privacy.delta_keys", func(c *deployment.Config) { c.Privacy.DeltaKeys = 1e-6 }}, // all of δ
		{"privacy", func(c *deployment.Config) { c.Privacy.DeltaKeys = -1e-7 }},
		{"time.trust", func(c *deployment.Config) { c.Time.Trust = "nobody" }},
		{"time.slack", func(c *deployment.Config) { c.Time.Slack = time.Second }},
		{"time.lateness", func(c *deployment.Config) { c.Time.Lateness = -time.Second }},
		{"time.skew", func(c *deployment.Config) { c.Time.Skew = time.Microsecond }},
		{"shards", func(c *deployment.Config) { c.Shards = -1 }},
		{"release_shards", func(c *deployment.Config) { c.ReleaseShards = 1 << 20 }},
		{"ledger_slots", func(c *deployment.Config) { c.LedgerSlots = 3 }},
		{"keys.noise", func(c *deployment.Config) { c.Keys.Noise = nil }},
		{"keys.noise", func(c *deployment.Config) { c.Keys.Noise[0].Secret = secret.New([32]byte{}) }},
		{"keys.user_hash", func(c *deployment.Config) { c.Keys.UserHash = secret.New([32]byte{}) }},
		{"keys.user_hash", func(c *deployment.Config) { c.Keys.UserHash = c.Keys.Noise[0].Secret }},
		{"outputs.ledger", func(c *deployment.Config) { c.Outputs.Ledger = "events" }},
		{"metrics", func(c *deployment.Config) { c.Metrics = nil }},
		{"metrics.name", func(c *deployment.Config) { c.Metrics[0].Name = "" }},
		{"metrics.views", func(c *deployment.Config) { c.Metrics = append(c.Metrics, c.Metrics[0]) }},
		{"metrics.views.kind", func(c *deployment.Config) { c.Metrics[0].Kind = "median" }},
		{"metrics.views.window.size", func(c *deployment.Config) { c.Metrics[0].Window = 0 }},
		{"metrics.views.window.size", func(c *deployment.Config) { c.Metrics[0].Window = 1500 * time.Microsecond }},
		{"metrics.views.window.slide", func(c *deployment.Config) { c.Metrics[0].Slide = 7 * time.Millisecond }},
		{"metrics.views.window.slide", func(c *deployment.Config) { c.Metrics[0].Slide = c.Metrics[0].Window / 200 }},
		{"metrics", func(c *deployment.Config) {
			for i, ms := range []int{2003, 2011, 2017, 2027, 2029, 2039, 2053} {
				m := c.Metrics[0]
				m.Name, m.Window = fmt.Sprint("m", i), time.Duration(ms)*time.Millisecond
				c.Metrics = append(c.Metrics, m)
			}
		}},
		{"privacy.period", func(c *deployment.Config) { c.Privacy.Period, c.Privacy.Lasts = -time.Hour, 0 }},
		{"metrics.views.bounds", func(c *deployment.Config) { c.Metrics[0].Max = 1 }},
		{"metrics.views.bounds.max", deploytest.AsSum(func(m *deployment.Metric) { m.Max = 0 })},
		{"metrics.views.bounds.min", deploytest.AsSum(func(m *deployment.Metric) { m.Min = 101 })},
		{"metrics.views.bounds", deploytest.AsSum(func(m *deployment.Metric) { m.Max = 1 << 36 })},
		{"metrics.views.bounds", deploytest.AsSum(func(m *deployment.Metric) { m.Min, m.Target.Relative, m.Target.Absolute = math.MinInt64, 0, 1 })},
		{"metrics.views.target.relative", deploytest.AsSum(func(m *deployment.Metric) { m.Min = -1 })},
		{"metrics.views.keys", deploytest.AsSum(func(m *deployment.Metric) { m.Keys = deployment.Keys{Mode: deployment.KeysPrivate} })},
		{"events.fields.value", func(c *deployment.Config) { c.Metrics[0].Kind, c.Metrics[0].Max = "sum", 1 }},
		{"metrics.views.counted", func(c *deployment.Config) {
			c.Metrics[0].Counted = &deployment.Counted{}
			c.Metrics = append(c.Metrics, c.Metrics[0])
			c.Metrics[1].Name, c.Metrics[1].Counted = "views.counted", nil
		}},
		{"metrics.views.keys", func(c *deployment.Config) { c.Metrics[0].Keys.From = "views" }},
		{"metrics.views.keys.keys_from", func(c *deployment.Config) { c.Metrics[0].Keys = deployment.Keys{From: "views"} }},
		{"metrics.views.keys.keys_from", func(c *deployment.Config) { c.Metrics[0].Keys = deployment.Keys{From: "elsewhere"} }},
		{"metrics.views.max_keys_per_user", func(c *deployment.Config) { c.Metrics[0].MaxKeysPerUser = -1 }},
		{"metrics.views.max_events_per_key", func(c *deployment.Config) { c.Metrics[0].MaxEventsPerKey = -1 }},
		{"privacy", func(c *deployment.Config) { c.Privacy.Lasts = 0 }},
		{"privacy.lasts", func(c *deployment.Config) { c.Privacy.Lasts = -time.Hour }},
		{"privacy.lasts", func(c *deployment.Config) { c.Privacy.Period = time.Hour }},
		{"metrics.views.target.absolute", func(c *deployment.Config) { c.Metrics[0].Target.Absolute = math.Inf(1) }},
		{"metrics.views.target.noise", func(c *deployment.Config) { c.Metrics[0].Noise = 5 }},
		{"metrics.views.burst", func(c *deployment.Config) { c.Metrics[0].Burst = 1.5 }},
		{"metrics.views.counted.share", func(c *deployment.Config) { c.Metrics[0].Counted = &deployment.Counted{Share: 1} }},
		{"metrics.views.counted.max_events", func(c *deployment.Config) { c.Metrics[0].Counted = &deployment.Counted{MaxEvents: -1} }},
		{"metrics.views.counted", func(c *deployment.Config) {
			c.Metrics[0].Counted = &deployment.Counted{MaxEvents: 1 << 30, Share: 1e-6}
		}},
		{"metrics.views.share", func(c *deployment.Config) { c.Metrics[0].Share = 1.5 }},
		{"metrics.views.keys", func(c *deployment.Config) { c.Metrics[0].Keys.List = nil }},
		{"metrics.views.keys", func(c *deployment.Config) { c.Metrics[0].Keys.Mode = "secret" }},
		{"metrics.views.keys", func(c *deployment.Config) {
			c.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPrivate, List: []string{"a"}}
		}},
		{"metrics.views.target.confidence", func(c *deployment.Config) { c.Metrics[0].Target.Confidence = 1 }},
		{"metrics.views.target.relative", func(c *deployment.Config) { c.Metrics[0].Target.Relative = -1 }},
	} {
		cfg := deploytest.Config("localhost:1")
		test.change(&cfg)
		_, err := deployment.Compile(cfg)
		var bad *deployment.ConfigError
		if !errors.As(err, &bad) || bad.Field != test.field || bad.Reason == "" {
			t.Errorf("want an error about %s, got: %v", test.field, err)
		}
	}
}

// TestRuleDeltaKeysDefaultsToATenth: private keys take δ/10 unless told, and
// B² shrinks with it.
func TestRuleDeltaKeysDefaultsToATenth(t *testing.T) {
	cfg := deploytest.Config("localhost:1")
	public, err := deployment.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPrivate}
	private, err := deployment.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	want, err := budgets.NewBudget(1, 1e-6, budgets.GDP, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	if private.Budget != want || public.Budget.Mu2 <= want.Mu2 {
		t.Errorf("budgets %+v and %+v, want %+v for private keys", public.Budget, private.Budget, want)
	}
	if spec := &private.Metrics[0].Spec; spec.DeltaKey != want.KeyDelta(spec.First) || spec.DeltaKey.IsZero() {
		t.Errorf("an event of a key has δ = %v, want what it pays", spec.DeltaKey)
	}
}

func TestCatchUpIsAQuarterOfTheSlotsAtMost(t *testing.T) {
	for _, c := range []struct {
		turns, slots int
		ok           bool
	}{{0, 4, true}, {1, 4, true}, {2, 4, false}, {2, 7, false}, {2, 8, true}, {16, 64, true}, {17, 640, false}, {-1, 64, false}, {4, 15, false}} {
		cfg := deploytest.Config("localhost:1")
		cfg.CatchUp, cfg.LedgerSlots = c.turns, c.slots
		_, err := deployment.Compile(cfg)
		var bad *deployment.ConfigError
		if c.ok && err != nil || !c.ok && (!errors.As(err, &bad) || bad.Field != "catch_up") {
			t.Errorf("%d turns in %d slots: %v", c.turns, c.slots, err)
		}
	}
}

func TestRuleAPrintedConfigurationHasNoSecret(t *testing.T) {
	s := deployment.SASL{Mechanism: "plain", User: "alice", Password: secret.New("s3cret")}
	r := deployment.Registry{User: "alice", Password: secret.New("s3cret")}
	k := deployment.SecretKeys{Noise: []noisereduction.NoiseKey{{ID: "k", Secret: secret.New([32]byte{201, 202})}}, UserHash: secret.New([32]byte{201, 202})}
	for _, v := range []any{s, &s, r, &r, k, &k, deployment.Kafka{SASL: &s}, struct{ SASL deployment.SASL }{s}, deployment.Config{Keys: k}, struct{ k deployment.SecretKeys }{k}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			text := fmt.Sprintf(verb, v)
			for _, part := range []string{"s3cret", "733363726574", "201 202", "c9ca", "0xc9, 0xca"} {
				if strings.Contains(text, part) {
					t.Errorf("%s: %s", verb, text)
				}
			}
		}
	}
}
