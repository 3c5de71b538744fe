package release

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tollgate-dp/tollgate/schemas"
)

// SettlementWriter stores settled turns for the Settlements of SPEND and for the Source. A Settler
// writes a turn once per epoch. Another Settler, or a later epoch, may write the turn again. Calls
// do not overlap. If a SettlementWriter is an io.Closer, its Settler closes it.
type SettlementWriter interface {
	WriteSettlement(ctx context.Context, s schemas.Settled) error
}

// NewSettler returns a Settler. metrics must be the metrics of the Releaser.
func NewSettler(metrics []schemas.MetricSpec, w SettlementWriter) (*Settler, error) {
	if w == nil {
		return nil, errors.New("creating a settler: a SettlementWriter is required")
	}
	return &Settler{metrics: metrics, w: w, lastSettled: map[int64]uint64{}}, nil
}

// Settler settles a turn when all release shards have acknowledged it, which implies that all
// ledger deltas of the turn are durable. It ignores acknowledgements of older epochs, and groups
// that lack a release shard. It is safe for concurrent use.
type Settler struct {
	metrics []schemas.MetricSpec
	w       SettlementWriter

	mu          sync.Mutex
	lastSettled map[int64]uint64 // by epoch: last settled turn
}

// Close closes the SettlementWriter.
func (s *Settler) Close() error { return closeIfCloser(s.w) }

// Settle implements transforms.Settler.
func (s *Settler) Settle(ctx context.Context, blobs [][]byte) error {
	acks, err := newestAcks(blobs)
	if err != nil || acks == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	head := &acks[0]
	if s.lastSettled[head.Epoch] >= head.Turn {
		return nil
	}
	if err := s.w.WriteSettlement(ctx, settledOf(s.metrics, acks)); err != nil {
		return fmt.Errorf("writing turn %d: %w", head.Turn, err)
	}
	s.lastSettled[head.Epoch] = head.Turn
	return nil
}
