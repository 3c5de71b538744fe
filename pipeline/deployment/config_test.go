package deployment_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// TestCompileRefusesInvalidValues: every invalid value names its field.
func TestCompileRefusesInvalidValues(t *testing.T) {
	relative := noisereduction.Target{Relative: 0.1, Confidence: 0.95}
	asMean := func(change func(m *deployment.Metric)) func(c *deployment.Config) {
		return func(c *deployment.Config) {
			c.Events.Format.Value, c.Privacy.Lasts, c.Metrics = "value", 24*time.Hour,
				[]deployment.Metric{meanFrom(0, 100, 1)}
			change(&c.Metrics[0])
		}
	}
	for _, test := range []struct {
		field  string
		change func(c *deployment.Config)
	}{
		{"Kafka.Brokers", func(c *deployment.Config) { c.Kafka.Brokers = nil }},
		{"Kafka.Brokers", func(c *deployment.Config) { c.Kafka.Brokers = []string{} }},
		{"Events.Topic", func(c *deployment.Config) { c.Events.Topic = "" }},
		{"Events.Format.User", func(c *deployment.Config) { c.Events.Format.User = "" }},
		{"Privacy.Epsilon", func(c *deployment.Config) { c.Privacy.Epsilon = math.NaN() }},
		{"Privacy.Accountant", func(c *deployment.Config) { c.Privacy.Accountant = "renyi" }},
		{"Privacy.DeltaKeys", func(c *deployment.Config) { c.Privacy.DeltaKeys = 1e-6 }}, // all of δ
		{"Time.Trust", func(c *deployment.Config) { c.Time.Trust = "nobody" }},
		{"Time.Slack", func(c *deployment.Config) { c.Time.Slack = time.Second }},
		{"Time.Skew", func(c *deployment.Config) { c.Time.Skew = time.Microsecond }},
		{"Keys.Noise.ID", func(c *deployment.Config) { c.Keys.Noise.ID = strings.Repeat("k", 65) }},
		{"Keys.Noise.Secret", func(c *deployment.Config) { c.Keys.Noise.Secret = secret.New([32]byte{}) }},
		{"Keys.UserHash", func(c *deployment.Config) { c.Keys.UserHash = secret.New([32]byte{}) }},
		{"Keys.UserHash", func(c *deployment.Config) { c.Keys.UserHash = c.Keys.Noise.Secret }},
		{"Outputs.Ledger", func(c *deployment.Config) { c.Outputs.Ledger = "events" }},
		{"Metrics", func(c *deployment.Config) { c.Metrics = nil }},
		{"Metrics[0].Name", func(c *deployment.Config) { c.Metrics[0].Name = "" }},
		{"Metrics[1].Name", func(c *deployment.Config) { c.Metrics = append(c.Metrics, c.Metrics[0]) }},
		{"Metrics[0].Kind", func(c *deployment.Config) { c.Metrics[0].Kind = "median" }},
		{"Metrics[0].Window", func(c *deployment.Config) { c.Metrics[0].Window = 1500 * time.Microsecond }},
		{"Metrics[0].Slide", func(c *deployment.Config) { c.Metrics[0].Slide = 7 * time.Millisecond }},
		{"Metrics[0].Slide", func(c *deployment.Config) { c.Metrics[0].Slide = c.Metrics[0].Window / 200 }},
		{"Metrics", func(c *deployment.Config) {
			for i, ms := range []int{2003, 2011, 2017, 2027, 2029, 2039, 2053} {
				m := c.Metrics[0]
				m.Name, m.Window = fmt.Sprint("m", i), time.Duration(ms)*time.Millisecond
				c.Metrics = append(c.Metrics, m)
			}
		}},
		{"Metrics[0].Max", func(c *deployment.Config) { c.Metrics[0].Max = 1 }},
		{"Metrics[0].Max", deploytest.AsSum(func(m *deployment.Metric) { m.Max = 0 })},
		{"Metrics[0].Min", deploytest.AsSum(func(m *deployment.Metric) { m.Min = 101 })},
		{"Metrics[0].Max", deploytest.AsSum(func(m *deployment.Metric) { m.Max = 1 << 36 })},
		{"Metrics[0].Max", deploytest.AsSum(func(m *deployment.Metric) {
			m.Min, m.Target.Relative, m.Target.Absolute = math.MinInt64, 0, 1
		})},
		{"Metrics[0].Target.Relative", deploytest.AsSum(func(m *deployment.Metric) { m.Min = -1 })},
		{"Metrics[0].Keys", deploytest.AsSum(func(m *deployment.Metric) {
			m.Keys = deployment.Keys{Mode: deployment.KeysPrivate}
		})},
		{"Events.Format.Value", func(c *deployment.Config) { c.Metrics[0].Kind, c.Metrics[0].Max = "sum", 1 }},
		{"Metrics[0].Counted", func(c *deployment.Config) {
			c.Metrics[0].Counted = &deployment.Counted{}
			c.Metrics = append(c.Metrics, c.Metrics[0])
			c.Metrics[1].Name, c.Metrics[1].Counted = "views.counted", nil
		}},
		{"Metrics[0].Keys", func(c *deployment.Config) { c.Metrics[0].Keys.From = "views" }},
		{"Metrics[0].Keys.From", func(c *deployment.Config) { c.Metrics[0].Keys = deployment.Keys{From: "views"} }},
		{"Metrics[0].Keys.From", func(c *deployment.Config) { c.Metrics[0].Keys = deployment.Keys{From: "elsewhere"} }},
		{"Privacy", func(c *deployment.Config) { c.Privacy.Lasts = 0 }},
		{"Privacy.Lasts", func(c *deployment.Config) { c.Privacy.Period = time.Hour }},
		{"Metrics[0].Target.Absolute", func(c *deployment.Config) { c.Metrics[0].Target.Absolute = math.Inf(1) }},
		{"Metrics[0].Noise", func(c *deployment.Config) { c.Metrics[0].Noise = 5 }},
		{"Metrics[0].Counted", func(c *deployment.Config) {
			c.Metrics[0].Counted = &deployment.Counted{MaxEvents: 1 << 30, Share: 1e-6}
		}},
		{"Metrics[0].Keys", func(c *deployment.Config) { c.Metrics[0].Keys.List = nil }},
		{"Metrics[0].Target.Relative", asMean(func(m *deployment.Metric) { m.Target = relative })},
		{"Metrics[0].Max", asMean(func(m *deployment.Metric) { m.Min, m.Max = 5, 5 })},
		{"Metrics[0].Max", asMean(func(m *deployment.Metric) { m.Max, m.MaxEventsPerKey = 35_000_000, 1000 })},
		{"Metrics[0].Max", asMean(func(m *deployment.Metric) {
			m.Max, m.Noise, m.Target.Absolute = 1<<34, 1e6, 1<<30
		})},
		{"Metrics[0].Max", asMean(func(m *deployment.Metric) {
			m.Kind, m.Max, m.MaxEventsPerKey = metrickind.StandardDeviation, 5862, 1000
		})},
		{"Metrics[0].Target", asMean(func(m *deployment.Metric) { m.Target.Absolute = 1e-5 })},
		{"Metrics[0].Target.Relative", asMean(func(m *deployment.Metric) {
			m.Kind, m.Min, m.Target = metrickind.Variance, 10, relative
		})},
		{"Metrics[0].Target.Relative", asMean(func(m *deployment.Metric) {
			m.Kind, m.Target.Relative = metrickind.StandardDeviation, 0.1
		})},
		{"Metrics[0].Target.Relative", asMean(func(m *deployment.Metric) { m.Min, m.Target.Relative = 10, 1e-9 })},
		{"Metrics[0].Target.Absolute", asMean(func(m *deployment.Metric) { m.Target.Absolute = 1e300 })},
		{"Metrics[0].Keys.Mode", func(c *deployment.Config) { c.Metrics[0].Keys.Mode = "secret" }},
		{"Metrics[0].Keys", func(c *deployment.Config) {
			c.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPrivate, List: []string{"a"}}
		}},
	} {
		cfg := deploytest.Config("localhost:1")
		test.change(&cfg)
		_, err := deployment.Compile(cfg)
		var bad *deployment.ConfigError
		if !errors.As(err, &bad) || bad.Field != test.field || bad.Reason(deployment.Setting.String) == "" {
			t.Errorf("want an error about %s, got: %v", test.field, err)
		}
	}
	above := meanFrom(10, 100, 1)
	above.Target = relative
	if _, err := compile(above); err != nil {
		t.Errorf("a mean of values from 10 on has no relative error: %v", err)
	}
}

// A value outside of the range that the table has for a field is refused.
func TestEveryRangeIsChecked(t *testing.T) {
	var check func(fields []settings.Field)
	check = func(fields []settings.Field) {
		for i := range fields {
			f := &fields[i]
			check(f.Fields)
			if f.In == nil || f.Kind == settings.Numbers {
				continue
			}
			for _, v := range []float64{f.In.Low - 1, f.In.Low, f.In.High, 2*f.In.High + 1, math.NaN()} {
				if f.In.Contains(v) || v == 0 && !f.Required || (math.IsNaN(v) || math.IsInf(v, 0)) &&
					f.Kind != settings.Number {
					continue
				}
				cfg := deploytest.Config("localhost:1")
				cfg.Metrics[0].Counted = &deployment.Counted{}
				to, _ := settings.Value(reflect.ValueOf(&cfg).Elem(), f.Path, 0)
				if to.CanFloat() {
					to.SetFloat(v)
				} else {
					to.SetInt(int64(v))
				}
				_, err := deployment.Compile(cfg)
				var bad *deployment.ConfigError
				if !errors.As(err, &bad) || bad.Field != strings.Replace(f.Path, "Metrics.", "Metrics[0].", 1) {
					t.Errorf("%s of %v: %v", f.Path, v, err)
				}
			}
		}
	}
	check(settings.Table())
}

// TestRuleDeltaKeysDefaultsToATenth: private keys take δ/10 by default, and B² shrinks with it.
func TestRuleDeltaKeysDefaultsToATenth(t *testing.T) {
	cfg := deploytest.Config("localhost:1")
	public := must.Have(deployment.Compile(cfg))
	cfg.Metrics[0].Keys = deployment.Keys{Mode: deployment.KeysPrivate}
	private := must.Have(deployment.Compile(cfg))
	want := must.Have(budgets.NewBudget(1, 1e-6, budgets.GDP, 1e-7))
	if private.Budget != want || public.Budget.Mu2 <= want.Mu2 {
		t.Errorf("budgets %+v and %+v, want %+v for private keys", public.Budget, private.Budget, want)
	}
	if spec := &private.Metrics[0].Spec; spec.DeltaKey != want.KeyDelta(spec.First) || spec.DeltaKey.IsZero() {
		t.Errorf("an event of a key has δ = %v, want what it pays", spec.DeltaKey)
	}
}

// A Go program that leaves a field out has what a file has that does.
func TestALeftOutFieldHasTheDefaultOfFiles(t *testing.T) {
	cfg := deploytest.Config("localhost:1")
	cfg.Metrics[0].Target.Confidence, cfg.Metrics[0].Keys.Mode = 0, ""
	cfg.Metrics[0].Counted = &deployment.Counted{}
	d := must.Have(deployment.Compile(cfg))
	want := noisereduction.Target{Relative: 0.05, Confidence: 0.95}
	m := &d.Config.Metrics[0]
	if m.Target.Confidence != 0.95 || m.Keys.Mode != deployment.KeysPublic || m.Counted.Target != want ||
		m.Counted.Share != 0.05 || m.Burst != 0.5 {
		t.Errorf("%+v, %+v", m, m.Counted)
	}
	if given := &cfg.Metrics[0]; given.Burst != 0 || given.Counted.Share != 0 {
		t.Errorf("the caller's metric was changed: %+v, %+v", given, given.Counted)
	}
}

// The longest window of a file, beside a period, is more nanoseconds than an int64 has.
func TestAWindowOfCenturiesCompiles(t *testing.T) {
	cfg := deploytest.Config("localhost:1")
	cfg.Metrics[0].Window, cfg.Metrics[0].Slide = 106751*24*time.Hour, 0
	cfg.Metrics[0].Counted = &deployment.Counted{}
	if _, err := deployment.Compile(cfg); err != nil {
		t.Error(err)
	}
}

func TestRuleAPrintedConfigurationHasNoSecret(t *testing.T) {
	s := deployment.SASL{Mechanism: "plain", User: "alice", Password: secret.New("s3cret")}
	r := deployment.Registry{User: "alice", Password: secret.New("s3cret")}
	k := deployment.SecretKeys{Noise: noisereduction.NoiseKey{ID: "k", Secret: secret.New([32]byte{201, 202})},
		UserHash: secret.New([32]byte{201, 202})}
	for _, v := range []any{s, &s, r, &r, k, &k, deployment.Kafka{SASL: &s}, struct{ SASL deployment.SASL }{s},
		deployment.Config{Keys: k}, struct{ k deployment.SecretKeys }{k}} {
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
