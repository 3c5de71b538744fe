package publishing

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestInstantsOfTheGrid(t *testing.T) {
	for _, c := range []struct {
		every, now, want time.Duration
	}{
		{time.Second, 0, 0}, {time.Second, 1, time.Second}, {time.Second, 999 * time.Millisecond, time.Second},
		{time.Second, time.Second, time.Second}, {time.Minute, 61 * time.Second, 2 * time.Minute},
	} {
		if got := (grid{interval: c.every}).next(time.Unix(0, int64(c.now))); got != time.Unix(0, int64(c.want)) {
			t.Errorf("every %v, at %v: next is %v", c.every, c.now, got.UnixNano())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (grid{interval: time.Hour * 24 * 365 * 50}).wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting after the end: %v", err)
	}
	if err := (grid{}).wait(ctx, nil); err != nil {
		t.Errorf("without a grid: %v", err)
	}
}

// By the machine's clock as well a wait ends at the next instant, however long the work took.
func TestAWaitEndsAtTheNextInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = 400 * time.Millisecond
		for work := time.Duration(1); work < 2*every; work += 7 * time.Millisecond {
			time.Sleep(work)
			ready := time.Now()
			err := (grid{interval: every}).wait(t.Context(), nil)
			if now := time.Now(); err != nil || now.UnixNano()%int64(every) != 0 || now.Sub(ready) >= every {
				t.Errorf("ready at %v, it waited until %v, %v", ready, now, err)
			}
		}
	})
}
