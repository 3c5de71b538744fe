package controllog

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

const (
	Partition = 0
	// maxControlRecord keeps control's records below the usual message limit.
	MaxRecord = 900 << 10
)

// Log follows control for everybody in the process. Safe for concurrent use.
type Log struct {
	client *kafkalog.Client
	Topic  string
	log    *slog.Logger    // told of records that are ignored
	At     crashpoint.Hook // for tests

	foreignMu sync.Mutex
	foreign   map[string]toldForeign // by topic and partition

	mu   sync.Mutex
	view *View
	// header and headerAt are of the generation that was in force when the tail was
	// opened.
	Header   *schemas.Header
	HeaderAt int64
	// run is the number of the run, or change, that was announced, and runID its
	// name.
	Run   int64
	RunID [16]byte
}

// Open finds where to begin: control is kept for ever, and the newest
// record points back to the oldest one that a start needs.
func Open(ctx context.Context, client *kafkalog.Client, topic string, ledgerSlots int, log *slog.Logger) (*Log, error) {
	t := &Log{client: client, Topic: topic, log: log, foreign: map[string]toldForeign{}, view: NewView(ledgerSlots)}
	t.view.foreign = func(offset int64, what string) { t.TellForeign(t.Topic, Partition, offset, what) }
	bounds, err := client.Offsets(ctx, t.Topic, Partition)
	if err != nil {
		return nil, fmt.Errorf("reading control: %w", err)
	}
	if bounds.LastStable == 0 {
		return nil, fmt.Errorf("reading control: topic %s is empty: %w; run init first", t.Topic, deployment.ErrNotInitialised)
	}
	if bounds.Start != 0 {
		return nil, fmt.Errorf("reading control: topic %s begins at offset %d: it has lost its HEADER; it must have no retention: %w", t.Topic, bounds.Start, deployment.ErrLogFault)
	}
	first, err := t.last(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if _, ok := first.Body.(*schemas.Header); !ok {
		return nil, fmt.Errorf("reading control: topic %s does not begin with a HEADER; is it this deployment's control topic? %w", t.Topic, deployment.ErrNotInitialised)
	}
	last, err := t.newest(ctx, bounds.LastStable)
	if err != nil {
		return nil, err
	}
	if err := t.generation(ctx, last.Generation); err != nil {
		return nil, err
	}
	run, err := t.runOf(ctx, last.BackEpoch)
	if err != nil {
		return nil, err
	}
	t.view.BeginAt(last.Back, last.BackEpoch, run)
	if err := t.Update(ctx); err != nil {
		return nil, err
	}
	t.Header, t.HeaderAt = t.view.Header, t.view.HeaderAt
	return t, nil
}

// generation takes over the generation that a record of control names: it may lie
// before the place where reading begins.
func (t *Log) generation(ctx context.Context, offset int64) error {
	c, err := t.record(ctx, offset)
	if err != nil {
		return err
	}
	switch b := c.Body.(type) {
	case *schemas.Header:
		if offset != 0 {
			return fmt.Errorf("reading control: its records rest on a HEADER at offset %d, and only the one at offset 0 counts: an earlier version of this program has obeyed an init that came too late, and windows may have two values: begin a new deployment: %w", offset, deployment.ErrLogFault)
		}
		t.view.Header = b
	case *schemas.Generation:
		t.view.Header = &b.Header
	default:
		return fmt.Errorf("reading control at offset %d: no HEADER and no GENERATION stands there: %w", offset, deployment.ErrLogFault)
	}
	t.view.HeaderAt = offset
	t.view.history = 2 * uint64(t.view.Header.LedgerSlots)
	return nil
}

// runOf is the number of the run that took an epoch; −1 for none.
func (t *Log) runOf(ctx context.Context, epoch int64) (int64, error) {
	if epoch < 0 {
		return -1, nil
	}
	c, err := t.record(ctx, epoch)
	if err != nil {
		return 0, err
	}
	e, ok := c.Body.(*schemas.Epoch)
	if !ok {
		return 0, fmt.Errorf("reading control at offset %d: a later record says that an EPOCH stands there, and none does: %w", epoch, deployment.ErrLogFault)
	}
	return e.Run, nil
}

func (t *Log) record(ctx context.Context, offset int64) (schemas.Control, error) {
	c, err := t.last(ctx, offset, offset+1)
	if err == nil && c.Body == nil {
		err = fmt.Errorf("reading control at offset %d: no record of this program stands there: has the topic been compacted? %w", offset, deployment.ErrLogFault)
	}
	return c, err
}

// newest is the last record of this program before an offset.
func (t *Log) newest(ctx context.Context, end int64) (schemas.Control, error) {
	const atOnce = 64 // strangers are rare
	for to := end; to > 0; to -= atOnce {
		if c, err := t.last(ctx, max(0, to-atOnce), to); err != nil || c.Body != nil {
			return c, err
		}
	}
	return schemas.Control{}, fmt.Errorf("reading control: topic %s has lost its HEADER: %w", t.Topic, deployment.ErrLogFault)
}

// last is the last record of this program between two offsets; without a body
// where there is none.
func (t *Log) last(ctx context.Context, from, to int64) (c schemas.Control, err error) {
	err = t.client.ReadRange(ctx, t.Topic, Partition, from, to, func(r kafkalog.Record) error {
		if next, ours, err := Decode(&r); err != nil || ours {
			c = next
			return err
		}
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("reading control, topic %s: %w", t.Topic, err)
	}
	return c, nil
}

// Update reads control to its present end.
func (t *Log) Update(ctx context.Context) error {
	bounds, err := t.client.Offsets(ctx, t.Topic, Partition)
	if err != nil {
		return fmt.Errorf("reading control: %w", err)
	}
	return t.updateTo(ctx, bounds.LastStable)
}

// updateTo reads control up to, not including, an offset that exists.
func (t *Log) updateTo(ctx context.Context, end int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.readTo(ctx, end)
}

func (t *Log) readTo(ctx context.Context, end int64) error {
	if t.view.Next >= end {
		return nil
	}
	err := t.client.ReadRange(ctx, t.Topic, Partition, t.view.Next, end, t.take)
	if err != nil {
		return fmt.Errorf("reading control: %w", err)
	}
	return nil
}

// take hands the view a record of control, once.
func (t *Log) take(r kafkalog.Record) error {
	if r.Offset < t.view.Next {
		return nil
	}
	c, ours, err := Decode(&r)
	if err != nil {
		return fmt.Errorf("reading control, topic %s: %w", t.Topic, err)
	}
	if !ours {
		t.view.Next = r.Offset + 1
		t.TellForeign(t.Topic, Partition, r.Offset, NotOurs)
		return nil
	}
	return t.view.Observe(r.Offset, c)
}

// Feed hands over records that READ fetched along with the events. Records
// that do not follow are read again.
func (t *Log) Feed(ctx context.Context, records []kafkalog.Record) error {
	if len(records) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.readTo(ctx, records[0].Offset); err != nil {
		return err
	}
	for _, r := range records {
		if err := t.take(r); err != nil {
			return err
		}
	}
	return nil
}

// Look runs fn under the tail's lock.
func (t *Log) Look(fn func(v *View)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn(t.view)
}

// Announce gives a run, or a change, its number: before it looks at anything that
// another one could change.
func (t *Log) Announce(ctx context.Context) error {
	if _, err := rand.Read(t.RunID[:]); err != nil {
		return fmt.Errorf("naming the run: %w", err)
	}
	w, err := NewWriter(ctx, t)
	if err != nil {
		return err
	}
	defer w.Close()
	offsets, err := w.Append(ctx, &schemas.Run{ID: t.RunID})
	if err != nil {
		return err
	}
	t.Run = offsets[0]
	return nil
}

// LookAgain is how long a verdict waits for another look at control: a run that ends
// because no broker answers has waited long enough.
const LookAgain = 10 * time.Second

// Past says whether the run, or change, that was announced has been taken over; and
// which epoch is in force now.
func (t *Log) Past(ctx context.Context) (over bool, epoch int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, LookAgain)
	defer cancel()
	if err := t.Update(ctx); err != nil {
		return false, 0, err
	}
	t.Look(func(v *View) { over, epoch = v.Run > t.Run, v.Epoch })
	return over, epoch, nil
}

// IsNewest says whether epoch is the last one on control now.
func (t *Log) IsNewest(ctx context.Context, epoch int64) (bool, error) {
	if err := t.Update(ctx); err != nil {
		return false, err
	}
	newest := false
	t.Look(func(v *View) { newest = v.Epoch == epoch })
	return newest, nil
}

// CountsFrom is where the last settled turn ends on the partitions of counts.
func (t *Log) CountsFrom(shards int) []int64 {
	from := make([]int64, shards)
	t.Look(func(v *View) { copy(from, v.CountsEnd[v.Settled]) })
	return from
}

// Budgets are those of all generations, oldest first. Every GENERATION names the one
// that it follows.
func (t *Log) Budgets(ctx context.Context) ([]state.Budget, error) {
	var all []state.Budget
	for at := t.HeaderAt; ; {
		c, err := t.record(ctx, at)
		if err != nil {
			return nil, err
		}
		switch b := c.Body.(type) {
		case *schemas.Header:
			all = append(all, b.Budget)
		case *schemas.Generation:
			all = append(all, b.Header.Budget)
		default:
			return nil, fmt.Errorf("reading control at offset %d: no HEADER and no GENERATION stands there: %w", at, deployment.ErrLogFault)
		}
		if at == 0 {
			slices.Reverse(all)
			return all, nil
		}
		if c.Generation < 0 || c.Generation >= at {
			return nil, fmt.Errorf("reading control at offset %d: a GENERATION follows one at offset %d: %w", at, c.Generation, deployment.ErrLogFault)
		}
		at = c.Generation
	}
}
