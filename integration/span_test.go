package integration

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Spans: turns of a backlog that are opened together. Which ones depends on what had been read when
// their CLOSE was written; the reference is told by control, and everything else must follow.

func catchingUp(turns int) settings {
	return func(c *pipeline.Config) { c.CatchUp, c.LedgerSlots = turns, max(c.LedgerSlots, 4*turns) }
}

// backlog returns a small workload for mixed deployments: every one of these tests runs it several
// times.
func backlog(seed uint64) workload {
	w := shoppers(seed)
	w.Windows, w.Events = 14, 80
	return w
}

// spans counts the settled spans of several turns.
func (d *deployment) spans() int {
	d.t.Helper()
	tr, err := d.readTrusted()
	if err != nil {
		d.t.Fatal(err)
	}
	n := 0
	for turn := uint64(1); turn <= tr.last; turn++ {
		if c := tr.closes[turn]; c.First == turn && c.Turn > turn {
			n++
		}
	}
	return n
}

// inSpans fails a test in which nothing was joined.
func (d *deployment) inSpans() {
	d.t.Helper()
	if d.spans() == 0 {
		d.t.Errorf("%s: no two turns were opened together: the case says nothing", d.config.Deployment)
	}
}

// Users at the edge of the budget: three worst cases fit. The ladder may stop far below its top,
// so that one turn after the other admits more often than spans do, in which every worst case is
// held until the last turn is decided.
func TestRuleASpanHoldsTheWorstCaseOfAllItsTurns(t *testing.T) {
	broker := startBroker(t)
	const users = 60
	counted := map[int]uint64{}
	for _, turns := range []int{1, 4} {
		d := newDeployment(t, broker, numbered("span-edge", turns), 1, only(oneRung(1, 1)), lasting(t, 3), catchingUp(turns),
			func(c *pipeline.Config) { c.Metrics[0].Target.Relative = 0.5 }) // met at the first rungs
		var arrivals []arrival
		for i := range 12 * users {
			arrivals = append(arrivals, at(numbered("u", i%users), "p00", time.Duration(i/users)*10*time.Second+time.Second))
		}
		d.load([][]arrival{arrivals})
		d.run()
		d.verify()
		counted[turns] = d.tally().Counted
		if turns > 1 {
			d.inSpans()
		}
	}
	if counted[1] != 12*users || counted[4] >= counted[1] || counted[4] < 3*users {
		t.Errorf("%d events were counted one turn after the other and %d in spans, want %d and at least a quarter, but fewer", counted[1], counted[4], 12*users)
	}
}

func TestInvariant5MixedSpansEqualTheReference(t *testing.T) {
	broker := startBroker(t)
	for i, partitions := range []int{1, 3}[:pick(1, 2)] {
		d := newMixed(t, broker, numbered("span", i), partitions, catchingUp(4), sharded(4, 1+2*i))
		d.load(scatter(backlog(uint64(700+i)).arrivals(), partitions, uint64(i)))
		d.run()
		d.verify()
		d.inSpans()
	}
}

func TestInvariant5MixedSpansWithDrainsAndForgottenShards(t *testing.T) {
	broker := startBroker(t)
	for i := range 2 {
		d := newMixed(t, broker, numbered("span-drain", i), 2, catchingUp(4))
		d.load(scatter(backlog(uint64(710+i)).arrivals(), 2, 1))
		d.drainAtRandom(rand.New(runseed.PCG(t, uint64(i), 8)), 1, 3, func(o *runOptions) { o.Hooks.Forget = missing(1) })
		d.verify()
		d.inSpans()
	}
}

func TestInvariant5MixedSpansWithKillsAtRandomInstants(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	for kills, round := 0, 0; kills < pick(2, 4); round++ {
		d := newMixed(t, broker, numbered("span-kill", round), 2, sharded([]int{4, 1}[round%2], 1), catchingUp(4))
		d.load(scatter(backlog(uint64(720+round)).arrivals(), 2, uint64(round)))
		kills += d.killAtRandom(rand.New(runseed.PCG(t, uint64(round), 79)))
		d.verify()
		if round > 40 {
			t.Fatal("the runners end before they can be killed")
		}
	}
}

// A span is interrupted at every point: with some of its deltas durable or all of them, with values
// published or not.
func TestInvariant5MixedSpansCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	long.Test(t)
	broker := startBrokerProcess(t)
	points := []string{crashpoint.DeltaWritten, crashpoint.CountsWritten, crashpoint.DeltaWriting, crashpoint.CountsWriting,
		crashpoint.SettledWriting, crashpoint.SettledWritten, crashpoint.CloseWritten}
	for i, point := range points[:pick(2, len(points))] {
		t.Run(point, func(t *testing.T) {
			d := newMixed(t, broker, "span-point-"+point, 2, catchingUp(4))
			d.load(scatter(backlog(uint64(740+i)).arrivals(), 2, uint64(i)))
			d.crashAt(point, 3, i%2)
			d.finish()
			d.verify()
			d.inSpans()
		})
	}
}

func TestInvariant9AZombieWithASpanPublishesNothing(t *testing.T) {
	t.Parallel()
	d := newMixed(t, startBrokerProcess(t), "span-zombie", 2, catchingUp(4))
	d.load(scatter(backlog(760).arrivals(), 2, 1))
	j := d.job()
	j.Delays = map[string]time.Duration{crashpoint.DeltaWriting: 200 * time.Millisecond}
	zombie := startRunner(t, j)
	zombie.settled(t, 2)
	zombie.heldUp(t) // with a write on its way
	zombie.freeze()
	d.finish()
	zombie.thaw()
	zombie.last(t)
	d.verify()
	d.inSpans()
}

// All deltas of an interrupted span are durable: all of its turns are redone from the ledger,
// without the events of any.
func TestRuleAnInterruptedSpanIsRedoneFromTheLedger(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, startBrokerProcess(t), "span-deleted", 2, tight, catchingUp(4))
	d.load(scatter(calm(770).arrivals(), 2, 1))
	log := d.eventLog()
	j := d.job()
	j.CrashAt, j.CrashTurn = crashpoint.CountsWritten, 2
	d.crashed(j)
	tr, err := d.readTrusted()
	if err != nil {
		t.Fatal(err)
	}
	open := tr.closes[tr.last+1]
	for turn := open.First; turn <= open.Turn; turn++ {
		if !tr.completeTurn(turn) {
			t.Fatalf("turn %d is not complete on the ledger", turn)
		}
	}
	if open.First == open.Turn {
		t.Fatal("the interrupted turn is in no span: the case says nothing")
	}
	for _, cut := range open.Cuts {
		d.deleteRecords(d.config.Events.Topic, cut.Partition, cut.Restart)
	}
	d.finish()
	if err := d.checkAgainst(log); err != nil {
		t.Fatal(err)
	}
}

// A change takes closed spans back that no run has opened; they are closed again, in other spans.
// The reader of the control log here reads on over that, and finds what is wrong after it.
func TestRuleAChangeTakesClosedSpansBack(t *testing.T) {
	d := newMixed(t, startBroker(t), "span-change", 2, catchingUp(4))
	d.load(scatter(backlog(780).arrivals(), 2, 1))
	d.runTurns(1)
	d.append(0, []arrival{at("later", "p00", 170*time.Second)}) // other cuts
	d.change(func(c *pipeline.Config) { c.Time.Lateness += 2 * time.Second })
	d.runTurns(1)
	d.append(1, []arrival{at("later", "p00", 171*time.Second)})
	d.change(func(c *pipeline.Config) { c.CatchUp, c.Metrics[1].MaxKeysPerUser = 3, 1 })
	d.run()
	d.verify()
	d.inSpans()
	records := d.records(d.config.Outputs.Control, 0)
	read := func(records []kafkalog.Record) (trusted, error) {
		tr := trusted{closes: map[uint64]schemas.Close{}, settled: map[uint64]schemas.Settled{}}
		return tr, tr.readControl(records)
	}
	tr, err := read(records)
	if err != nil {
		t.Fatal(err)
	}
	var back, after int
	last := uint64(0)
	for i, r := range records {
		c, err := schemas.DecodeControl(r.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch body := c.Body.(type) {
		case *schemas.Generation:
			if last >= body.Header.FromTurn {
				back++
			}
			last = 0
		case *schemas.Close:
			if body.First < body.Turn {
				last = body.Turn
			}
			if len(tr.headers) != 3 || body.Epoch != tr.epochs[len(tr.epochs)-1] {
				continue
			}
			// Of the last run: the same turns again with another cut, and in another span.
			after++
			moved, other := *body, *body
			moved.Cuts = slices.Clone(body.Cuts)
			moved.Cuts[0].Cut++
			if other.Turn--; other.Turn < other.First {
				other.First, other.Turn = body.First-1, body.Turn
			}
			for _, wrong := range []schemas.Close{moved, other} {
				wrong.Each, wrong.Contributions = nil, 0
				if wrong.First < wrong.Turn {
					wrong.Each = make([]uint64, wrong.Turn-wrong.First+1)
				}
				value, err := schemas.EncodeControl(schemas.Control{Back: c.Back, BackEpoch: c.BackEpoch, Generation: c.Generation, Body: &wrong})
				if err != nil {
					t.Fatal(err)
				}
				again := kafkalog.Record{Offset: r.Offset, Value: value}
				if _, err := read(slices.Insert(slices.Clone(records), i+1, again)); err == nil || !strings.Contains(err.Error(), "twice") {
					t.Errorf("turns %d to %d are closed again as %d to %d: %v", body.First, body.Turn, wrong.First, wrong.Turn, err)
				}
			}
		}
	}
	if back == 0 || after == 0 {
		t.Errorf("%d of 2 changes took spans back, and %d CLOSEs stand after them: the case says nothing", back, after)
	}
}

// Turns that pass one by one are opened one by one: none waits for others to fill a span.
func TestRuleASpanWaitsForNoTurn(t *testing.T) {
	d := newDeployment(t, startBroker(t), "span-live", 1, only(publicMetric("visits", 10*time.Second)), catchingUp(4))
	drain := make(chan struct{})
	var firsts []uint64
	d.append(0, []arrival{at("u", "p00", time.Second), at("u", "p00", 16*time.Second)})
	d.run(func(o *runOptions) {
		o.Bounded, o.Drain = false, drain
		o.OnSettled = func(s pipeline.Settlement) {
			firsts = append(firsts, s.First)
			if s.Turn == 5 {
				close(drain)
				return
			}
			d.append(0, []arrival{at("u", "p00", time.Duration(10*s.Turn+16)*time.Second)})
		}
	})
	d.verify()
	if !slices.Equal(firsts, []uint64{1, 2, 3, 4, 5}) {
		t.Errorf("turns were opened from %v, want one by one", firsts)
	}
}
