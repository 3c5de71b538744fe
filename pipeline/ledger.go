package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// fencing takes partitions of ledger and counts: whoever receives the first
// element of an epoch for a partition makes a producer with the partition's
// transactional id, which refuses every older one from the first record on
// that the new one writes.
type fencing struct {
	client *klog.Client
	tail   *tail
	prefix string // deployment/ledger- or deployment/counts-
	topic  string
}

// takeTries is how often the newest run takes a partition that an older one,
// late in its own taking, has snatched from it.
const takeTries = 5

// take returns the partition's new producer and the offset of its fence
// record. state.ErrSuperseded says that epoch is not the newest. An older run
// that was still the newest when it asked can raise the producer's epoch over
// ours; it finds that out itself and drops its element, and we take again.
func (f *fencing) take(ctx context.Context, partition int, epoch int64) (*klog.Producer, int64, error) {
	for try := 1; ; try++ {
		p, at, err := f.tryTake(ctx, partition, epoch)
		if !errors.Is(err, klog.ErrFenced) || try == takeTries {
			return p, at, asSuperseded(err)
		}
	}
}

// tryTake asks whether epoch is the newest before and after the producer's
// epoch is raised: the newest must win.
func (f *fencing) tryTake(ctx context.Context, partition int, epoch int64) (*klog.Producer, int64, error) {
	newest, err := f.tail.isNewest(ctx, epoch)
	if err != nil {
		return nil, 0, err
	}
	if !newest {
		return nil, 0, state.ErrSuperseded
	}
	p, err := f.client.NewProducer(ctx, f.topic, int32(partition), fmt.Sprintf("%s%d", f.prefix, partition))
	if err != nil {
		return nil, 0, fmt.Errorf("taking partition %d of %s: %w", partition, f.topic, err)
	}
	if newest, err = f.tail.isNewest(ctx, epoch); err != nil || !newest {
		p.Close()
		if err == nil {
			err = state.ErrSuperseded
		}
		return nil, 0, err
	}
	id, producerEpoch := p.Identity()
	fence := klog.Message{
		Key:     schemas.FenceKey(),
		Value:   schemas.EncodeFence(schemas.Fence{Epoch: epoch, ProducerID: id, ProducerEpoch: producerEpoch}),
		Headers: []klog.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeFence)}}, Timestamp: klog.Now(),
	}
	var at int64
	err = f.tail.at.around(PointFenceWriting, PointFenceWritten, partition, func() error {
		var err error
		at, err = p.Append(ctx, []klog.Message{fence})
		return err
	})
	if err != nil {
		p.Close()
		return nil, 0, fmt.Errorf("fencing partition %d of %s: %w", partition, f.topic, err)
	}
	return p, at, nil
}

// asSuperseded says in the pipeline's words that a producer was fenced, or
// closed by a newer epoch of this process, which has taken the partition.
func asSuperseded(err error) error {
	if errors.Is(err, klog.ErrFenced) || errors.Is(err, klog.ErrClosed) {
		return fmt.Errorf("%w: %w", state.ErrSuperseded, err)
	}
	return err
}

// ledgerStore implements state.LedgerStore on the ledger topic.
type ledgerStore struct {
	fencing

	mu      sync.Mutex
	writers map[int]*klog.Producer
}

func newLedgerStore(client *klog.Client, t *tail, d *Deployment) *ledgerStore {
	return newLedgerStoreOn(client, t, d, d.Config.Outputs.Ledger)
}

// newLedgerStoreOn is newLedgerStore for a topic of another generation.
func newLedgerStoreOn(client *klog.Client, t *tail, d *Deployment, topic string) *ledgerStore {
	return &ledgerStore{
		fencing: fencing{client: client, tail: t, prefix: d.Config.Deployment + "/ledger-", topic: topic},
		writers: map[int]*klog.Producer{},
	}
}

// Take implements state.LedgerStore.
func (s *ledgerStore) Take(ctx context.Context, shard int, epoch int64, each func(state.LedgerRecord) error) (state.LedgerWriter, error) {
	p, fence, err := s.take(ctx, shard, epoch)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if old := s.writers[shard]; old != nil {
		old.Close()
	}
	s.writers[shard] = p
	s.mu.Unlock()
	bounds, err := s.client.Offsets(ctx, s.topic, int32(shard))
	if err != nil {
		return nil, fmt.Errorf("reading partition %d of the ledger: %w", shard, err)
	}
	err = s.client.ReadRange(ctx, s.topic, int32(shard), bounds.Start, fence+1, func(r klog.Record) error {
		return s.tail.ledgerRecord(s.topic, &r, each(state.LedgerRecord{Key: r.Key, Value: r.Value}))
	})
	if err != nil {
		return nil, fmt.Errorf("reading partition %d of the ledger: %w", shard, err)
	}
	return &ledgerWriter{producer: p, at: s.tail.at, shard: shard}, nil
}

// ledgerRecord passes over a record that is no part of a ledger: what it stands in
// the place of, if anything, is missing then, and is missed where it is needed. One
// of another version of this program may say anything: nobody goes on without it.
func (t *tail) ledgerRecord(topic string, r *klog.Record, err error) error {
	if errors.Is(err, schemas.ErrMalformed) || err == nil && r.Value == nil { // no ledger writes tombstones
		t.stray(topic, r.Partition, r.Offset, notOurs)
		return nil
	}
	if err != nil {
		return fmt.Errorf("offset %d: %w", r.Offset, err)
	}
	return nil
}

func (s *ledgerStore) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.writers {
		p.Close()
	}
}

// ledgerWriter implements state.LedgerWriter.
type ledgerWriter struct {
	producer *klog.Producer
	at       hook
	shard    int
}

// Append implements state.LedgerWriter: the records are on their way when it
// returns, and wait may be called several times.
func (w *ledgerWriter) Append(ctx context.Context, records []state.LedgerRecord) func(context.Context) error {
	msgs := make([]klog.Message, len(records))
	for i, r := range records {
		msgs[i] = klog.Message{Key: r.Key, Value: r.Value, Timestamp: klog.Now()}
	}
	return background(func() error {
		return w.at.around(PointDeltaWriting, PointDeltaWritten, w.shard, func() error {
			_, err := w.producer.Append(ctx, msgs)
			return asSuperseded(err)
		})
	})
}

// background starts fn and returns what waits for it, as often as it is
// called.
func background(fn func() error) func(context.Context) error {
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = fn()
	}()
	return func(ctx context.Context) error {
		select {
		case <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
