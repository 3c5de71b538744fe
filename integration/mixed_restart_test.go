package integration

import (
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// Windows stay open for more turns than the ledger has slots, so only snapshots have the early
// contributions and charges when a process restarts. A process dies in every third turn.
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
	d.checkVariety()
}

// A turn is interrupted at every point: with some or all of its deltas durable, before and after
// its values are published.
func TestInvariant5MixedCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	long.Test(t)
	broker := startBrokerProcess(t)
	points := []string{crashpoint.DeltaWritten, crashpoint.CountsWritten, crashpoint.DeltaWriting,
		crashpoint.CountsWriting,
		crashpoint.SettledWriting, crashpoint.SettledWritten, crashpoint.CloseWritten}
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			d := newMixed(t, broker, "point-"+point, 2)
			d.load(scatter(backlog(uint64(740+i)).arrivals(), 2, uint64(i)))
			d.crashAt(point, 3, i%2)
			d.finish()
			d.verify()
		})
	}
}
