package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Tallies count every record by outcome. The counts are exact, so they are for the trusted side
// only, never for logs or standard output. Read is the sum of the other record counts.
type Tallies struct {
	Read         uint64            `json:"read"`
	DeadLettered map[string]uint64 `json:"dead_lettered"` // by class
	// tombstones, deletes, records without a value, and unreadable records that no filter selects
	Skipped     uint64 `json:"skipped"`
	BeforeStart uint64 `json:"before_start"` // event time before the deployment's start
	Late        uint64 `json:"late"`         // event time too far before the append time
	// event time too far after the append time, or append time in the future
	Future    uint64          `json:"future"`
	Overtaken uint64          `json:"overtaken"` // read after the CLOSE of their turn
	Accepted  uint64          `json:"accepted"`
	Metrics   []MetricTallies `json:"metrics"`
}

// MetricTallies count a metric's accepted records by outcome, once for each window of a record.
type MetricTallies struct {
	Metric   string `json:"metric"`
	Filtered uint64 `json:"filtered"`         // rejected by the filter, or with an unlisted key
	Beyond   uint64 `json:"beyond_allowance"` // beyond users' allowances or caps
	Counted  uint64 `json:"counted"`          // part of a count
	Open     uint64 `json:"open"`             // in windows not yet released; an upper bound
	GivenUp  uint64 `json:"given_up"`         // in windows that a change gave up
}

// TrustedReport returns the tallies for every metric that the deployment has ever had. It sums the
// tallies of all valid CLOSEs and SETTLEDs on control, and of the records that the last completed
// run read after them. It reads control from the beginning and changes nothing. Errors: ErrLogFault
// for a damaged record on control, or the broker's error.
func TrustedReport(ctx context.Context, d *deployment.Deployment) (Tallies, error) {
	v := controllog.NewView(d.Config.LedgerSlots)
	sum := tallySum{period: d.Config.Privacy.Period, read: schemas.ReadTallies{DeadLettered: map[string]uint64{}}}
	err := readHistory(ctx, d, func(r *kafkalog.Record, c schemas.Control) error {
		closed, before, header := v.Closed, v.Settled, v.Header
		first := firstPart(v.Parts, c.Body)
		if err := v.Observe(r.Offset, c); err != nil {
			return err
		}
		if v.Header != header {
			sum.begin(v.Header)
		}
		if e, ok := c.Body.(*schemas.End); ok && v.Ended == e {
			sum.unclosed = e.Tallies
		}
		if b, ok := c.Body.(*schemas.Close); ok && v.Closed > closed {
			sum.closes, sum.unclosed = append(sum.closes, b), schemas.ReadTallies{}
		}
		if v.Settled > before && first != nil {
			sum.settle(first)
		}
		return nil
	})
	if err != nil {
		return Tallies{}, err
	}
	return sum.tallies(), nil
}

// readHistory calls visit for every record on control.
func readHistory(ctx context.Context, d *deployment.Deployment, visit func(*kafkalog.Record,
	schemas.Control) error) error {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	bounds, err := client.Offsets(ctx, d.Config.Outputs.Control, controllog.Partition)
	if err != nil {
		return controllog.Missing(err)
	}
	err = client.ReadRange(ctx, d.Config.Outputs.Control, controllog.Partition, 0, bounds.LastStable,
		func(r kafkalog.Record) error {
			c, ours, err := controllog.Decode(&r)
			if err != nil || !ours {
				return err
			}
			return visit(&r, c)
		})
	if err != nil {
		return fmt.Errorf("reading control: %w", err)
	}
	return nil
}

// tallySum sums the tallies on control, one generation after another.
type tallySum struct {
	period    time.Duration
	header    *schemas.Header // current generation; nil before the first generation
	turns     *calendar.Turns
	metrics   []MetricTallies // all metrics so far
	component []bool          // by metric: whether it is derived from another metric, whose records it shares
	pairs     []uint64        // by metric: accepted records, each counted once per window that contains it
	indexes   []int           // indexes of the generation's metrics in metrics

	closes []*schemas.Close    // CLOSEs of the current generation, which the next generation may revoke
	read   schemas.ReadTallies // tallies of earlier generations
	closed uint64              // accepted records of earlier generations' turns

	unclosed schemas.ReadTallies // tallies of the last END, if no CLOSE follows it
}

// begin ends the current generation and starts the generation of h. The new generation revokes
// earlier CLOSEs of its turns.
func (a *tallySum) begin(h *schemas.Header) {
	for _, c := range a.closes {
		if c.Turn < h.FromTurn {
			a.add(c)
		}
	}
	a.closes, a.unclosed = nil, schemas.ReadTallies{}
	for _, index := range a.indexes { // the change has given up the open windows
		a.metrics[index].GivenUp = a.pairs[index] - a.metrics[index].final()
	}
	a.indexes = nil
	a.header, a.turns = h, calendar.New(h, a.period)
	for i := range h.Metrics {
		name := h.Metrics[i].Name
		index := slices.IndexFunc(a.metrics, func(m MetricTallies) bool { return m.Metric == name })
		if index < 0 {
			index = len(a.metrics)
			a.metrics = append(a.metrics, MetricTallies{Metric: name})
			a.pairs = append(a.pairs, 0)
			kind := metrickind.Of(h.Metrics[i].Kind)
			a.component = append(a.component, kind.Part != nil || kind.Statistic != nil)
		}
		a.indexes = append(a.indexes, index)
	}
}

// final returns the number of (record, window) pairs that have a final outcome.
func (m *MetricTallies) final() uint64 { return m.Filtered + m.Beyond + m.Counted }

// Pairs returns the number of (accepted record, window) pairs: the sum of all outcomes.
func (m MetricTallies) Pairs() uint64 { return m.final() + m.Open + m.GivenUp }

// Broken returns the number of dead letters in all classes.
func (t Tallies) Broken() uint64 {
	var sum uint64
	for _, n := range t.DeadLettered {
		sum += n
	}
	return sum
}

// add adds the tallies of a CLOSE that can no longer be revoked.
func (a *tallySum) add(c *schemas.Close) {
	a.read.Add(c.Tallies)
	a.closed += c.Contributions
	for i, index := range a.indexes {
		a.pairs[index] += c.Contributions * a.turns.WindowsOf(i, c.Turn)
	}
}

func (a *tallySum) settle(s *schemas.Settled) {
	for _, t := range s.Tallies {
		if int(t.Metric) >= len(a.indexes) {
			continue
		}
		m := &a.metrics[a.indexes[t.Metric]]
		m.Filtered += t.Filtered
		m.Beyond += t.Beyond
		m.Counted += t.Counted
	}
}

func (a *tallySum) tallies() Tallies {
	for _, c := range a.closes {
		a.add(c)
	}
	a.read.Add(a.unclosed)
	out := Tallies{
		Read: a.read.Read, DeadLettered: a.read.DeadLettered, Skipped: a.read.Skipped, BeforeStart: a.read.BeforeStart,
		Late:   a.read.Late,
		Future: a.read.Future, Overtaken: a.read.Overtaken, Accepted: a.read.Accepted,
	}
	for i, index := range a.indexes {
		// After a change of the event format, CLOSEs can contain more records than were accepted.
		a.pairs[index] += (max(out.Accepted, a.closed) - a.closed) * a.turns.MostWindows(i)
	}
	for i, m := range a.metrics {
		if m.Open = a.pairs[i] - m.final() - m.GivenUp; !a.component[i] {
			out.Metrics = append(out.Metrics, m)
		}
	}
	return out
}

// firstPart returns part 0 of the SETTLED that a record may complete, or nil for other records.
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
