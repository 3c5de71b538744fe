package integration

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// finish runs a process to the end of the events. Tests that use it in place of run can be
// parallel.
func (d *deployment) finish(change ...func(*job)) {
	d.t.Helper()
	j := d.job()
	for _, c := range change {
		c(&j)
	}
	startRunner(d.t, j).succeeds(d.t, max(patience, d.patience))
}

// crashed runs a process until it dies at the job's point.
func (d *deployment) crashed(j job) {
	d.t.Helper()
	if end := startRunner(d.t, j).last(d.t); end != nil {
		d.t.Fatalf("%s was not passed: the runner ended with %s", j.CrashAt, end)
	}
}

// crashAt runs a process until it dies at a point of a turn or of its start. Everything that it has
// published must be chargeable.
func (d *deployment) crashAt(point string, turn uint64, skip int) {
	d.t.Helper()
	j := d.job()
	j.CrashAt, j.CrashTurn, j.Skip = point, turn, skip
	switch kind, _, _ := strings.Cut(point, "-"); kind {
	case "passed": // group 0's is the first one, about what is redone; the others follow
		j.Readers, j.CrashTurn = 2, 0
	case "reader":
		j.Readers = 2 // with one reader there is no such point
		fallthrough
	case "epoch", "fence", "close":
		j.CrashTurn, j.Skip = 0, 0 // at the start of a process
	}
	d.crashed(j)
	must.Succeed(d.t, d.chargeable())
}

// Several processes die right after a settlement. Each restart must know every earlier charge, and
// read again the records that contribute to later turns.
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

// While the ledger is slow, in all shards or in one, a reader of the topics never finds a value
// whose turn is not on the ledger.
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
			j := d.job()
			j.Delays = map[string]time.Duration{point: 100 * time.Millisecond}
			c := startRunner(t, j)
			for running := true; running; running = !c.ends(5 * time.Millisecond) {
				must.Succeed(t, d.chargeable())
			}
			c.succeeds(t, patience)
			d.verify()
		})
	}
}

// drained sends SIGTERM to a run, and checks that it ends with nothing unsettled.
func (d *deployment) drained(c *child) {
	d.t.Helper()
	c.signal(syscall.SIGTERM)
	if end := c.succeeds(d.t, patience); !end.Done.Drained {
		d.t.Fatalf("draining ended with %s", end)
	}
	must.Succeed(d.t, d.nothingAfterSettled())
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
		d.drained(c)
	}
	d.finish()
	d.verify()
}

// Another writer takes a partition in the middle of a turn: when the other release shard has
// published its values, or before the other shards have written their deltas. A drain still
// finishes the turn, in a new epoch.
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
			// The run may already have met the new producer and taken the partition back.
			if _, err := p.Fence(t.Context()); err != nil && !errors.Is(err, kafkalog.ErrFenced) {
				t.Fatal(err)
			}
			d.drained(c)
			if tr, err := d.readTrusted(); err != nil || len(tr.Epochs) < 2 {
				t.Errorf("the run took %d epochs (%v): it has lost nothing", len(tr.Epochs), err)
			}
			d.change(func(c *pipeline.Config) { c.Metrics[0].Target.Relative = 0.4 })
			d.finish()
			d.verify()
		})
	}
}

// nothingAfterSettled returns an error if a published value is not settled.
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

// A zombie is an instance that was paused in the middle of a write (such as in a stopped virtual
// machine) while another instance took the deployment over. It must not take a partition back.
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
		if point != crashpoint.FenceWriting { // there it stops before its first turn
			zombie.settled(t, uint64(1+round))
		}
		zombie.heldUp(t)
		zombie.signal(syscall.SIGSTOP)
		owner := startRunner(t, d.job())
		owner.settled(t, uint64(4+round))
		owner.succeeds(t, patience)
		before := d.ownedEnds()
		zombie.signal(syscall.SIGCONT)
		zombie.last(t)
		if after := d.ownedEnds(); after != before {
			t.Errorf("the zombie wrote or fenced after the owner: offsets were %s and are %s", before, after)
		}
		d.verify()
	}
}
