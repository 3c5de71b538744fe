package publishing

import (
	"context"
	"fmt"
	"sync"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Settler is SETTLE: once every release shard has acknowledged a span, which
// implies that all its ledger deltas are durable, it writes SETTLED. It
// implements transforms.Settler.
type Settler struct {
	dep     *deployment.Deployment
	turns   *calendar.Turns
	control *controllog.Writer
	notify  func(settled schemas.Settled, end int64) // nil: nobody is told

	mu   sync.Mutex
	done map[int64]uint64 // by epoch: the last turn settled here
}

// NewSettler prepares SETTLE. notify is called after every settled span, from one goroutine; nil:
// nobody is told.
func NewSettler(ctx context.Context, t *controllog.Log, d *deployment.Deployment, turns *calendar.Turns, notify func(settled schemas.Settled, end int64)) (*Settler, error) {
	control, err := controllog.NewWriter(ctx, t)
	if err != nil {
		return nil, err
	}
	return &Settler{dep: d, turns: turns, control: control, notify: notify, done: map[int64]uint64{}}, nil
}

func (s *Settler) Close() { s.control.Close() }

// Settle implements transforms.Settler. Acknowledgements of older epochs, and
// a group in which one is missing, settle nothing.
func (s *Settler) Settle(ctx context.Context, blobs [][]byte) error {
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
	settled := spend.Settle(deployment.Specs(s.dep), acks)
	if err := s.write(ctx, settled); err != nil {
		return err
	}
	s.done[head.Epoch] = head.Turn
	if s.notify != nil {
		s.notify(settled, s.turns.End(head.Turn))
	}
	return nil
}

func (s *Settler) write(ctx context.Context, settled schemas.Settled) error {
	parts, err := schemas.SplitSettled(settled, controllog.MaxRecord)
	if err != nil {
		return fmt.Errorf("writing turn %d: %w", settled.Turn, err)
	}
	bodies := make([]schemas.ControlBody, len(parts))
	for i := range parts {
		bodies[i] = &parts[i]
	}
	if _, err := s.control.Append(ctx, bodies...); err != nil {
		return fmt.Errorf("writing turn %d: %w", settled.Turn, err)
	}
	return nil
}
