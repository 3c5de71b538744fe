package controllog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

const (
	// Partition is the only partition of the control topic.
	Partition = 0
	// MaxRecord is how large a record of control may be, in bytes: below the usual limit
	// of a message. A greater SETTLED is written in parts.
	MaxRecord = 900 << 10
)

// Log follows the control log for every stage of a process. Its methods are safe for
// concurrent use; its exported fields are set by Open and Announce, and by the caller
// before other goroutines use the Log.
type Log struct {
	client *kafkalog.Client
	Topic  string           // the control topic
	log    *slog.Logger     // logs ignored records
	At     crashpoint.Hook  // called around every write to control, ledger and counts; nil but in tests
	Clock  crashpoint.Clock // times the publication of counts; nil but in tests: the machine's clock

	foreignMu sync.Mutex
	foreign   map[string]reportedForeign // by topic and partition

	mu    sync.Mutex
	view  *View
	moved chan struct{} // closed, and made anew, when the view has taken records
	// Header is of the generation that was in force when the Log was opened, and
	// HeaderAt the offset of the record that holds it. The View has those in force now.
	Header   *schemas.Header
	HeaderAt int64
	// Run is the number of the run, or change, that Announce has announced or that Join has named:
	// the offset of its RUN record. RunID is its name, 128 random bits. Both are zero before.
	Run   int64
	RunID [16]byte
}

// Missing adds the remedy to the error of a control topic that cannot be read.
func Missing(err error) error {
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		err = fmt.Errorf("%w: begin the deployment with tollgate init --create-topics, or correct deployment or "+
			"outputs.control", err)
	}
	return fmt.Errorf("reading control: %w", err)
}

// Open reads the control log to its present end. It need not read all of it: control is kept for
// ever, and the newest record points back to the oldest one that a start needs. ledgerSlots is the
// number of turns to remember until the HEADER was read. log receives warnings about foreign
// records. Errors: deployment.ErrNotInitialised without a HEADER, deployment.ErrLogFault for a
// damaged or shortened topic, or the broker's error.
func Open(ctx context.Context, client *kafkalog.Client, topic string, ledgerSlots int, log *slog.Logger) (*Log, error) {
	l := &Log{client: client, Topic: topic, log: log, foreign: map[string]reportedForeign{}, view: NewView(ledgerSlots),
		moved: make(chan struct{})}
	l.view.foreign = func(offset int64, what string) { l.ReportForeign(l.Topic, Partition, offset, what) }
	bounds, err := client.Offsets(ctx, l.Topic, Partition)
	if err != nil {
		return nil, Missing(err)
	}
	if bounds.LastStable == 0 {
		return nil, fmt.Errorf("reading control: topic %s is empty: %w: begin the deployment with tollgate init",
			l.Topic, deployment.ErrNotInitialised)
	}
	if bounds.Start != 0 {
		return nil, fmt.Errorf("reading control: topic %s begins at offset %d, so its HEADER is lost: the topic must "+
			"have no retention: %w", l.Topic, bounds.Start, deployment.ErrLogFault)
	}
	first, err := l.last(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if _, ok := first.Body.(*schemas.Header); !ok {
		return nil, fmt.Errorf("reading control: topic %s does not begin with a HEADER: check that it is this "+
			"deployment's control topic: %w", l.Topic, deployment.ErrNotInitialised)
	}
	last, err := l.newest(ctx, bounds.LastStable)
	if err != nil {
		return nil, err
	}
	if err := l.generation(ctx, last.Generation); err != nil {
		return nil, err
	}
	epoch, err := l.EpochAt(ctx, last.BackEpoch)
	if err != nil {
		return nil, err
	}
	l.view.BeginAt(last.Back, last.BackEpoch, epoch.Run)
	if err := l.Update(ctx); err != nil {
		return nil, err
	}
	l.Header, l.HeaderAt = l.view.Header, l.view.HeaderAt
	return l, nil
}

// generation puts the generation that a record of control names into force: its record may be below
// the offset at which reading begins.
func (l *Log) generation(ctx context.Context, offset int64) error {
	_, h, err := l.headerOf(ctx, offset)
	if err != nil {
		return err
	}
	l.view.Header, l.view.HeaderAt, l.view.history = h, offset, 2*uint64(h.LedgerSlots)
	return nil
}

// headerOf returns the record at an offset, and the header that it puts in force.
func (l *Log) headerOf(ctx context.Context, offset int64) (schemas.Control, *schemas.Header, error) {
	c, err := l.record(ctx, offset)
	if err != nil {
		return c, nil, err
	}
	switch b := c.Body.(type) {
	case *schemas.Header:
		return c, b, nil
	case *schemas.Generation:
		return c, &b.Header, nil
	}
	return c, nil, fmt.Errorf("reading control at offset %d: a HEADER or GENERATION was expected there: %w", offset,
		deployment.ErrLogFault)
}

// EpochAt returns the EPOCH at an offset; for −1, which is before any EPOCH, one of the run −1.
func (l *Log) EpochAt(ctx context.Context, offset int64) (*schemas.Epoch, error) {
	if offset < 0 {
		return &schemas.Epoch{Run: -1}, nil
	}
	c, err := l.record(ctx, offset)
	if err != nil {
		return nil, err
	}
	e, ok := c.Body.(*schemas.Epoch)
	if !ok {
		return nil, fmt.Errorf("reading control at offset %d: a later record calls this an EPOCH, but it is another "+
			"record: %w", offset, deployment.ErrLogFault)
	}
	return e, nil
}

// record returns the record at an offset, which must be one of this program.
func (l *Log) record(ctx context.Context, offset int64) (schemas.Control, error) {
	c, err := l.last(ctx, offset, offset+1)
	if err == nil && c.Body == nil {
		err = fmt.Errorf("reading control at offset %d: no record of Tollgate is there: check that the topic was not "+
			"compacted: %w", offset, deployment.ErrLogFault)
	}
	return c, err
}

// WrittenAt returns when the record at an offset was written, by the broker's clock where the topic
// has append times.
func (l *Log) WrittenAt(ctx context.Context, offset int64) (written time.Time, err error) {
	err = l.client.ReadRange(ctx, l.Topic, Partition, offset, offset+1, func(r kafkalog.Record) error {
		written = time.UnixMilli(r.Timestamp).UTC()
		return nil
	})
	if err != nil {
		return written, fmt.Errorf("reading control, topic %s: %w", l.Topic, err)
	}
	return written, nil
}

// newest returns the last record of this program before an offset.
func (l *Log) newest(ctx context.Context, end int64) (schemas.Control, error) {
	const atOnce = 64 // foreign records are rare
	for to := end; to > 0; to -= atOnce {
		if c, err := l.last(ctx, max(0, to-atOnce), to); err != nil || c.Body != nil {
			return c, err
		}
	}
	return schemas.Control{}, fmt.Errorf("reading control: topic %s has lost its HEADER: %w", l.Topic,
		deployment.ErrLogFault)
}

// last returns the last record of this program at or after one offset and before another; without a
// body if there is none.
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

// Update reads the control log to its present end.
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
	defer l.wake()
	return l.readTo(ctx, end)
}

// wake wakes the goroutines that wait for the view to move.
func (l *Log) wake() {
	close(l.moved)
	l.moved = make(chan struct{})
}

// readsAlong is how long AwaitSettled waits for another stage to read control.
const readsAlong = 100 * time.Millisecond

// AwaitSettled waits until control has a SETTLED of a turn, which no later record revokes. It
// returns false if control, read to its present end, has none: the SETTLED that the caller knows
// does not count, because a newer run had taken the epoch.
func (l *Log) AwaitSettled(ctx context.Context, turn uint64) (bool, error) {
	timer := time.NewTimer(readsAlong)
	defer timer.Stop()
	for {
		l.mu.Lock()
		settled, moved := l.view.Settled >= turn, l.moved
		l.mu.Unlock()
		if settled {
			return true, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false, ctx.Err()
		case <-timer.C:
			err := l.Update(ctx)
			l.WithView(func(v *View) { settled = v.Settled >= turn })
			return settled, err
		}
	}
}

// Await waits until control goes on. After a time it reads control to its end itself.
func (l *Log) Await(ctx context.Context, limit time.Duration) error {
	l.mu.Lock()
	moved := l.moved
	l.mu.Unlock()
	select {
	case <-moved:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(limit):
		return l.Update(ctx)
	}
}

func (l *Log) readTo(ctx context.Context, end int64) error {
	if l.view.Next >= end {
		return nil
	}
	err := l.client.ReadRange(ctx, l.Topic, Partition, l.view.Next, end, l.apply)
	if err != nil {
		return fmt.Errorf("reading control, topic %s: %w", l.Topic, err)
	}
	return nil
}

// apply hands the view a record of control, once.
func (l *Log) apply(r kafkalog.Record) error {
	if r.Offset < l.view.Next {
		return nil
	}
	c, ours, err := Decode(&r)
	if err != nil {
		return fmt.Errorf("reading control, topic %s: %w", l.Topic, err)
	}
	if !ours {
		l.view.Next = r.Offset + 1
		l.ReportForeign(l.Topic, Partition, r.Offset, NotOurs)
		return nil
	}
	return l.view.Observe(r.Offset, c)
}

// Feed applies records of control that READ has fetched along with the events, in the order of
// their offsets. It reads missing ones in between, and skips known ones.
func (l *Log) Feed(ctx context.Context, records []kafkalog.Record) error {
	if len(records) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.wake()
	if err := l.readTo(ctx, records[0].Offset); err != nil {
		return err
	}
	for _, r := range records {
		if err := l.apply(r); err != nil {
			return err
		}
	}
	return nil
}

// WithView calls fn with the view of control as far as it was read. fn holds the Log's lock: it
// must neither call the Log nor keep the View or its maps.
func (l *Log) WithView(fn func(v *View)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn(l.view)
}

// Announce gives a run, or a change, its number, by a RUN record. Call it once, before
// the run looks at anything that another one could change.
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

// NewEpoch returns the record that takes an epoch for the run after a settled turn.
func (l *Log) NewEpoch(settled uint64) *schemas.Epoch {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &schemas.Epoch{RunID: l.RunID, Run: l.Run, Settled: settled, Host: host, Began: time.Now().UnixMilli()}
}

// Join assigns the Log to a run that was announced elsewhere.
func (l *Log) Join(run int64, id [16]byte) { l.Run, l.RunID = run, id }

// OnSettled registers fn, called with every turn that is settled later, in order. fn runs under the
// Log's lock, like the function of WithView.
func (l *Log) OnSettled(fn OnSettled) {
	l.WithView(func(v *View) { v.onSettled = fn })
}

// SupersededLimit is how long Superseded waits for control: a run that ends because no broker
// responds has waited long enough.
const SupersededLimit = 10 * time.Second

// Superseded reads control again and reports whether a newer run has taken the epoch from the
// announced run or change, and which epoch is in force now. It gives up after SupersededLimit.
func (l *Log) Superseded(ctx context.Context) (over bool, epoch int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, SupersededLimit)
	defer cancel()
	if err := l.Update(ctx); err != nil {
		return false, 0, err
	}
	l.WithView(func(v *View) { over, epoch = v.Run > l.Run, v.Epoch })
	return over, epoch, nil
}

// IsNewest reads control again and reports whether epoch, the offset of an EPOCH, is the last one
// that counts.
func (l *Log) IsNewest(ctx context.Context, epoch int64) (bool, error) {
	if err := l.Update(ctx); err != nil {
		return false, err
	}
	newest := false
	l.WithView(func(v *View) { newest = v.Epoch == epoch })
	return newest, nil
}

// CountsFrom returns where the last settled turn ends on counts: an offset for each of
// its partitions, 0 before the first turn.
func (l *Log) CountsFrom(shards int) []int64 {
	from := make([]int64, shards)
	l.WithView(func(v *View) { copy(from, v.CountsEnd[v.Settled]) })
	return from
}
