package pipeline

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/state"
)

// TestCompileRefusesWhatCannotBe: every impossible value names its field.
func TestCompileRefusesWhatCannotBe(t *testing.T) {
	for _, test := range []struct {
		field  string
		change func(c *Config)
	}{
		{"kafka.brokers", func(c *Config) { c.Kafka.Brokers = nil }},
		{"events.topic", func(c *Config) { c.Events.Topic = "" }},
		{"events.user", func(c *Config) { c.Events.Format.User = "" }},
		{"privacy", func(c *Config) { c.Privacy.Epsilon = 0 }},
		{"privacy", func(c *Config) { c.Privacy.Epsilon = math.NaN() }},
		{"privacy", func(c *Config) { c.Privacy.Delta = 0 }},
		{"privacy", func(c *Config) { c.Privacy.Delta = 1 }},
		{"privacy.accountant", func(c *Config) { c.Privacy.Accountant = "renyi" }},
		{"privacy", func(c *Config) { c.Privacy.DeltaKeys = 1e-6 }}, // all of δ
		{"privacy", func(c *Config) { c.Privacy.DeltaKeys = -1e-7 }},
		{"time.trust", func(c *Config) { c.Time.Trust = "nobody" }},
		{"time.slack", func(c *Config) { c.Time.Slack = time.Second }},
		{"time.lateness", func(c *Config) { c.Time.Lateness = -time.Second }},
		{"time.skew", func(c *Config) { c.Time.Skew = time.Microsecond }},
		{"shards", func(c *Config) { c.Shards = -1 }},
		{"release_shards", func(c *Config) { c.ReleaseShards = 1 << 20 }},
		{"ledger_slots", func(c *Config) { c.LedgerSlots = 3 }},
		{"keys.noise", func(c *Config) { c.Keys.Noise = nil }},
		{"keys.noise", func(c *Config) { c.Keys.Noise[0].Secret = [32]byte{} }},
		{"keys.user_hash", func(c *Config) { c.Keys.UserHash = [32]byte{} }},
		{"keys.user_hash", func(c *Config) { c.Keys.UserHash = c.Keys.Noise[0].Secret }},
		{"outputs", func(c *Config) { c.Outputs.Ledger = "events" }},
		{"metrics", func(c *Config) { c.Metrics = nil }},
		{"metrics.name", func(c *Config) { c.Metrics[0].Name = "" }},
		{"metrics.views", func(c *Config) { c.Metrics = append(c.Metrics, c.Metrics[0]) }},
		{"metrics.views.kind", func(c *Config) { c.Metrics[0].Kind = "median" }},
		{"metrics.views.window.size", func(c *Config) { c.Metrics[0].Window = 0 }},
		{"metrics.views.window.size", func(c *Config) { c.Metrics[0].Window = 1500 * time.Microsecond }},
		{"metrics.views.window.slide", func(c *Config) { c.Metrics[0].Slide = 7 * time.Millisecond }},
		{"metrics.views.window.slide", func(c *Config) { c.Metrics[0].Slide = c.Metrics[0].Window / 200 }},
		{"metrics.window", func(c *Config) {
			for i, ms := range []int{2003, 2011, 2017, 2027, 2029, 2039, 2053} {
				m := c.Metrics[0]
				m.Name, m.Window = fmt.Sprint("m", i), time.Duration(ms)*time.Millisecond
				c.Metrics = append(c.Metrics, m)
			}
		}},
		{"privacy.period", func(c *Config) { c.Privacy.Period = -time.Hour }},
		{"metrics.views.bounds", func(c *Config) { c.Metrics[0].Max = 1 }},
		{"metrics.views.bounds.max", asSum(func(m *Metric) { m.Max = 0 })},
		{"metrics.views.bounds.min", asSum(func(m *Metric) { m.Min = 101 })},
		{"metrics.views.bounds", asSum(func(m *Metric) { m.Max = 1 << 36 })},
		{"metrics.views.bounds", asSum(func(m *Metric) { m.Min, m.Target.Relative, m.Target.Absolute = math.MinInt64, 0, 1 })},
		{"metrics.views.target.relative", asSum(func(m *Metric) { m.Min = -1 })},
		{"metrics.views.keys", asSum(func(m *Metric) { m.Keys = Keys{Mode: KeysPrivate} })},
		{"events.fields.value", func(c *Config) { c.Metrics[0].Kind, c.Metrics[0].Max = "sum", 1 }},
		{"metrics.views.coverage.share", func(c *Config) { c.Metrics[0].Coverage = &Coverage{Share: 1} }},
		{"metrics.views.coverage", func(c *Config) {
			c.Metrics[0].Coverage = &Coverage{}
			c.Metrics = append(c.Metrics, c.Metrics[0])
			c.Metrics[1].Name, c.Metrics[1].Coverage = "views.coverage", nil
		}},
		{"metrics.views.keys", func(c *Config) { c.Metrics[0].Keys.From = "views" }},
		{"metrics.views.keys.keys_from", func(c *Config) { c.Metrics[0].Keys = Keys{From: "views"} }},
		{"metrics.views.keys.keys_from", func(c *Config) { c.Metrics[0].Keys = Keys{From: "elsewhere"} }},
		{"metrics.views.max_keys_per_user", func(c *Config) { c.Metrics[0].MaxKeysPerUser = -1 }},
		{"metrics.views.max_events_per_key", func(c *Config) { c.Metrics[0].MaxEventsPerKey = -1 }},
		{"metrics.views.last_at_least", func(c *Config) { c.Metrics[0].LastAtLeast = 0 }},
		{"metrics.views.last_at_least", func(c *Config) { c.Metrics[0].LastAtLeast = math.MaxInt64 }},
		{"metrics.views.ladder.sigma", func(c *Config) { c.Metrics[0].Ladder.Sigma = math.Inf(1) }},
		{"metrics.views.ladder", func(c *Config) { c.Metrics[0].Ladder.Sigma = 0.01 }}, // nobody can pay
		{"metrics.views.ladder", func(c *Config) { c.Metrics[0].Ladder.FirstSigma = 0.5 }},
		{"metrics.views.share", func(c *Config) { c.Metrics[0].Share = 1.5 }},
		{"metrics.views.keys", func(c *Config) { c.Metrics[0].Keys.List = nil }},
		{"metrics.views.keys", func(c *Config) { c.Metrics[0].Keys.Mode = "secret" }},
		{"metrics.views.keys", func(c *Config) { c.Metrics[0].Keys = Keys{Mode: KeysPrivate, List: []string{"a"}} }},
		{"metrics.views", func(c *Config) { c.Metrics[0].Target.Confidence = 1 }},
		{"metrics.views", func(c *Config) { c.Metrics[0].Target.Relative = -1 }},
	} {
		cfg := testConfig("localhost:1")
		test.change(&cfg)
		_, err := Compile(cfg)
		var bad *ConfigError
		if !errors.As(err, &bad) || bad.Field != test.field || bad.Reason == "" {
			t.Errorf("want an error about %s, got: %v", test.field, err)
		}
	}
}

func asSum(change func(m *Metric)) func(c *Config) {
	return func(c *Config) {
		c.Events.Format.Value = "price"
		m := &c.Metrics[0]
		m.Kind, m.Max, m.Target.Relative, m.MaxEventsPerKey = "sum", 100, 0.1, 2
		change(m)
	}
}

// TestRuleDeltaKeysDefaultsToATenth: private keys take δ/10 unless told, and
// B² shrinks with it (definitions.md).
func TestRuleDeltaKeysDefaultsToATenth(t *testing.T) {
	cfg := testConfig("localhost:1")
	public, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Metrics[0].Keys = Keys{Mode: KeysPrivate}
	private, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	want, err := state.NewBudget(1, 1e-6, state.GDP, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	if private.Budget != want || public.Budget.Mu2 <= want.Mu2 {
		t.Errorf("budgets %+v and %+v, want %+v for private keys", public.Budget, private.Budget, want)
	}
	if spent := private.Metrics[0].Spec.DeltaKey.Float() * 5 * 2; spent > 1e-7 || spent < 0.999e-7 {
		t.Errorf("five windows of two keys spend δ = %g, want 1e-7 at most", spent)
	}
}

// TestRuleLastAtLeastIsPaidInWholeUnits: N windows at the bounds fit the
// budget although every charge is rounded up on its own.
func TestRuleLastAtLeastIsPaidInWholeUnits(t *testing.T) {
	for _, n := range []int{1, 7, 100, 5000} {
		for _, k := range []int{1, 4, 9} {
			for _, c := range []int{1, 3, 10, 1000} {
				cfg := testConfig("localhost:1")
				cfg.Metrics[0].LastAtLeast, cfg.Metrics[0].MaxKeysPerUser, cfg.Metrics[0].MaxEventsPerKey = n, k, c
				d, err := Compile(cfg)
				if err != nil {
					t.Fatal(err)
				}
				charge, ok := state.Charge(uint64(c), d.Metrics[0].Spec.Top)
				total := uint64(charge) * uint64(n*k)
				if !ok || total > uint64(d.Budget.Mu2) {
					t.Errorf("N=%d K=%d C=%d: %d units of %d", n, k, c, total, d.Budget.Mu2)
				}
				if unused := uint64(d.Budget.Mu2) - total; unused > uint64(2*n*k) {
					t.Errorf("N=%d K=%d C=%d: %d units are left unused", n, k, c, unused)
				}
			}
		}
	}
}

func TestSharesAddUp(t *testing.T) {
	cfg := testConfig("localhost:1")
	other := cfg.Metrics[0]
	other.Name = "other"
	cfg.Metrics = append(cfg.Metrics, other)
	d, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var total uint64
	for _, m := range d.Metrics {
		charge, _ := state.Charge(3, m.Spec.Top)
		total += uint64(charge) * 5 * 2
	}
	if total > uint64(d.Budget.Mu2) || total < uint64(d.Budget.Mu2)-100 {
		t.Errorf("both metrics together cost %d of %d units", total, d.Budget.Mu2)
	}
	cfg.Metrics[0].Share, cfg.Metrics[1].Share = 0.7, 0.4
	if _, err := Compile(cfg); err == nil {
		t.Error("shares of 0.7 and 0.4 were accepted")
	}
}

// Snapshots carry the slices of open windows: with long windows they are rarer.
func TestLongWindowsGetMoreLedgerSlots(t *testing.T) {
	for _, c := range []struct {
		sizes, slides []time.Duration
		want          int
	}{
		{[]time.Duration{time.Minute}, []time.Duration{0}, 64},
		{[]time.Duration{24 * time.Hour}, []time.Duration{0}, 64},
		{[]time.Duration{24 * time.Hour, time.Minute}, []time.Duration{0, 0}, 360},
		{[]time.Duration{time.Hour}, []time.Duration{time.Minute}, 64},
		{[]time.Duration{30 * 24 * time.Hour, time.Minute}, []time.Duration{0, 0}, 1024},
	} {
		cfg := Config{}
		for i := range c.sizes {
			cfg.Metrics = append(cfg.Metrics, Metric{Window: c.sizes[i], Slide: c.slides[i]})
		}
		if got := cfg.withDefaults().LedgerSlots; got != c.want {
			t.Errorf("windows of %v: %d slots, want %d", c.sizes, got, c.want)
		}
		cfg.LedgerSlots = 10
		if got := cfg.withDefaults().LedgerSlots; got != 10 {
			t.Errorf("10 slots became %d", got)
		}
	}
}
