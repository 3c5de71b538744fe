package integration

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

func TestRuleWhatAPromiseRestsOnNeverChanges(t *testing.T) {
	broker := startBroker(t)
	d := newDeployment(t, broker, "never", 1)
	never := func(d *deployment, what string, change settings) {
		t.Helper()
		_, err := d.tryChange(crashpoint.Hooks{}, change)
		if !errors.Is(err, pipeline.ErrHeaderMismatch) || !strings.Contains(err.Error(), what) {
			t.Errorf("want an error that says %q: %v", what, err)
		}
	}
	for what, change := range map[string]settings{
		"never weaker":             func(c *pipeline.Config) { c.Privacy.Epsilon *= 2 },
		"the accountant":           func(c *pipeline.Config) { c.Privacy.Accountant = "zcdp" },
		"the budget period":        periodOf(time.Hour),
		"the position of the user": func(c *pipeline.Config) { c.Events.Format.User = "person" },
		"the user-hash key":        func(c *pipeline.Config) { c.Keys.UserHash = secret.New([32]byte{9}) },
		"the events topic":         func(c *pipeline.Config) { c.Events.Topic += "-other" },
		"give it a new name":       func(c *pipeline.Config) { c.Metrics[0].Filter = "true" },
		"new, empty ledger":        func(c *pipeline.Config) { c.Shards++ },
		"new, empty counts":        func(c *pipeline.Config) { c.ReleaseShards++ },
		"this id belongs to": func(c *pipeline.Config) {
			c.Keys.Noise = []noisereduction.NoiseKey{{ID: "k1", Secret: secret.New([32]byte{77})}}
		},
		"with another id": func(c *pipeline.Config) {
			c.Keys.Noise = []noisereduction.NoiseKey{{ID: "k7", Secret: secret.New([32]byte{1, 7, 9})}}
		},
		"or whether events of the future count cannot be changed (time.no_future": func(c *pipeline.Config) { c.Time.NoFuture = true },
		"or whether events of the future count cannot be changed (time.trust":     func(c *pipeline.Config) { c.Time.Trust = pipeline.TrustBroker },
		"the deployment's name":                                        func(c *pipeline.Config) { c.Deployment += "-more" },
		"what was spent on choosing bounds":                            func(c *pipeline.Config) { c.Privacy.Planned = 0.1 },
		"cannot be changed (window.size: in force 10s, configured 20s": func(c *pipeline.Config) { c.Metrics[1].Window *= 2 },
	} {
		never(d, what, change)
	}
	never(newDeployment(t, broker, "never-period", 1, periodOf(time.Hour)), "the position of the time in a record, or its unit cannot be changed",
		func(c *pipeline.Config) {
			c.Events.Format.TimeUnit = "s"
			for i := range c.Metrics {
				c.Metrics[i].Name += "-by-seconds"
			}
		})
	// A name never comes back as something else, and a key never serves again.
	d.load(spread(calm(3).arrivals(), 1))
	d.runTurns(2)
	original := d.config
	d.change(func(c *pipeline.Config) { c.Metrics = c.Metrics[1:] },
		func(c *pipeline.Config) {
			c.Keys.Noise = []noisereduction.NoiseKey{{ID: "k2", Secret: secret.New([32]byte{2})}}
		})
	_, err := d.tryChange(crashpoint.Hooks{}, func(c *pipeline.Config) {
		back := original.Metrics[0]
		back.Kind, back.MaxEventsPerKey = metrickind.DistinctUsers, 1
		c.Metrics = append(c.Metrics, back)
	})
	if !errors.Is(err, pipeline.ErrHeaderMismatch) || !strings.Contains(err.Error(), "new name") {
		t.Errorf("a name came back as something else: %v", err)
	}
	_, err = d.tryChange(crashpoint.Hooks{}, func(c *pipeline.Config) { c.Keys = original.Keys })
	if !errors.Is(err, pipeline.ErrHeaderMismatch) || !strings.Contains(err.Error(), "it served earlier turns") {
		t.Errorf("a key came back: %v", err)
	}
	d.change(func(c *pipeline.Config) { c.Metrics = append(c.Metrics, original.Metrics[0]) })
	d.run()
	d.verify()
}
