package deployment_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// A setting that can release nothing gives a warning at the field that causes it, and the value
// that the warning proposes ends it.
func TestSettingsThatReleaseNothingGiveAWarning(t *testing.T) {
	hourly := func(change func(c *deployment.Config, m *deployment.Metric)) deployment.Config {
		c := deploytest.Config("localhost:1")
		c.Metrics = []deployment.Metric{{Name: "m", Window: time.Hour, LastAtLeast: 168, Target: noisereduction.Target{Relative: 0.1, Confidence: 0.95}}}
		change(&c, &c.Metrics[0])
		return c
	}
	public := deployment.Keys{Mode: deployment.KeysPublic, List: []string{"a", "b"}}
	for name, test := range map[string]struct {
		cfg         deployment.Config
		field, says string
	}{
		"threshold":  {hourly(func(_ *deployment.Config, m *deployment.Metric) { m.LastAtLeast = 1e9 }), "last_at_least", "released with a count above"},
		"vague":      {hourly(func(_ *deployment.Config, m *deployment.Metric) { m.LastAtLeast, m.Keys = 6e10, public }), "last_at_least", "an error of ±"},
		"epsilon":    {hourly(func(c *deployment.Config, m *deployment.Metric) { c.Privacy.Epsilon, m.LastAtLeast = 1e-5, 1 }), "last_at_least", "privacy.epsilon: "},
		"first rung": {hourly(func(_ *deployment.Config, m *deployment.Metric) { m.Ladder.FirstSigma = 1e6 }), "ladder.first_sigma", "leaving ladder.first_sigma"},
		"cap":        {hourly(func(_ *deployment.Config, m *deployment.Metric) { m.Ladder.Sigma, m.Keys = 1e6, public }), "ladder.sigma", "an error of ±"},
		"target": {hourly(func(_ *deployment.Config, m *deployment.Metric) {
			m.Target, m.Keys = noisereduction.Target{Absolute: 5, Confidence: 0.95}, public
		}), "target.absolute", "no count can meet it"},
		"a lifetime": {hourly(func(_ *deployment.Config, m *deployment.Metric) {
			m.Window, m.Keys, m.LastAtLeast = 24*time.Hour, public, 100_000
		}), "last_at_least", "274 years"},
		"a filter": {hourly(func(c *deployment.Config, m *deployment.Metric) {
			c.Events.Format.Format, c.Events.Format.Columns, m.Filter = "csv", []string{"user", "key", "time", "status"}, `status == "200"`
		}), "filter", `"status" never equals "200"`},
		"a dear cap": {hourly(func(_ *deployment.Config, m *deployment.Metric) {
			m.Ladder.Sigma, m.Keys, m.MaxEventsPerKey, m.LastAtLeast = 5, public, 10, 0
		}), "ladder.sigma", "never counts: set"},
	} {
		d, err := deployment.Compile(test.cfg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := deployment.Warnings(d)
		if len(all) != 1 || all[0].Field != "metrics.m."+test.field || !strings.Contains(all[0].Reason, test.says) {
			t.Errorf("%s: warnings %v", name, all)
			continue
		}
		if d, err = deployment.Compile(proposed(t, test.cfg, all[0].Reason)); err != nil {
			t.Errorf("%s: %v, and then: %v", name, all, err)
		} else if left := deployment.Warnings(d); len(left) != 0 {
			t.Errorf("%s: %v, and then: %v", name, all, left)
		}
	}
	d, err := deployment.Compile(hourly(func(*deployment.Config, *deployment.Metric) {}))
	if err != nil {
		t.Fatal(err)
	}
	if all := deployment.Warnings(d); len(all) != 0 {
		t.Errorf("a week of hours gets a warning: %v", all)
	}
}

// A user field that is the time or the value as well makes every event a user of its own.
func TestAUserFieldThatChangesWithTheEventIsDoubted(t *testing.T) {
	for _, test := range []struct {
		user  string
		warns bool
	}{{"who", false}, {"page", false}, {"at", true}, {"cents", true}} {
		c := deploytest.Config("localhost:1")
		c.Events.Format = event.Format{Format: "jsonl", User: test.user, Key: "page", Time: "at", TimeUnit: "ms", Value: "cents"}
		d, err := deployment.Compile(c)
		if err != nil {
			t.Fatal(err)
		}
		all := deployment.Warnings(d)
		if (len(all) > 0) != test.warns || test.warns && (all[0].Field != "events.user" || !strings.Contains(all[0].Reason, "name the field with the person's id")) {
			t.Errorf("user %s: warnings %v", test.user, all)
		}
	}
}

// proposed returns the configuration with the first value that a reason proposes.
func proposed(t *testing.T, cfg deployment.Config, reason string) deployment.Config {
	t.Helper()
	m := &cfg.Metrics[0]
	if strings.Contains(reason, "leaving ladder.first_sigma") {
		m.Ladder.FirstSigma = 0
		return cfg
	}
	if strings.Contains(reason, "without quotes") {
		m.Filter = strings.ReplaceAll(m.Filter, `"`, "")
		return cfg
	}
	found := regexp.MustCompile(`(last_at_least|absolute|ladder\.sigma|privacy\.epsilon): ([0-9.e+-]+)`).FindStringSubmatch(reason)
	if found == nil {
		t.Fatalf("nothing is proposed: %s", reason)
	}
	value, err := strconv.ParseFloat(found[2], 64)
	if err != nil {
		t.Fatal(err)
	}
	switch found[1] {
	case "last_at_least":
		m.LastAtLeast = int(value)
	case "absolute":
		m.Target.Absolute = value
	case "ladder.sigma":
		m.Ladder.Sigma = value
	case "privacy.epsilon":
		cfg.Privacy.Epsilon = value
	}
	return cfg
}
