package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// finish runs a process to the end and fails on any error. A test that does not need the pipeline
// in its own process is parallel with finish in place of run.
func (d *deployment) finish(change ...func(*job)) {
	d.t.Helper()
	j := d.job()
	for _, c := range change {
		c(&j)
	}
	c := startRunner(d.t, j)
	end := must.Have(c.wait(max(patience, d.patience)))
	if end == nil || end.Error != "" {
		d.t.Fatalf("finishing: %s\n%s", end, tail(c.stderr))
	}
}

// crashed runs a process up to a point and lets it die there.
func (d *deployment) crashed(j job) {
	d.t.Helper()
	if end := startRunner(d.t, j).last(d.t); end != nil {
		d.t.Fatalf("%s was not passed: the runner ended with %s", j.CrashAt, end)
	}
}

// crashAt runs a process up to a point of a turn, or of its start, and lets it die
// there; what it leaves can be charged.
func (d *deployment) crashAt(point string, turn uint64, skip int) {
	d.t.Helper()
	j := d.job()
	j.CrashAt, j.CrashTurn, j.Skip = point, turn, skip
	switch kind, _, _ := strings.Cut(point, "-"); kind {
	case "passed": // first that of group 0, which says what is done again; then those of the other
		j.Readers, j.CrashTurn = 2, 0
	case "reader":
		j.Readers = 2 // else there is no such point
		fallthrough
	case "epoch", "fence", "close":
		j.CrashTurn, j.Skip = 0, 0 // at the start of a process
	}
	d.crashed(j)
	must.Succeed(d.t, d.chargeable())
}

// Processes that die right after a settlement, one after the other: each restart must know every
// charge before it, and read again what contributes to later turns.
func TestInvariant5CrashBetweenTurns(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	d := newDeployment(t, broker, "between", 2, tight)
	w := calm(500)
	w.Disturb = 4 * time.Second
	d.load(scatter(w.arrivals(), 2, 7))
	for turn := uint64(2); turn <= uint64(pick(4, 10)); turn += 2 {
		j := d.job()
		j.CrashAt, j.CrashTurn = crashpoint.SettledWritten, turn
		d.crashed(j)
	}
	d.finish()
	d.verify()
}

// The ledger is slow, in all shards or in one of them: a reader of the topics meanwhile never finds
// a value whose turn is not on the ledger.
func TestInvariant3NothingIsPublishedBeforeTheLedgerHoldsIt(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	points := []string{crashpoint.DeltaWriting}
	for shard := range baseConfig(broker, "slow").Shards {
		points = append(points, inShard(crashpoint.DeltaWriting, shard))
	}
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			d := newDeployment(t, broker, numbered("slow", i), 1, tight)
			w := calm(501)
			w.Windows = pick(3, 6)
			d.load(scatter(w.arrivals(), 1, 7))
			d.chargeableMeanwhile(map[string]time.Duration{point: 100 * time.Millisecond})
			d.verify()
		})
	}
}

// chargeableMeanwhile runs a process with delays to its end, and looks again and again whether
// everything that is published can be charged.
func (d *deployment) chargeableMeanwhile(delays map[string]time.Duration) {
	d.t.Helper()
	j := d.job()
	j.Delays = delays
	c := startRunner(d.t, j)
	for running := true; running; time.Sleep(5 * time.Millisecond) { // looks again and again while it writes
		select {
		case <-c.exit:
			running = false
		default:
		}
		must.Succeed(d.t, d.chargeable())
	}
	if end := c.last(d.t); end == nil || end.Error != "" {
		d.t.Fatalf("the run ended with %s", end)
	}
}

// A drain finishes the open turn: after it, everything published is settled.
func TestRuleADrainLeavesNothingUnsettled(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	d := newDeployment(t, broker, "drained", 2, tight)
	d.load(scatter(calm(502).arrivals(), 2, 7))
	for turn := uint64(1); turn <= 7; turn += uint64(pick(6, 2)) {
		j := d.job()
		j.UntilDrained = turn + 1
		c := startRunner(t, j)
		c.settled(t, turn)
		c.drain()
		if end := c.last(t); end == nil || end.Error != "" || !end.Done.Drained {
			t.Fatalf("draining ended with %s", end)
		}
		must.Succeed(t, d.nothingAfterSettled())
	}
	d.finish()
	d.verify()
}

// A partition is lost to another writer while a turn is under way: values of the other release
// shard are published, or the deltas of the other shards are still to come. A drain finishes the
// turn all the same, in a new epoch.
func TestRuleADrainFinishesATurnOfWhichAPartitionIsLost(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	const soon, late = 300 * time.Millisecond, 1500 * time.Millisecond
	for lost, delays := range map[string]map[string]time.Duration{
		"counts": {inShard(crashpoint.CountsWriting, 0): soon},
		"ledger": {inShard(crashpoint.DeltaWriting, 0): soon, inShard(crashpoint.DeltaWriting, 1): late,
			inShard(crashpoint.DeltaWriting, 2): late, inShard(crashpoint.DeltaWriting, 3): late},
	} {
		t.Run(lost, func(t *testing.T) {
			d := newDeployment(t, broker, "drained-"+lost, 2, tight, sharded(4, 2))
			d.load(scatter(calm(504).arrivals(), 2, 7))
			j := d.job()
			j.Delays = delays
			c := startRunner(t, j)
			c.settled(t, 1)
			c.heldUp(t)
			p := must.Have(d.client.NewProducer(t.Context(), d.config.Deployment+"-"+lost, 0,
				d.config.Deployment+"/"+lost+"-0"))
			defer p.Close()
			// The run may have met the new producer, and taken the partition back, before.
			if _, err := p.Fence(t.Context()); err != nil && !errors.Is(err, kafkalog.ErrFenced) {
				t.Fatal(err)
			}
			c.drain()
			if end := c.last(t); end == nil || end.Error != "" || !end.Done.Drained {
				t.Fatalf("draining ended with %s", end)
			}
			must.Succeed(t, d.nothingAfterSettled())
			if tr, err := d.readTrusted(); err != nil || len(tr.Epochs) < 2 {
				t.Errorf("the run took %d epochs (%v): it has lost nothing", len(tr.Epochs), err)
			}
			d.change(func(c *pipeline.Config) { c.Metrics[0].Target.Relative = 0.4 })
			d.finish()
			d.verify()
		})
	}
}

// nothingAfterSettled reports whether everything published is settled.
func (d *deployment) nothingAfterSettled() error {
	counts, err := d.readCounts()
	if err != nil {
		return err
	}
	tr, err := d.readTrusted()
	if err != nil {
		return err
	}
	for _, turn := range counts.turns {
		if turn > tr.Last {
			return fmt.Errorf("values of turn %d are published after a drain at turn %d", turn, tr.Last)
		}
	}
	return d.chargeable()
}

// A zombie is an instance that stood still (a stopped virtual machine, a long pause) with a write
// on its way, while another one took over and went on. It takes no partition back either.
func TestInvariant9AZombiePublishesNothing(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	points := []string{crashpoint.DeltaWriting, crashpoint.FenceWriting, crashpoint.CountsWriting,
		crashpoint.SettledWriting}
	for round := range pick(2, onReal(t, 4, 8)) {
		d := newDeployment(t, broker, fmt.Sprintf("zombie%d", round), 2, tight)
		d.load(scatter(usualWorkload(uint64(400+round)).arrivals(), 2, uint64(round)))
		j := d.job()
		point := points[round%len(points)]
		j.Delays = map[string]time.Duration{point: 200 * time.Millisecond}
		zombie := startRunner(t, j)
		if point != crashpoint.FenceWriting { // else it stops before its first turn
			zombie.settled(t, uint64(1+round))
		}
		zombie.heldUp(t) // with a write on its way
		zombie.freeze()
		owner := startRunner(t, d.job())
		owner.settled(t, uint64(4+round))
		if end := owner.last(t); end == nil || end.Error != "" {
			t.Fatalf("the owner ended with %s\n%s", end, tail(owner.stderr))
		}
		before := d.ownedEnds()
		zombie.thaw()
		zombie.last(t)
		if after := d.ownedEnds(); after != before {
			t.Errorf("after the owner the zombie has written, or fenced: offsets were %s and are %s", before, after)
		}
		d.verify()
	}
}
