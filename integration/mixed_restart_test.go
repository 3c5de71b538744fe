package integration

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// Windows are open over more turns than the ledger has slots: what was contributed to them is on
// snapshots alone when a process comes back. In every third turn a process dies.
func TestRuleOpenSlicesOutliveTheSlotsOfTheLedger(t *testing.T) {
	t.Parallel()
	d := newMixed(t, startBrokerProcess(t), "slots", 2, func(c *pipeline.Config) { c.LedgerSlots = 4 })
	w := shoppersAtPeace(61)
	d.load(scatter(w.arrivals(), 2, 1))
	points := []string{crashpoint.SettledWritten, crashpoint.DeltaWritten, crashpoint.CountsWriting}
	for turn := uint64(5); turn < uint64(w.Windows); turn += 3 {
		d.crashAt(points[turn%3], turn, 0)
	}
	d.finish()
	d.verify()
	d.tellsMuch()
}

func TestInvariant5MixedKillsAtRandomInstants(t *testing.T) {
	t.Parallel()
	long.Test(t)
	broker := startBrokerProcess(t)
	for kills, round := 0, 0; kills < pick(3, onReal(t, 6, 16)); round++ {
		shape := []settings{sharded(4, 1), sharded(1, 1), sharded(16, 3)}[round%3]
		slots := func(c *pipeline.Config) { c.LedgerSlots = 4 + 9*(round%2) }
		d := newMixed(t, broker, numbered("kill", round), 1+round%3, shape, slots)
		d.load(scatter(shoppers(uint64(600+round)).arrivals(), d.partitions, uint64(round)))
		kills += d.killAtRandom(rand.New(runseed.PCG(t, uint64(round), 78)))
		d.verify()
		if round > 60 {
			t.Fatal("the runners end before they can be killed")
		}
	}
}

func TestInvariant5MixedCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	long.Test(t)
	broker := startBrokerProcess(t)
	points := []string{crashpoint.DeltaWriting, crashpoint.DeltaWritten, crashpoint.CountsWriting,
		crashpoint.CountsWritten, crashpoint.SettledWriting, crashpoint.SettledWritten, crashpoint.CloseWritten}
	for i, point := range points[:pick(2, len(points))] {
		t.Run(point, func(t *testing.T) {
			d := newMixed(t, broker, "point-"+point, 2)
			d.load(scatter(shoppers(uint64(620+i)).arrivals(), 2, uint64(i)))
			d.crashAt(point, uint64(5+i%4), i%2)
			d.finish()
			d.verify()
		})
	}
}

// Engines restore in the middle of windows, too.
func TestRuleAnEngineRestoreLeavesOpenWindowsWhole(t *testing.T) {
	broker := startBroker(t)
	for i := range pick(1, onReal(t, 1, 2)) {
		d := newMixed(t, broker, numbered("restore", i), 2)
		d.load(scatter(shoppersAtPeace(uint64(640+i)).arrivals(), 2, 1))
		d.run(func(o *runOptions) {
			o.Hooks.At = func(point string, _ int) error {
				if i%2 == 1 && point == crashpoint.DeltaWriting {
					time.Sleep(20 * time.Millisecond) // a slow write
				}
				return nil
			}
			o.Hooks.Restore = func(step int) bool { return step > 2 && step%(5+i) == 0 }
		})
		d.verify()
	}
}
