package integration

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
)

func TestInvariant5MixedDeploymentsEqualTheReference(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	type layout struct{ partitions, shards, releaseShards int }
	layouts := []layout{{1, 1, 1}, {5, 16, 4}, {8, 1, 3}}
	kinds := map[string]settings{"periods": func(*pipeline.Config) {}, "life": forLife}
	if !long.On() {
		layouts = layouts[:2]
		delete(kinds, "life")
	}
	for name, change := range kinds {
		arrivals := shoppersAtPeace(51).arrivals()
		var first *deployment
		for i, l := range layouts {
			d := newMixed(t, broker, numbered("layout-"+name, i), l.partitions, sharded(l.shards, l.releaseShards), change)
			d.load(scatter(arrivals, l.partitions, uint64(i)))
			d.finish()
			d.verify()
			if first == nil {
				first = d
				d.tellsMuch()
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

func TestInvariant5MixedDrainAtRandomTurns(t *testing.T) {
	long.Test(t)
	broker := startBroker(t)
	for seed := range uint64(pick(1, onReal(t, 1, 2))) {
		d := newMixed(t, broker, numbered("drain", int(seed)), 2)
		d.load(scatter(shoppers(53+seed).arrivals(), 2, seed))
		d.drainAtRandom(rand.New(runseed.PCG(t, seed, 6)), 1, 9)
		d.verify()
	}
}

// A process that forgets a shard between two slices of a window must find the earlier ones again.
func TestInvariant5MixedForcedCacheMisses(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	for _, every := range []uint64{2, 1}[:pick(1, 2)] {
		d := newMixed(t, broker, numbered("miss", int(every)), 2, func(c *pipeline.Config) {
			if every == 2 { // the others keep the entries of almost all events themselves
				c.Metrics = c.Metrics[:7]
			}
		})
		d.load(scatter(shoppersAtPeace(54).arrivals(), 2, every))
		d.finish(forgetting(every))
		d.verify()
	}
}

// An hour that slides by minutes and a day beside minutes, in their real sizes: 15 slices of an
// hour, 360 of a day.
func TestInvariant5MinutesHoursAndDaysTogether(t *testing.T) {
	long.Test(t)
	if kind(t) != embeddedKind {
		t.Skip("380 turns take some minutes on this broker, and show nothing about it")
	}
	t.Parallel()
	d := newDeployment(t, startBrokerProcess(t), "mixed-scale", 2, func(c *pipeline.Config) {
		c.Events.Format.Value = "amount"
		periodOf(24 * time.Hour)(c)
		c.LedgerSlots = 40
		c.Time.Lateness = time.Minute
		hour, day, pages := usersOf("hour", time.Hour), sumOf("day", 24*time.Hour), privately(countOf("pages", time.Hour))
		hour.Slide = 4 * time.Minute
		pages.Slide, pages.MaxKeysPerUser, pages.MaxEventsPerKey = 20*time.Minute, 1, 1
		c.Metrics = []pipeline.Metric{countOf("minutes", 4*time.Minute), hour, day, pages}
	})
	w := shoppersAtPeace(55)
	w.Windows, w.Window, w.Events, w.Disturb = 25*15, 4*time.Minute, 12, 50*time.Second
	d.load(scatter(w.arrivals(), 2, 1))
	d.patience = 5 * time.Minute
	d.finish()
	d.verify()
	specs, passed, suppressed := d.referenceConfig().Metrics, 0, 0
	for _, draw := range d.reference().Draws {
		switch {
		case specs[draw.Metric].KeyMode != "private":
		case draw.Released:
			passed++
		default:
			suppressed++
		}
	}
	if passed == 0 || suppressed == 0 {
		t.Errorf("the case says little: %d private keys passed their threshold, %d did not", passed, suppressed)
	}
}
