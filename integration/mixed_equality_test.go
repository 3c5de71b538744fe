package integration

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/pipeline"
)

func TestInvariant5MixedDeploymentsEqualTheReference(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	type layout struct{ partitions, shards, releaseShards int }
	layouts := []layout{{1, 1, 1}, {5, 16, 4}, {8, 1, 3}, {2, 64, 1}}
	kinds := map[string]settings{"periods": func(*pipeline.Config) {}, "life": forLife}
	if !long.On() {
		layouts = layouts[:2]
		delete(kinds, "life")
	}
	for name, change := range kinds {
		arrivals := shoppersAtPeace(51).arrivals()
		var first *deployment
		for i, l := range layouts {
			d := newMixed(t, broker, numbered("layout-"+name, i), l.partitions, sharded(l.shards, l.releaseShards),
				change)
			d.load(scatter(arrivals, l.partitions, uint64(i)))
			d.finish()
			d.verify()
			if first == nil {
				first = d
				d.checkVariety()
			} else {
				sameReleases(t, first, d)
			}
		}
	}
}

func TestInvariant6EveryRecordOfAMixedDeploymentIsAccountedFor(t *testing.T) {
	t.Parallel()
	d := newMixed(t, startBrokerProcess(t), "tallies", 3)
	d.load(spread(shoppers(52).arrivals(), 3))
	d.finish()
	d.verify()
}

// A process that loses a shard's memory between two slices of a window must restore the earlier
// slices.
func TestInvariant5MixedForcedCacheMisses(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	for _, every := range []uint64{2, 1}[:pick(1, 2)] {
		d := newMixed(t, broker, numbered("miss", int(every)), 2, func(c *pipeline.Config) {
			if every == 2 { // the other metrics retain the entries of almost all events anyway
				c.Metrics = c.Metrics[:7]
			}
		})
		d.load(scatter(shoppersAtPeace(54).arrivals(), 2, every))
		d.finish(forgetting(every))
		d.verify()
	}
}
