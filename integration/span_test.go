package integration

import (
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
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
	tr := must.Have(d.readTrusted())
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

// A change takes closed spans back that no run has opened; they are closed again, in other spans.
func TestRuleAChangeTakesClosedSpansBack(t *testing.T) {
	t.Parallel()
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
	back, last := 0, uint64(0)
	for _, r := range d.records(d.config.Outputs.Control, 0) {
		c := must.Have(schemas.DecodeControl(r.Value))
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
		}
	}
	if back == 0 {
		t.Error("no change took spans back: the case says nothing")
	}
}
