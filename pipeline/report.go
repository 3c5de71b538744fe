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

// Tallies account for every record: exact numbers for the trusted side only, never for logs or
// standard output. Read = DeadLettered + Skipped + BeforeStart + Late + Future + Overtaken +
// Accepted. In a metric a record counts once for every window that holds it: Filtered + Beyond +
// Counted + Open + GivenUp is the number of these.
type Tallies struct {
	Read         uint64            `json:"read"`
	DeadLettered map[string]uint64 `json:"dead_lettered"` // by class
	// tombstones, deletes, and records without a field that no filter asks for
	Skipped     uint64 `json:"skipped"`
	BeforeStart uint64 `json:"before_start"` // event time before the deployment's start
	Late        uint64 `json:"late"`         // event time too far before the append time
	// too far ahead of their append times, or stamped ahead of the clock
	Future    uint64          `json:"future"`
	Overtaken uint64          `json:"overtaken"` // read after the CLOSE of their turn
	Accepted  uint64          `json:"accepted"`
	Metrics   []MetricTallies `json:"metrics"`
}

// MetricTallies are the accepted records of one metric's windows by outcome. A statistic has no
// records.
type MetricTallies struct {
	Metric   string `json:"metric"`
	Filtered uint64 `json:"filtered"`         // did not pass the filter, or have a key that is not listed
	Beyond   uint64 `json:"beyond_allowance"` // beyond their users' allowances, or beyond caps
	Counted  uint64 `json:"counted"`          // part of a count
	Open     uint64 `json:"open"`             // in unreleased windows: an open turn's, in as many as possible
	GivenUp  uint64 `json:"given_up"`         // in windows that a change cut short: never released
}

// TrustedReport adds up the tallies of all CLOSEs and SETTLEDs on control that count, and of the
// records that the last run to end has read after them, of every metric that there has ever been.
// It reads control from its beginning and changes nothing. Errors: ErrLogFault for a damaged record
// of control, or the broker's error.
func TrustedReport(ctx context.Context, d *deployment.Deployment) (Tallies, error) {
	v := controllog.NewView(d.Config.LedgerSlots)
	v.BeginAt(0, -1, -1)
	sum := adding{period: d.Config.Privacy.Period, read: schemas.ReadTallies{DeadLettered: map[string]uint64{}}}
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

// readHistory passes every record of control to visit, from the beginning.
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

// adding adds up the tallies on control, generation after generation.
type adding struct {
	period  time.Duration
	header  *schemas.Header // generation that is being added up; nil before the first
	turns   *calendar.Turns
	metrics []MetricTallies // tallies of all metrics so far, by index
	parts   []bool          // by index: a further component, which shares the records of its metric
	windows []uint64        // of accepted records, once for each window that holds one; by index
	indexes []int           // of the metrics of the generation

	closes []*schemas.Close    // of the generation, not taken back
	read   schemas.ReadTallies // of earlier generations
	closed uint64              // records of their turns

	unclosed schemas.ReadTallies // of the last END, for records that no CLOSE has tallied since
}

// begin ends the current generation and starts the next. CLOSEs of turns after that end were
// revoked.
func (a *adding) begin(h *schemas.Header) {
	for _, c := range a.closes {
		if c.Turn < h.FromTurn {
			a.add(c)
		}
	}
	a.closes, a.unclosed = nil, schemas.ReadTallies{}
	for _, index := range a.indexes { // windows that the change has ended early
		a.metrics[index].GivenUp = a.windows[index] - a.metrics[index].done()
	}
	a.indexes = nil
	a.header, a.turns = h, calendar.New(h, a.period)
	for i := range h.Metrics {
		name := h.Metrics[i].Name
		index := slices.IndexFunc(a.metrics, func(m MetricTallies) bool { return m.Metric == name })
		if index < 0 {
			index = len(a.metrics)
			a.metrics = append(a.metrics, MetricTallies{Metric: name})
			a.windows = append(a.windows, 0)
			kind := metrickind.Of(h.Metrics[i].Kind)
			a.parts = append(a.parts, kind.Part != nil || kind.Statistic != nil)
		}
		a.indexes = append(a.indexes, index)
	}
}

// done returns the pairs of records and windows whose outcome is known.
func (m *MetricTallies) done() uint64 { return m.Filtered + m.Beyond + m.Counted }

// Pairs returns how many pairs of accepted records and windows there are: the sum of all parts.
func (m MetricTallies) Pairs() uint64 { return m.done() + m.Open + m.GivenUp }

// Broken returns how many records were dead-lettered, of whatever class.
func (t Tallies) Broken() uint64 {
	var sum uint64
	for _, n := range t.DeadLettered {
		sum += n
	}
	return sum
}

// add counts a CLOSE that can no longer be revoked.
func (a *adding) add(c *schemas.Close) {
	a.read.Add(c.Tallies)
	a.closed += c.Contributions
	for i, index := range a.indexes {
		a.windows[index] += c.Contributions * a.turns.WindowsOf(i, c.Turn)
	}
}

func (a *adding) settle(s *schemas.Settled) {
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

func (a *adding) tallies() Tallies {
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
		// After a change of the event format, a record can be accepted that was not an event when
		// it was tallied.
		a.windows[index] += (max(out.Accepted, a.closed) - a.closed) * a.turns.MostWindows(i)
	}
	for i, m := range a.metrics {
		if m.Open = a.windows[i] - m.done() - m.GivenUp; !a.parts[i] {
			out.Metrics = append(out.Metrics, m)
		}
	}
	return out
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
