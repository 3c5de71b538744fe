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
	l := &Log{client: client, Topic: topic, log: log, foreign: map[string]toldForeign{}, view: NewView(ledgerSlots)}
	l.view.foreign = func(offset int64, what string) { l.TellForeign(l.Topic, Partition, offset, what) }
	bounds, err := client.Offsets(ctx, l.Topic, Partition)
	if err != nil {
		return nil, fmt.Errorf("reading control: %w", err)
	}
	if bounds.LastStable == 0 {
		return nil, fmt.Errorf("reading control: topic %s is empty: %w; run init first", l.Topic, deployment.ErrNotInitialised)
	}
	if bounds.Start != 0 {
		return nil, fmt.Errorf("reading control: topic %s begins at offset %d: it has lost its HEADER; it must have no retention: %w", l.Topic, bounds.Start, deployment.ErrLogFault)
	}
	first, err := l.last(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if _, ok := first.Body.(*schemas.Header); !ok {
		return nil, fmt.Errorf("reading control: topic %s does not begin with a HEADER; is it this deployment's control topic? %w", l.Topic, deployment.ErrNotInitialised)
	}
	last, err := l.newest(ctx, bounds.LastStable)
	if err != nil {
		return nil, err
	}
	if err := l.generation(ctx, last.Generation); err != nil {
		return nil, err
	}
	run, err := l.runOf(ctx, last.BackEpoch)
	if err != nil {
		return nil, err
	}
	l.view.BeginAt(last.Back, last.BackEpoch, run)
	if err := l.Update(ctx); err != nil {
		return nil, err
	}
	l.Header, l.HeaderAt = l.view.Header, l.view.HeaderAt
	return l, nil
}

// generation takes over the generation that a record of control names: it may lie
// before the place where reading begins.
func (l *Log) generation(ctx context.Context, offset int64) error {
	c, err := l.record(ctx, offset)
	if err != nil {
		return err
	}
	switch b := c.Body.(type) {
	case *schemas.Header:
		if offset != 0 {
			return fmt.Errorf("reading control: its records rest on a HEADER at offset %d, and only the one at offset 0 counts: an earlier version of this program has obeyed an init that came too late, and windows may have two values: begin a new deployment: %w", offset, deployment.ErrLogFault)
		}
		l.view.Header = b
	case *schemas.Generation:
		l.view.Header = &b.Header
	default:
		return fmt.Errorf("reading control at offset %d: no HEADER and no GENERATION stands there: %w", offset, deployment.ErrLogFault)
	}
	l.view.HeaderAt = offset
	l.view.history = 2 * uint64(l.view.Header.LedgerSlots)
	return nil
}

// runOf is the number of the run that took an epoch; −1 for none.
func (l *Log) runOf(ctx context.Context, epoch int64) (int64, error) {
	if epoch < 0 {
		return -1, nil
	}
	c, err := l.record(ctx, epoch)
	if err != nil {
		return 0, err
	}
	e, ok := c.Body.(*schemas.Epoch)
	if !ok {
		return 0, fmt.Errorf("reading control at offset %d: a later record says that an EPOCH stands there, and none does: %w", epoch, deployment.ErrLogFault)
	}
	return e.Run, nil
}

func (l *Log) record(ctx context.Context, offset int64) (schemas.Control, error) {
	c, err := l.last(ctx, offset, offset+1)
	if err == nil && c.Body == nil {
		err = fmt.Errorf("reading control at offset %d: no record of this program stands there: has the topic been compacted? %w", offset, deployment.ErrLogFault)
	}
	return c, err
}

// newest is the last record of this program before an offset.
func (l *Log) newest(ctx context.Context, end int64) (schemas.Control, error) {
	const atOnce = 64 // strangers are rare
	for to := end; to > 0; to -= atOnce {
		if c, err := l.last(ctx, max(0, to-atOnce), to); err != nil || c.Body != nil {
			return c, err
		}
	}
	return schemas.Control{}, fmt.Errorf("reading control: topic %s has lost its HEADER: %w", l.Topic, deployment.ErrLogFault)
}

// last is the last record of this program between two offsets; without a body
// where there is none.
func (l *Log) last(ctx context.Context, from, to int64) (c schemas.Control, err error) {
	err = l.client.ReadRange(ctx, l.Topic, Partition, from, to, func(r kafkalog.Record) error {
		if next, ours, err := Decode(&r); err != nil || ours {
			c = next
			return err
		}
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("reading control, topic %s: %w", l.Topic, err)
	}
	return c, nil
}

// Update reads control to its present end.
func (l *Log) Update(ctx context.Context) error {
	bounds, err := l.client.Offsets(ctx, l.Topic, Partition)
	if err != nil {
		return fmt.Errorf("reading control: %w", err)
	}
	return l.updateTo(ctx, bounds.LastStable)
}

// updateTo reads control up to, not including, an offset that exists.
func (l *Log) updateTo(ctx context.Context, end int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readTo(ctx, end)
}

func (l *Log) readTo(ctx context.Context, end int64) error {
	if l.view.Next >= end {
		return nil
	}
	err := l.client.ReadRange(ctx, l.Topic, Partition, l.view.Next, end, l.take)
	if err != nil {
		return fmt.Errorf("reading control: %w", err)
	}
	return nil
}

// take hands the view a record of control, once.
func (l *Log) take(r kafkalog.Record) error {
	if r.Offset < l.view.Next {
		return nil
	}
	c, ours, err := Decode(&r)
	if err != nil {
		return fmt.Errorf("reading control, topic %s: %w", l.Topic, err)
	}
	if !ours {
		l.view.Next = r.Offset + 1
		l.TellForeign(l.Topic, Partition, r.Offset, NotOurs)
		return nil
	}
	return l.view.Observe(r.Offset, c)
}

// Feed hands over records that READ fetched along with the events. Records
// that do not follow are read again.
func (l *Log) Feed(ctx context.Context, records []kafkalog.Record) error {
	if len(records) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.readTo(ctx, records[0].Offset); err != nil {
		return err
	}
	for _, r := range records {
		if err := l.take(r); err != nil {
			return err
		}
	}
	return nil
}

// Look runs fn under the tail's lock.
func (l *Log) Look(fn func(v *View)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn(l.view)
}

// Announce gives a run, or a change, its number: before it looks at anything that
// another one could change.
func (l *Log) Announce(ctx context.Context) error {
	if _, err := rand.Read(l.RunID[:]); err != nil {
		return fmt.Errorf("naming the run: %w", err)
	}
	w, err := NewWriter(ctx, l)
	if err != nil {
		return err
	}
	defer w.Close()
	offsets, err := w.Append(ctx, &schemas.Run{ID: l.RunID})
	if err != nil {
		return err
	}
	l.Run = offsets[0]
	return nil
}

// LookAgain is how long a verdict waits for another look at control: a run that ends
// because no broker answers has waited long enough.
const LookAgain = 10 * time.Second

// Past says whether the run, or change, that was announced has been taken over; and
// which epoch is in force now.
func (l *Log) Past(ctx context.Context) (over bool, epoch int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, LookAgain)
	defer cancel()
	if err := l.Update(ctx); err != nil {
		return false, 0, err
	}
	l.Look(func(v *View) { over, epoch = v.Run > l.Run, v.Epoch })
	return over, epoch, nil
}

// IsNewest says whether epoch is the last one on control now.
func (l *Log) IsNewest(ctx context.Context, epoch int64) (bool, error) {
	if err := l.Update(ctx); err != nil {
		return false, err
	}
	newest := false
	l.Look(func(v *View) { newest = v.Epoch == epoch })
	return newest, nil
}

// CountsFrom is where the last settled turn ends on the partitions of counts.
func (l *Log) CountsFrom(shards int) []int64 {
	from := make([]int64, shards)
	l.Look(func(v *View) { copy(from, v.CountsEnd[v.Settled]) })
	return from
}

// Budgets are those of all generations, oldest first. Every GENERATION names the one
// that it follows.
func (l *Log) Budgets(ctx context.Context) ([]state.Budget, error) {
	var all []state.Budget
	for at := l.HeaderAt; ; {
		c, err := l.record(ctx, at)
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
