package integration

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/audit/reference"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// only replaces the metrics.
func only(metrics ...pipeline.Metric) settings {
	return func(c *pipeline.Config) { c.Metrics = metrics }
}

// oneRung returns a public metric that always releases with the same precision and may spend the
// whole account: a user's budget lasts for ⌊B²/⌈C²·u(σ)⌉⌋ windows.
func oneRung(sigma float64, contribution int) pipeline.Metric {
	m := publicMetric("visits", 10*time.Second)
	m.MaxKeysPerUser, m.MaxEventsPerKey, m.Burst = 1, contribution, 1
	m.Ladder = pipeline.Ladder{Kind: string(noisereduction.Geometric), Factor: 2}
	m.Target = atTop(sigma)
	return m
}

// atTop returns a target that releases always have at the same noise.
func atTop(sigma float64) noisereduction.Target {
	return noisereduction.Target{Absolute: 1.96 * sigma, Confidence: 0.95}
}

// decisions returns the admissions of every user by turn, as a text, and the accounts.
func (d *deployment) decisions() (map[reference.Owner]map[uint64]string, map[reference.Owner]reference.Account) {
	d.t.Helper()
	all := map[reference.Owner]map[uint64]string{}
	for _, turn := range d.reference().turns {
		for _, m := range slices.Concat(turn.Members...) {
			if all[m.Owner] == nil {
				all[m.Owner] = map[uint64]string{}
			}
			for _, part := range m.Parts {
				all[m.Owner][turn.Number] += fmt.Sprint(part.Metric, part.Admitted, " ")
			}
		}
	}
	return all, maps.Clone(d.reference().accounts)
}

// owner returns the owner of a user's account in a period.
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

// outcomesOf returns the outcome that each record must have.
func (d *deployment) outcomesOf(log events) map[int32][]reference.Outcome {
	d.t.Helper()
	replay := must.Have(reference.NewReplay(*d.referenceConfig(), nil, 0, slices.Collect(maps.Keys(log))...))
	out := map[int32][]reference.Outcome{}
	for p, records := range log {
		for _, r := range records {
			out[p] = append(out[p], must.Have(replay.Reader(p).Read(r.Offset, r.Timestamp, r.Value)))
		}
	}
	return out
}
