package publishing

import (
	"context"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
)

// grid is the interval of the instants at which counts may appear: its multiples since the Unix
// epoch, by the wall clock. Without a grid, the moment at which a value appears reveals how long
// its turn took, and so how much there was to count. 0: at once.
type grid struct {
	every time.Duration
	clock crashpoint.Clock // nil: the machine's
}

// next returns the first instant of the grid that is not before a time.
func (g grid) next(now time.Time) time.Time {
	every := int64(g.every)
	nanos := now.UnixNano()
	if rest := nanos % every; rest > 0 {
		nanos += every - rest
	}
	return time.Unix(0, nanos)
}

// wait returns at an instant of the grid, with ctx's error, or when the client is
// closed: the engine's context outlives a run that was ended.
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

// machineClock is the clock of package time.
type machineClock struct{}

// At implements crashpoint.Clock.
func (machineClock) At(next func(time.Time) time.Time) <-chan time.Time {
	now := time.Now()
	return time.After(next(now).Sub(now))
}
