package transforms

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// SettlementWriter keeps settled turns where SPEND's Settlements and the Source
// find them. It may be told of the same turn again. If it is an io.Closer, its
// Settler closes it.
type SettlementWriter interface {
	WriteSettlement(ctx context.Context, s schemas.Settled) error
}

// NewSettler makes a Settler that puts together what the release shards of a
// turn have released and hands it on once all of them have acknowledged it.
// metrics are those of the Releaser.
func NewSettler(metrics []schemas.MetricSpec, w SettlementWriter) (Settler, error) {
	if w == nil {
		return nil, errors.New("making a settler: a writer of settlements is needed")
	}
	return &settler{metrics, w}, nil
}

type settler struct {
	metrics []schemas.MetricSpec
	w       SettlementWriter
}

// Close closes the SettlementWriter.
func (s *settler) Close() error {
	if c, ok := s.w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Settle implements Settler.
func (s *settler) Settle(ctx context.Context, blobs [][]byte) error {
	acks, err := spend.NewestAcks(blobs)
	if err != nil || acks == nil {
		return err
	}
	settled := spend.Settle(s.metrics, acks)
	if err := s.w.WriteSettlement(ctx, settled); err != nil {
		return fmt.Errorf("writing turn %d: %w", settled.Turn, err)
	}
	return nil
}
