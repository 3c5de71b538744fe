package pipeline

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

const (
	controlPartition = 0
	// maxControlRecord keeps control's records below the usual message limit.
	maxControlRecord = 900 << 10
)

// tail follows control for everybody in the process. Safe for concurrent use.
type tail struct {
	client *klog.Client
	topic  string
	log    *slog.Logger // told of records that nobody obeys
	at     hook         // for tests

	strayMu sync.Mutex
	strays  map[string]strayed // by topic and partition

	mu   sync.Mutex
	view *view
	// header and headerAt are of the generation that was in force when the tail was
	// opened.
	header   *schemas.Header
	headerAt int64
	// run is the number of the run, or change, that was announced, and runID its
	// name.
	run   int64
	runID [16]byte
}

// openTail finds where to begin: control is kept for ever, and the newest
// record points back to the oldest one that a start needs.
func openTail(ctx context.Context, client *klog.Client, d *Deployment, log *slog.Logger) (*tail, error) {
	t := &tail{client: client, topic: d.Config.Outputs.Control, log: log, strays: map[string]strayed{}, view: newView(d.Config.LedgerSlots)}
	t.view.stray = func(offset int64, what string) { t.stray(t.topic, controlPartition, offset, what) }
	bounds, err := client.Offsets(ctx, t.topic, controlPartition)
	if err != nil {
		return nil, fmt.Errorf("reading control: %w", err)
	}
	if bounds.LastStable == 0 {
		return nil, fmt.Errorf("reading control: topic %s is empty: %w; run init first", t.topic, ErrNotInitialised)
	}
	if bounds.Start != 0 {
		return nil, fmt.Errorf("reading control: topic %s begins at offset %d: it has lost its HEADER; it must have no retention: %w", t.topic, bounds.Start, ErrLogFault)
	}
	first, err := t.last(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if _, ok := first.Body.(*schemas.Header); !ok {
		return nil, fmt.Errorf("reading control: topic %s does not begin with a HEADER; is it this deployment's control topic? %w", t.topic, ErrNotInitialised)
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
	t.view.beginAt(last.Back, last.BackEpoch, run)
	if err := t.update(ctx); err != nil {
		return nil, err
	}
	t.header, t.headerAt = t.view.header, t.view.headerAt
	return t, nil
}

// generation takes over the generation that a record of control names: it may lie
// before the place where reading begins.
func (t *tail) generation(ctx context.Context, offset int64) error {
	c, err := t.record(ctx, offset)
	if err != nil {
		return err
	}
	switch b := c.Body.(type) {
	case *schemas.Header:
		if offset != 0 {
			return fmt.Errorf("reading control: its records rest on a HEADER at offset %d, and only the one at offset 0 counts: an earlier version of this program has obeyed an init that came too late, and windows may have two values: begin a new deployment: %w", offset, ErrLogFault)
		}
		t.view.header = b
	case *schemas.Generation:
		t.view.header = &b.Header
	default:
		return fmt.Errorf("reading control at offset %d: no HEADER and no GENERATION stands there: %w", offset, ErrLogFault)
	}
	t.view.headerAt = offset
	t.view.history = 2 * uint64(t.view.header.LedgerSlots)
	return nil
}

// runOf is the number of the run that took an epoch; −1 for none.
func (t *tail) runOf(ctx context.Context, epoch int64) (int64, error) {
	if epoch < 0 {
		return -1, nil
	}
	c, err := t.record(ctx, epoch)
	if err != nil {
		return 0, err
	}
	e, ok := c.Body.(*schemas.Epoch)
	if !ok {
		return 0, fmt.Errorf("reading control at offset %d: a later record says that an EPOCH stands there, and none does: %w", epoch, ErrLogFault)
	}
	return e.Run, nil
}

func (t *tail) record(ctx context.Context, offset int64) (schemas.Control, error) {
	c, err := t.last(ctx, offset, offset+1)
	if err == nil && c.Body == nil {
		err = fmt.Errorf("reading control at offset %d: no record of this program stands there: has the topic been compacted? %w", offset, ErrLogFault)
	}
	return c, err
}

// newest is the last record of this program before an offset.
func (t *tail) newest(ctx context.Context, end int64) (schemas.Control, error) {
	const atOnce = 64 // strangers are rare
	for to := end; to > 0; to -= atOnce {
		if c, err := t.last(ctx, max(0, to-atOnce), to); err != nil || c.Body != nil {
			return c, err
		}
	}
	return schemas.Control{}, fmt.Errorf("reading control: topic %s has lost its HEADER: %w", t.topic, ErrLogFault)
}

// last is the last record of this program between two offsets; without a body
// where there is none.
func (t *tail) last(ctx context.Context, from, to int64) (c schemas.Control, err error) {
	err = t.client.ReadRange(ctx, t.topic, controlPartition, from, to, func(r klog.Record) error {
		if next, ours, err := controlRecord(&r); err != nil || ours {
			c = next
			return err
		}
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("reading control, topic %s: %w", t.topic, err)
	}
	return c, nil
}

// controlRecord decodes a record of control. One that no version of this program has
// written is not ours and says nothing; one of another version, or a damaged one,
// may say anything: nobody goes on without it.
func controlRecord(r *klog.Record) (c schemas.Control, ours bool, err error) {
	if !schemas.Ours(r.Value) {
		return c, false, nil
	}
	if c, err = schemas.DecodeControl(r.Value); err == nil {
		return c, true, nil
	}
	cure := "it was damaged on its way: restore the topic from a copy, or begin a new deployment"
	if errors.Is(err, schemas.ErrVersion) {
		cure = "another version of this program wrote it: use that version, or begin a new deployment"
	}
	return c, true, fmt.Errorf("at offset %d of partition %d: %w; %s: %w", r.Offset, r.Partition, err, cure, ErrLogFault)
}

// update reads control to its present end.
func (t *tail) update(ctx context.Context) error {
	bounds, err := t.client.Offsets(ctx, t.topic, controlPartition)
	if err != nil {
		return fmt.Errorf("reading control: %w", err)
	}
	return t.updateTo(ctx, bounds.LastStable)
}

// updateTo reads control up to, not including, an offset that exists.
func (t *tail) updateTo(ctx context.Context, end int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.readTo(ctx, end)
}

func (t *tail) readTo(ctx context.Context, end int64) error {
	if t.view.next >= end {
		return nil
	}
	err := t.client.ReadRange(ctx, t.topic, controlPartition, t.view.next, end, t.take)
	if err != nil {
		return fmt.Errorf("reading control: %w", err)
	}
	return nil
}

// take hands the view a record of control, once.
func (t *tail) take(r klog.Record) error {
	if r.Offset < t.view.next {
		return nil
	}
	c, ours, err := controlRecord(&r)
	if err != nil {
		return fmt.Errorf("reading control, topic %s: %w", t.topic, err)
	}
	if !ours {
		t.view.next = r.Offset + 1
		t.stray(t.topic, controlPartition, r.Offset, notOurs)
		return nil
	}
	return t.view.observe(r.Offset, c)
}

// feed hands over records that READ fetched along with the events. Records
// that do not follow are read again.
func (t *tail) feed(ctx context.Context, records []klog.Record) error {
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

// look runs fn under the tail's lock.
func (t *tail) look(fn func(v *view)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn(t.view)
}

// announce gives a run, or a change, its number: before it looks at anything that
// another one could change.
func (t *tail) announce(ctx context.Context) error {
	if _, err := rand.Read(t.runID[:]); err != nil {
		return fmt.Errorf("naming the run: %w", err)
	}
	w, err := newControlWriter(ctx, t)
	if err != nil {
		return err
	}
	defer w.close()
	offsets, err := w.append(ctx, &schemas.Run{ID: t.runID})
	if err != nil {
		return err
	}
	t.run = offsets[0]
	return nil
}

// lookAgain is how long a verdict waits for another look at control: a run that ends
// because no broker answers has waited long enough.
const lookAgain = 10 * time.Second

// past says whether the run, or change, that was announced has been taken over; and
// which epoch is in force now.
func (t *tail) past(ctx context.Context) (over bool, epoch int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	if err := t.update(ctx); err != nil {
		return false, 0, err
	}
	t.look(func(v *view) { over, epoch = v.run > t.run, v.epoch })
	return over, epoch, nil
}

// isNewest says whether epoch is the last one on control now.
func (t *tail) isNewest(ctx context.Context, epoch int64) (bool, error) {
	if err := t.update(ctx); err != nil {
		return false, err
	}
	newest := false
	t.look(func(v *view) { newest = v.epoch == epoch })
	return newest, nil
}

// Settlement implements spend.Settlements: read once per process, for the few
// turns that are charged now; older ones are read again.
func (t *tail) Settlement(ctx context.Context, turn uint64) (*spend.Settlement, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range 2 {
		if s, ok := t.view.settlements[turn]; ok {
			return s, nil
		}
		if at, ok := t.view.settledAt[turn]; ok {
			s, err := t.settledFrom(ctx, turn, at)
			if err != nil {
				return nil, err
			}
			t.view.remember(s)
			return s, nil
		}
		bounds, err := t.client.Offsets(ctx, t.topic, controlPartition)
		if err != nil {
			return nil, fmt.Errorf("reading control: %w", err)
		}
		if err := t.readTo(ctx, bounds.LastStable); err != nil {
			return nil, err
		}
	}
	err := fmt.Errorf("looking for the settlement of turn %d: control does not hold it as far back as it was read: %w", turn, ErrLogFault)
	if turn <= t.view.settled {
		err = fmt.Errorf("%w: %w", err, spend.ErrForgotten)
	}
	return nil, err
}

var errFound = errors.New("found")

func (t *tail) settledFrom(ctx context.Context, turn uint64, at int64) (*spend.Settlement, error) {
	var parts []schemas.Settled
	err := t.client.ReadRange(ctx, t.topic, controlPartition, at, t.view.next, func(r klog.Record) error {
		c, _, err := controlRecord(&r)
		if err != nil {
			return err
		}
		s, ok := c.Body.(*schemas.Settled)
		if !ok || s.Turn < turn || s.First > turn || (len(parts) > 0 && (s.Epoch != parts[0].Epoch || s.Digest != parts[0].Digest)) {
			return nil
		}
		parts = append(parts, *s)
		if s.Part+1 == s.Parts {
			return errFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFound) {
		return nil, fmt.Errorf("reading control for turn %d: %w", turn, err)
	}
	whole, err := schemas.JoinSettled(parts)
	if err != nil {
		return nil, fmt.Errorf("reading control for turn %d: %w", turn, err)
	}
	return spend.NewSettlement(whole), nil
}

// controlWriter appends to control. Not for concurrent use.
type controlWriter struct {
	tail     *tail
	producer *klog.Producer
}

func newControlWriter(ctx context.Context, t *tail) (*controlWriter, error) {
	p, err := t.client.NewProducer(ctx, t.topic, controlPartition, "")
	if err != nil {
		return nil, fmt.Errorf("preparing to write control: %w", err)
	}
	return &controlWriter{tail: t, producer: p}, nil
}

func (w *controlWriter) close() { w.producer.Close() }

// append writes records in order and returns their offsets.
func (w *controlWriter) append(ctx context.Context, bodies ...schemas.ControlBody) ([]int64, error) {
	var back, backEpoch, generation int64
	w.tail.look(func(v *view) {
		back, backEpoch = v.back()
		generation = v.headerAt
	})
	msgs := make([]klog.Message, len(bodies))
	for i, b := range bodies {
		value, err := schemas.EncodeControl(schemas.Control{Back: back, BackEpoch: backEpoch, Generation: generation, Body: b})
		if err != nil {
			return nil, fmt.Errorf("encoding a control record: %w", err)
		}
		msgs[i] = klog.Message{Value: value, Timestamp: klog.Now()}
	}
	var offsets []int64
	before, after := controlPoints(bodies[0])
	err := w.tail.at.around(before, after, -1, func() error {
		var err error
		offsets, err = w.producer.AppendOffsets(ctx, msgs)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("writing control: %w", err)
	}
	return offsets, nil
}
