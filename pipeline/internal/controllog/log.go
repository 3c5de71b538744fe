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
	// MaxRecord is the maximum size of a record of control in bytes, which is less than the usual
	// message limit. A larger SETTLED is written in parts.
	MaxRecord = 900 << 10
)

// Log follows the control log for every stage of a process. Its methods are safe for concurrent
// use. Its exported fields are set by Open and Announce, or by the caller before the Log is shared.
type Log struct {
	client *kafkalog.Client
	Topic  string           // the control topic
	log    *slog.Logger     // logs ignored records
	At     crashpoint.Hook  // for tests: called around every write to control, ledger and counts
	Clock  crashpoint.Clock // for tests: times the publication of counts

	foreignMu sync.Mutex
	foreign   map[string]reportedForeign // by topic and partition

	mu      sync.Mutex
	view    *View
	changed chan struct{} // closed and replaced when the view changes
	// Header is the header that was in force when the Log was opened, and HeaderAt is the offset of
	// its record. The View holds those in force now.
	Header   *schemas.Header
	HeaderAt int64
	// Run is the number of the run or change: the offset of its RUN record. RunID is its name,
	// which consists of 128 random bits. Announce sets both, or a worker copies them from its run.
	Run   int64
	RunID [16]byte
}

// Missing wraps the error of reading control. It adds the remedy if the topic does not exist.
func Missing(err error) error {
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		err = fmt.Errorf("%w: begin the deployment with tollgate init --create-topics, or correct deployment or "+
			"outputs.control", err)
	}
	return fmt.Errorf("reading control: %w", err)
}

// Open reads the control log to its current end. It begins with the oldest record that a start
// needs, to which the newest record points back. ledgerSlots sets how many turns to remember until
// the HEADER has been read. log receives warnings about foreign records. Errors:
// deployment.ErrNotInitialised without a HEADER, deployment.ErrLogFault for a damaged or shortened
// topic, or the broker's error.
func Open(ctx context.Context, client *kafkalog.Client, topic string, ledgerSlots int, log *slog.Logger) (*Log, error) {
	l := &Log{client: client, Topic: topic, log: log, foreign: map[string]reportedForeign{}, view: NewView(ledgerSlots),
		changed: make(chan struct{})}
	l.view.reportForeign = func(offset int64, what string) { l.ReportForeign(l.Topic, Partition, offset, what) }
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
	first, err := l.lastOwn(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if _, ok := first.Body.(*schemas.Header); !ok {
		return nil, fmt.Errorf("reading control: topic %s does not begin with a HEADER: check that it is this "+
			"deployment's control topic: %w", l.Topic, deployment.ErrNotInitialised)
	}
	last, err := l.newestOwn(ctx, bounds.LastStable)
	if err != nil {
		return nil, err
	}
	if err := l.beginGeneration(ctx, last.Generation); err != nil {
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

// beginGeneration puts the generation recorded at an offset in force. Reading may begin after it.
func (l *Log) beginGeneration(ctx context.Context, offset int64) error {
	c, err := l.record(ctx, offset)
	if err != nil {
		return err
	}
	var h *schemas.Header
	switch b := c.Body.(type) {
	case *schemas.Header:
		h = b
	case *schemas.Generation:
		h = &b.Header
	default:
		return fmt.Errorf("reading control at offset %d: a HEADER or GENERATION was expected: %w", offset,
			deployment.ErrLogFault)
	}
	l.view.Header, l.view.HeaderAt, l.view.history = h, offset, 2*uint64(h.LedgerSlots)
	return nil
}

// EpochAt returns the EPOCH at an offset. Offset −1 stands for the time before the first EPOCH, for
// which EpochAt returns an EPOCH of run −1.
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
		return nil, fmt.Errorf("reading control at offset %d: a later record refers to it as an EPOCH, but it is "+
			"another record: %w", offset, deployment.ErrLogFault)
	}
	return e, nil
}

// record returns the record at an offset. It returns an error if this program did not write it.
func (l *Log) record(ctx context.Context, offset int64) (schemas.Control, error) {
	c, err := l.lastOwn(ctx, offset, offset+1)
	if err == nil && c.Body == nil {
		err = fmt.Errorf("reading control at offset %d: no record of Tollgate is there: check that the topic was not "+
			"compacted: %w", offset, deployment.ErrLogFault)
	}
	return c, err
}

// WrittenAt returns the timestamp of the record at an offset. If the topic has append times, that
// is the append time.
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

// newestOwn returns the last record before offset end that this program wrote.
func (l *Log) newestOwn(ctx context.Context, end int64) (schemas.Control, error) {
	const batch = 64 // foreign records are rare
	for to := end; to > 0; to -= batch {
		if c, err := l.lastOwn(ctx, max(0, to-batch), to); err != nil || c.Body != nil {
			return c, err
		}
	}
	return schemas.Control{}, fmt.Errorf("reading control: topic %s has lost its HEADER: %w", l.Topic,
		deployment.ErrLogFault)
}

// lastOwn returns the last record at the offsets [from, to) that this program wrote. If there is
// none, the result has no body.
func (l *Log) lastOwn(ctx context.Context, from, to int64) (c schemas.Control, err error) {
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

// Update reads the control log to its current end.
func (l *Log) Update(ctx context.Context) error {
	bounds, err := l.client.Offsets(ctx, l.Topic, Partition)
	if err != nil {
		return fmt.Errorf("reading control: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.wake()
	return l.readTo(ctx, bounds.LastStable)
}

// wake wakes the goroutines that wait for the view to change.
func (l *Log) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// sharedRead is how long AwaitSettled waits for another stage to read control before it does.
const sharedRead = 100 * time.Millisecond

// AwaitSettled waits until control contains a valid SETTLED of a turn, which no later record
// revokes. It returns false if control, read to its current end, contains none. Then the SETTLED
// that the caller wrote does not count, because a newer run had started an epoch.
func (l *Log) AwaitSettled(ctx context.Context, turn uint64) (bool, error) {
	timer := time.NewTimer(sharedRead)
	defer timer.Stop()
	for {
		l.mu.Lock()
		settled, moved := l.view.Settled >= turn, l.changed
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

// Await waits until the view changes. After limit, it reads control to its end and returns.
func (l *Log) Await(ctx context.Context, limit time.Duration) error {
	l.mu.Lock()
	moved := l.changed
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

// readTo reads control up to, but not including, offset end, which must exist.
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

// apply passes a record of control to the view, unless the view contains it.
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

// Feed applies records of control that the caller has fetched, in the order of their offsets. It
// first reads missing earlier records. It skips records that the view contains.
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

// WithView calls fn with the view of control as far as it has been read. fn runs under the Log's
// lock, so it must not call the Log. It must not keep the View or its maps.
func (l *Log) WithView(fn func(v *View)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn(l.view)
}

// TryView is like WithView, but does nothing if the Log is locked. A goroutine that reads control
// holds the lock, even while no broker responds.
func (l *Log) TryView(fn func(v *View)) {
	if l.mu.TryLock() {
		defer l.mu.Unlock()
		fn(l.view)
	}
}

// Announce writes a RUN record. The offset of this record is the number of the run or change. Call
// it once, before the run reads anything that another run could change.
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

// NewEpoch returns the EPOCH that the run writes after a settled turn.
func (l *Log) NewEpoch(settled uint64) *schemas.Epoch {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &schemas.Epoch{RunID: l.RunID, Run: l.Run, Settled: settled, Host: host, Began: time.Now().UnixMilli()}
}

// OnSettled registers fn, which is called for every turn that is settled later, in order. fn runs
// under the Log's lock, like the function of WithView.
func (l *Log) OnSettled(fn OnSettled) {
	l.WithView(func(v *View) { v.onSettled = fn })
}

// SupersededLimit is how long Superseded waits for control at most. A run that ends without a
// broker has already waited.
const SupersededLimit = 10 * time.Second

// Superseded reads control and reports whether a run newer than the announced run or change has
// started an epoch. It also returns the epoch in force. It gives up after SupersededLimit.
func (l *Log) Superseded(ctx context.Context) (superseded bool, epoch int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, SupersededLimit)
	defer cancel()
	if err := l.Update(ctx); err != nil {
		return false, 0, err
	}
	l.WithView(func(v *View) { superseded, epoch = v.Run > l.Run, v.Epoch })
	return superseded, epoch, nil
}

// IsNewest reads control and reports whether epoch, the offset of an EPOCH, is the epoch in force.
func (l *Log) IsNewest(ctx context.Context, epoch int64) (bool, error) {
	if err := l.Update(ctx); err != nil {
		return false, err
	}
	newest := false
	l.WithView(func(v *View) { newest = v.Epoch == epoch })
	return newest, nil
}

// CountsFrom returns where the last settled turn ends on counts, as an offset for each partition.
// Before the first turn, all offsets are 0.
func (l *Log) CountsFrom(shards int) []int64 {
	from := make([]int64, shards)
	l.WithView(func(v *View) { copy(from, v.CountsEnd[v.Settled]) })
	return from
}
