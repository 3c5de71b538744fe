package controllog

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Settlement implements spend.Settlements: read once per process, for the few
// turns that are charged now; older ones are read again.
func (t *Log) Settlement(ctx context.Context, turn uint64) (*spend.Settlement, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range 2 {
		if s, ok := t.view.settlements[turn]; ok {
			return s, nil
		}
		if at, ok := t.view.SettledAt[turn]; ok {
			s, err := t.settledFrom(ctx, turn, at)
			if err != nil {
				return nil, err
			}
			t.view.remember(s)
			return s, nil
		}
		bounds, err := t.client.Offsets(ctx, t.Topic, Partition)
		if err != nil {
			return nil, fmt.Errorf("reading control: %w", err)
		}
		if err := t.readTo(ctx, bounds.LastStable); err != nil {
			return nil, err
		}
	}
	err := fmt.Errorf("looking for the settlement of turn %d: control does not hold it as far back as it was read: %w", turn, deployment.ErrLogFault)
	if turn <= t.view.Settled {
		err = fmt.Errorf("%w: %w", err, spend.ErrForgotten)
	}
	return nil, err
}

var ErrFound = errors.New("found")

func (t *Log) settledFrom(ctx context.Context, turn uint64, at int64) (*spend.Settlement, error) {
	var parts []schemas.Settled
	err := t.client.ReadRange(ctx, t.Topic, Partition, at, t.view.Next, func(r kafkalog.Record) error {
		c, _, err := Decode(&r)
		if err != nil {
			return err
		}
		s, ok := c.Body.(*schemas.Settled)
		if !ok || s.Turn < turn || s.First > turn || (len(parts) > 0 && (s.Epoch != parts[0].Epoch || s.Digest != parts[0].Digest)) {
			return nil
		}
		parts = append(parts, *s)
		if s.Part+1 == s.Parts {
			return ErrFound
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrFound) {
		return nil, fmt.Errorf("reading control for turn %d: %w", turn, err)
	}
	whole, err := schemas.JoinSettled(parts)
	if err != nil {
		return nil, fmt.Errorf("reading control for turn %d: %w", turn, err)
	}
	return spend.NewSettlement(whole), nil
}
