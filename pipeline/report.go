package pipeline

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Tallies account for every record: trusted-side numbers, never for logs or
// standard output. Read = DeadLettered + BeforeStart + Late + Future +
// Overtaken + Accepted; for every metric Accepted = Filtered + Clipped +
// OverBudget + Counted + Open.
type Tallies struct {
	Read         uint64            `json:"read"`
	DeadLettered map[string]uint64 `json:"dead_lettered"`
	BeforeStart  uint64            `json:"before_start"`
	Late         uint64            `json:"late"`
	Future       uint64            `json:"future"`
	Overtaken    uint64            `json:"overtaken"`
	Accepted     uint64            `json:"accepted"`
	Metrics      []MetricTallies   `json:"metrics"`
}

// MetricTallies say what became of the accepted records in one metric.
type MetricTallies struct {
	Metric     string `json:"metric"`
	Filtered   uint64 `json:"filtered"`
	Clipped    uint64 `json:"clipped"`
	OverBudget uint64 `json:"over_budget"`
	Counted    uint64 `json:"counted"`
	Open       uint64 `json:"open"`
}

// TrustedReport adds up the tallies of all CLOSEs and SETTLEDs on control that
// count. It changes nothing.
func TrustedReport(ctx context.Context, d *Deployment) (Tallies, error) {
	client, err := d.dial(ctx, nil)
	if err != nil {
		return Tallies{}, err
	}
	defer client.Close()
	bounds, err := client.Offsets(ctx, d.cfg.Outputs.Control, controlPartition)
	if err != nil {
		return Tallies{}, fmt.Errorf("reading control: %w", err)
	}
	v := newView(d.cfg.LedgerSlots)
	v.beginAt(0, -1, true)
	sum := newTallies()
	settled := make([]schemas.PairTally, len(d.metrics))
	err = client.ReadRange(ctx, d.cfg.Outputs.Control, controlPartition, 0, bounds.LastStable, func(r klog.Record) error {
		c, err := schemas.DecodeControl(r.Value)
		if err != nil {
			return err
		}
		closed, before := v.closed, v.settled
		first := firstPart(v.parts, c.Body)
		if err := v.observe(r.Offset, c); err != nil {
			return err
		}
		if b, ok := c.Body.(*schemas.Close); ok && v.closed > closed {
			sum.Add(b.Tallies)
		}
		if v.settled > before && first != nil {
			for _, t := range first.Tallies {
				if int(t.Metric) < len(settled) {
					addPair(&settled[t.Metric], t.PairTally)
				}
			}
		}
		return nil
	})
	if err != nil {
		return Tallies{}, fmt.Errorf("reading control: %w", err)
	}
	return d.tallied(sum, settled), nil
}

// firstPart is part 0 of the SETTLED that a record may complete.
func firstPart(parts []schemas.Settled, body schemas.ControlBody) *schemas.Settled {
	s, ok := body.(*schemas.Settled)
	switch {
	case !ok:
		return nil
	case s.Part == 0:
		return s
	case len(parts) > 0:
		return &parts[0]
	}
	return nil
}

func addPair(to *schemas.PairTally, t schemas.PairTally) {
	to.Filtered += t.Filtered
	to.Clipped += t.Clipped
	to.OverBudget += t.OverBudget
	to.Counted += t.Counted
}

func (d *Deployment) tallied(sum schemas.ReadTallies, settled []schemas.PairTally) Tallies {
	out := Tallies{
		Read: sum.Read, DeadLettered: sum.DeadLettered, BeforeStart: sum.BeforeStart, Late: sum.Late,
		Future: sum.Future, Overtaken: sum.Overtaken, Accepted: sum.Accepted,
	}
	for i, t := range settled {
		out.Metrics = append(out.Metrics, MetricTallies{
			Metric: d.metrics[i].Spec.Name, Filtered: t.Filtered, Clipped: t.Clipped, OverBudget: t.OverBudget, Counted: t.Counted,
			Open: sum.Accepted - t.Filtered - t.Clipped - t.OverBudget - t.Counted,
		})
	}
	return out
}
