package publishing

import (
	"context"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
)

// grid selects the instants at which counts may appear: the multiples of interval since the Unix
// epoch, or any time if interval is 0. Without a grid, the time at which a value appears reveals
// how long its turn took, and so how many records there were.
type grid struct {
	interval time.Duration
	clock    crashpoint.Clock // nil: this machine's clock
}

// next returns the first instant of the grid that is not before now.
func (g grid) next(now time.Time) time.Time {
	every := int64(g.interval)
	nanos := now.UnixNano()
	if rest := nanos % every; rest > 0 {
		nanos += every - rest
	}
	return time.Unix(0, nanos)
}

// wait returns at the next instant of the grid. It returns an error if ctx ends. It also returns
// one if the client is closed, because the engine's context outlives a cancelled run.
func (g grid) wait(ctx context.Context, closed <-chan struct{}) error {
	if g.interval <= 0 {
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
