package publishing

import (
	"context"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
)

// grid selects the instants at which counts may appear: the multiples of every since the Unix
// epoch; if every is 0, at once. Without a grid, the time when a value appears reveals how long its
// turn took, and so how many records there were.
type grid struct {
	every time.Duration
	clock crashpoint.Clock // nil: the machine's clock
}

// next returns the first instant of the grid at or after a time.
func (g grid) next(now time.Time) time.Time {
	every := int64(g.every)
	nanos := now.UnixNano()
	if rest := nanos % every; rest > 0 {
		nanos += every - rest
	}
	return time.Unix(0, nanos)
}

// wait returns at the next instant of the grid. It returns an error if ctx ends or, because the
// engine's context outlives a cancelled run, if the client is closed.
func (g grid) wait(ctx context.Context, closed <-chan struct{}) error {
	if g.every <= 0 {
		return nil
	}
	if g.clock == nil {
		g.clock = machineClock{}
	}
	select {
	case <-g.clock.At(g.next):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-closed:
		return kafkalog.ErrClosed
	}
}

// machineClock is this machine's clock.
type machineClock struct{}

// At implements crashpoint.Clock.
func (machineClock) At(next func(time.Time) time.Time) <-chan time.Time {
	now := time.Now()
	return time.After(next(now).Sub(now))
}
