package controllog

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Settlement implements spend.Settlements: it returns the releases of a turn. It keeps the last few
// settlements in memory, and reads older ones again. It returns deployment.ErrLogFault if control
// does not contain the turn. If the turn is settled but no longer remembered, that error also wraps
// spend.ErrForgotten.
func (l *Log) Settlement(ctx context.Context, turn uint64) (*spend.Settlement, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range 2 {
		if s, ok := l.view.settlements[turn]; ok {
			return s, nil
		}
		if offset, ok := l.view.SettledAt[turn]; ok {
			s, err := l.settledFrom(ctx, turn, offset)
			if err != nil {
				return nil, err
			}
			l.view.remember(s)
			return s, nil
		}
		bounds, err := l.client.Offsets(ctx, l.Topic, Partition)
		if err != nil {
			return nil, fmt.Errorf("reading control: %w", err)
		}
		if err := l.readTo(ctx, bounds.LastStable); err != nil {
			return nil, err
		}
	}
	err := fmt.Errorf("finding the settlement of turn %d: it is not among the records of control that were read: %w",
		turn, deployment.ErrLogFault)
	if turn <= l.view.Settled {
		err = fmt.Errorf("%w: %w", err, spend.ErrForgotten)
	}
	return nil, err
}

// settledFrom reads the settlement of a turn. offset is where its first part is.
func (l *Log) settledFrom(ctx context.Context, turn uint64, offset int64) (*spend.Settlement, error) {
	var parts []schemas.Settled
	err := l.client.ReadRange(ctx, l.Topic, Partition, offset, l.view.Next, func(r kafkalog.Record) error {
		c, _, err := Decode(&r)
		if err != nil {
			return err
		}
		s, ok := c.Body.(*schemas.Settled)
		if !ok || s.Turn != turn ||
			(len(parts) > 0 && (s.Epoch != parts[0].Epoch || s.Digest != parts[0].Digest)) {
			return nil
		}
		parts = append(parts, *s)
		if s.Part+1 == s.Parts {
			return kafkalog.StopReading
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading control for turn %d: %w", turn, err)
	}
	settled, err := schemas.JoinSettled(parts)
	if err != nil {
		return nil, fmt.Errorf("reading control for turn %d: %w", turn, err)
	}
	return spend.NewSettlement(settled), nil
}
