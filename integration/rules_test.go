package integration

import (
	"errors"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// only replaces the metrics.
func only(metrics ...pipeline.Metric) settings {
	return func(c *pipeline.Config) { c.Metrics = metrics }
}

// oneRung returns a public metric that always pays for the same precision, from a bucket that holds
// all of an account, so that a user's budget lasts for a known number of windows: ⌊B²/⌈C²·u(σ)⌉⌋.
func oneRung(sigma float64, contribution int) pipeline.Metric {
	m := publicMetric("visits", 10*time.Second)
	m.MaxKeysPerUser, m.MaxEventsPerKey, m.Burst = 1, contribution, 1
	m.Ladder = pipeline.Ladder{Kind: string(noisereduction.Geometric), Factor: 2}
	m.Target = atTop(sigma)
	return m
}

// atTop is a target that releases with one noise only.
func atTop(sigma float64) noisereduction.Target {
	return noisereduction.Target{Absolute: 1.96 * sigma, Confidence: 0.95}
}

// decisions returns what the ledger says about every user: turn → admission bits, and the amounts
// spent.
func (d *deployment) decisions() (map[reference.Owner]map[uint64]string, map[reference.Owner]reference.Account) {
	d.t.Helper()
	tr, err := d.readTrusted()
	if err != nil {
		d.t.Fatal(err)
	}
	all := map[reference.Owner]map[uint64]string{}
	for _, l := range tr.ledgers {
		for turn, delta := range l.deltas {
			for _, user := range delta.Users {
				owner := reference.Owner{ID: user.ID, Period: user.Period}
				if all[owner] == nil {
					all[owner] = map[uint64]string{}
				}
				all[owner][turn] = string(user.Admitted)
			}
		}
	}
	accounts, err := d.accounts(tr)
	if err != nil {
		d.t.Fatal(err)
	}
	return all, accounts
}

// owner names a user's account in a period.
func (d *deployment) owner(user string, period int64) reference.Owner {
	return reference.Owner{ID: schemas.NewHasher(d.config.Keys.UserHash.Reveal()).Account([]byte(user)), Period: period}
}

func TestAnEmptyTopicGivesAnEmptyResult(t *testing.T) {
	d := newDeployment(t, startBroker(t), "nothing", 2)
	if result := d.run(); result.Settled != 0 {
		t.Errorf("%d turns were settled over an empty topic", result.Settled)
	}
	d.verify()
}

// outcomesOf asks the reference what became of every record.
func (d *deployment) outcomesOf(log reference.Log) map[int32][]reference.Judged {
	d.t.Helper()
	out, err := reference.Run(d.referenceConfig(), log, nil, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	return out.Outcomes
}

func TestAnotherConfigurationIsRefused(t *testing.T) {
	d := newDeployment(t, startBroker(t), "header", 1)
	for name, change := range map[string]settings{
		"another noise key": func(c *pipeline.Config) {
			c.Keys.Noise = noisereduction.NoiseKey{ID: "k1", Secret: secret.New([32]byte{9})}
		},
		"another user-hash key": func(c *pipeline.Config) { c.Keys.UserHash = secret.New([32]byte{9}) },
		"another budget":        func(c *pipeline.Config) { c.Privacy.Epsilon *= 2 },
		"other shards":          func(c *pipeline.Config) { c.Shards++ },
		"other bounds":          func(c *pipeline.Config) { c.Metrics[0].MaxEventsPerKey++ },
	} {
		config := d.config
		config.Metrics = append([]pipeline.Metric(nil), config.Metrics...)
		change(&config)
		other := attach(t, config)
		if _, err := other.tryRun(); !errors.Is(err, pipeline.ErrHeaderMismatch) {
			t.Errorf("%s: %v, want ErrHeaderMismatch", name, err)
		}
	}
}
