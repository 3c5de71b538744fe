package changes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// changed is the header of a deployment of two metrics after changes.
func changed(t *testing.T, edits ...func(*deployment.Config)) *schemas.Header {
	t.Helper()
	cfg := deploytest.Config("localhost:1")
	second := cfg.Metrics[0]
	second.Name = "pages"
	cfg.Metrics = append(cfg.Metrics, second)
	for _, edit := range edits {
		edit(&cfg)
	}
	d := must.Have(deployment.Compile(cfg))
	h := Header(d)
	return &h
}

func noiseKey(id string, key byte) func(*deployment.Config) {
	return func(c *deployment.Config) {
		c.Keys.Noise = noisereduction.NoiseKey{ID: id, Secret: secret.New([32]byte{key})}
	}
}

// refused fails the test unless a change can never be, and the reason contains a text.
func refused(t *testing.T, h, want *schemas.Header, says string) {
	t.Helper()
	all := Differences(h, want)
	if !slices.ContainsFunc(all, func(d Difference) bool {
		return strings.Contains(d.What+d.Never+d.Detail(), says)
	}) || len(all) == 0 || all[0].Never == "" {
		t.Errorf("want a refusal that says %q: %+v", says, all)
	}
}

func TestRuleWhatAPromiseRestsOnNeverChanges(t *testing.T) {
	h := changed(t, noiseKey("k1", 1))
	hourly := func(c *deployment.Config) { c.Privacy.Period, c.Privacy.Lasts = time.Hour, 0 }
	for says, edit := range map[string]func(*deployment.Config){
		"never weaker":               func(c *deployment.Config) { c.Privacy.Epsilon *= 2 },
		"the accountant":             func(c *deployment.Config) { c.Privacy.Accountant = "zcdp" },
		"the budget period":          hourly,
		"the position of the user":   func(c *deployment.Config) { c.Events.Format.User = "person" },
		"the user-hash key":          func(c *deployment.Config) { c.Keys.UserHash = secret.New([32]byte{9}) },
		"the events topic":           func(c *deployment.Config) { c.Events.Topic += "-other" },
		"give the metric a new name": func(c *deployment.Config) { c.Metrics[0].Filter = "true" },
		"new, empty ledger":          func(c *deployment.Config) { c.Shards++ },
		"new, empty counts":          func(c *deployment.Config) { c.ReleaseShards = 3 },
		"this id belongs to":         noiseKey("k1", 77),
		"with another id":            noiseKey("k7", 1),
		"time.no_future":             func(c *deployment.Config) { c.Time.AcceptFuture = !c.Time.AcceptFuture },
		"time.trust":                 func(c *deployment.Config) { c.Time.Trust = deployment.TrustBroker },
		"the deployment's name":      func(c *deployment.Config) { c.Deployment += "-more" },
		"choosing bounds":            func(c *deployment.Config) { c.Privacy.Planned = 0.1 },
		"window.size":                func(c *deployment.Config) { c.Metrics[1].Window *= 2 },
	} {
		refused(t, h, changed(t, noiseKey("k1", 1), edit), says)
	}
	refused(t, changed(t, hourly), changed(t, hourly, func(c *deployment.Config) {
		c.Events.Format.TimeUnit = "s"
		c.Metrics[0].Name, c.Metrics[1].Name = "by-seconds", "pages-by-seconds"
	}), "the position of the time in a record")
	// Another user-hash key is for a period that begins, and for a new ledger.
	another := func(c *deployment.Config) { hourly(c); c.Keys.UserHash = secret.New([32]byte{9}) }
	refused(t, changed(t, hourly), changed(t, another), "a new, empty ledger topic")
	if all := Differences(changed(t, hourly), changed(t, another, func(c *deployment.Config) {
		c.Outputs.Ledger = "ledger-2"
	})); len(all) == 0 || all[0].Never != "" {
		t.Errorf("another user-hash key under periods: %+v", all)
	}
	// A name is never reused for something else, and a key is never used again.
	h.FromTurn = 1
	alone := changed(t, noiseKey("k2", 5), func(c *deployment.Config) { c.Metrics = c.Metrics[1:] })
	next := Succeed(h, alone, 11, 600_000, nil)
	refused(t, &next, changed(t, noiseKey("k2", 5), func(c *deployment.Config) {
		c.Metrics[0].Kind, c.Metrics[0].MaxEventsPerKey = metrickind.DistinctUsers, 1
	}), "new name")
	refused(t, &next, changed(t, noiseKey("k1", 1), func(c *deployment.Config) {
		c.Metrics = c.Metrics[1:]
	}), "it was used for earlier turns")
	if all := Differences(&next, changed(t, noiseKey("k2", 5))); len(all) == 0 || all[0].Never != "" {
		t.Errorf("a metric comes back as it was: %+v", all)
	}
}
