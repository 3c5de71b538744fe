package pipeline

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// settler is SETTLE: once every release shard has acknowledged a joint, which
// implies that all its ledger deltas are durable, it writes SETTLED. It
// implements transforms.Settler.
type settler struct {
	dep     *Deployment
	turns   *turns
	tail    *tail
	control *controlWriter
	notify  func(Settlement)

	mu   sync.Mutex
	done map[int64]uint64 // by epoch: the last turn settled here
}

// Settle implements transforms.Settler. Acknowledgements of older epochs, and
// a group in which one is missing, settle nothing.
func (s *settler) Settle(ctx context.Context, blobs [][]byte) error {
	acks, err := spend.NewestAcks(blobs)
	if err != nil || acks == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	head := acks[0]
	if s.done[head.Epoch] >= head.Turn {
		return nil
	}
	settled := spend.Settle(specsOf(s.dep), acks)
	if err := s.write(ctx, settled); err != nil {
		return err
	}
	s.done[head.Epoch] = head.Turn
	if s.notify != nil {
		end := s.turns.end(head.Turn)
		s.notify(Settlement{First: head.First, Turn: head.Turn, WindowEnd: time.UnixMilli(end).UTC(), Keys: len(settled.Keys)})
	}
	return nil
}

func (s *settler) write(ctx context.Context, settled schemas.Settled) error {
	parts, err := schemas.SplitSettled(settled, maxControlRecord)
	if err != nil {
		return fmt.Errorf("writing turn %d: %w", settled.Turn, err)
	}
	bodies := make([]schemas.ControlBody, len(parts))
	for i := range parts {
		bodies[i] = &parts[i]
	}
	if _, err := s.control.append(ctx, bodies...); err != nil {
		return fmt.Errorf("writing turn %d: %w", settled.Turn, err)
	}
	return nil
}
