package publishing

import (
	"context"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafkalog"
)

// grid is the distance between the instants at which counts may appear: multiples of it
// since the Unix epoch, by the wall clock. Without a grid the moment at which a value
// appears tells how long its turn took, and so how much there was to count. 0: at once.
type grid time.Duration

// next returns the first instant of the grid that is not before a time.
func (g grid) next(now time.Time) time.Time {
	every := int64(g)
	at := now.UnixNano()
	if rest := at % every; rest > 0 {
		at += every - rest
	}
	return time.Unix(0, at)
}

// wait returns at an instant of the grid, with ctx's error, or when the client is
// closed: the engine's context outlives a run that was ended.
func (g grid) wait(ctx context.Context, closed <-chan struct{}) error {
	if g <= 0 {
		return nil
	}
	timer := time.NewTimer(time.Until(g.next(time.Now())))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-closed:
		return kafkalog.ErrClosed
	}
}
