package ledgerlog

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/fencing"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Store implements accounts.LedgerStore on a ledger topic. It is safe for concurrent use.
type Store struct {
	fencing.Fence
	userHash secret.Of[[32]byte]

	mu      sync.Mutex
	writers map[int]*kafkalog.Producer
}

// New returns a Store of the deployment's ledger. The caller must close it.
func New(client *kafkalog.Client, control *controllog.Log, d *deployment.Deployment) *Store {
	return NewOn(client, control, d, d.Config.Outputs.Ledger)
}

// NewOn returns a Store of the ledger of another generation.
func NewOn(client *kafkalog.Client, control *controllog.Log, d *deployment.Deployment, topic string) *Store {
	return &Store{
		Fence:    fencing.Fence{Client: client, Control: control, Prefix: fencing.LedgerIDs(d), Topic: topic},
		userHash: d.Config.Keys.UserHash, writers: map[int]*kafkalog.Producer{},
	}
}

// Acquire implements accounts.LedgerStore.
func (s *Store) Acquire(ctx context.Context, shard int, epoch int64,
	each func(accounts.LedgerRecord) error) (accounts.LedgerWriter, error) {
	p, fence, err := s.AcquirePartition(ctx, shard, epoch)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if old := s.writers[shard]; old != nil {
		old.Close()
	}
	s.writers[shard] = p
	s.mu.Unlock()
	bounds, err := s.Client.Offsets(ctx, s.Topic, int32(shard))
	if err != nil {
		return nil, fmt.Errorf("reading the ledger, topic %s, partition %d: %w", s.Topic, shard, err)
	}
	seal := schemas.NewLedgerSeal(s.userHash.Reveal(), shard)
	if err := read(ctx, &s.Fence, seal, shard, bounds.Start, fence+1, each); err != nil {
		return nil, err
	}
	return &ledgerWriter{producer: p, seal: seal, hook: s.Control.At, shard: shard}, nil
}

// read calls each for the records at the offsets [from, to) of a ledger partition, decrypted.
func read(ctx context.Context, f *fencing.Fence, seal *schemas.LedgerSeal, shard int, from, to int64,
	each func(accounts.LedgerRecord) error) error {
	err := f.Client.ReadRange(ctx, f.Topic, int32(shard), from, to, func(r kafkalog.Record) error {
		place := fmt.Sprintf("topic %s, partition %d, offset %d", f.Topic, shard, r.Offset)
		record, err := seal.OpenRecord(accounts.LedgerRecord{Key: r.Key, Value: r.Value, Place: place})
		if err == nil {
			err = each(record)
		}
		return Record(f.Control, f.Topic, &r, err)
	})
	if err != nil {
		return fmt.Errorf("reading the ledger, topic %s, partition %d: %w", f.Topic, shard, err)
	}
	return nil
}

// Record handles err, the error of decoding a ledger record. It reports a foreign record to control
// and skips it: if that has replaced a record of ours, the code that needs ours detects this. It
// returns the error of a record of another version of this program, which no run may skip.
func Record(control *controllog.Log, topic string, r *kafkalog.Record, err error) error {
	if errors.Is(err, schemas.ErrMalformed) {
		control.ReportForeign(topic, r.Partition, r.Offset, controllog.NotOurs)
		return nil
	}
	if err != nil {
		return fmt.Errorf("offset %d: %w", r.Offset, err)
	}
	return nil
}

// Close closes the producers of all acquired partitions. Their pending appends fail.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.writers {
		p.Close()
	}
}

// ledgerWriter implements accounts.LedgerWriter.
type ledgerWriter struct {
	producer *kafkalog.Producer
	seal     *schemas.LedgerSeal
	hook     crashpoint.Hook
	shard    int
}

// Append implements accounts.LedgerWriter. It does not wait until the records are written. The
// returned function does, and may be called several times.
func (w *ledgerWriter) Append(ctx context.Context, records []accounts.LedgerRecord) func(context.Context) error {
	msgs := make([]kafkalog.Message, len(records))
	for i, r := range records {
		msgs[i] = kafkalog.Message{Key: r.Key, Value: w.seal.Seal(r), Timestamp: kafkalog.Now()}
	}
	return fencing.Background(func() error {
		return w.hook.Around(crashpoint.DeltaWriting, crashpoint.DeltaWritten, w.shard, func() error {
			_, err := w.producer.Append(ctx, msgs)
			return fencing.AsSuperseded(err)
		})
	})
}
