package publishing

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestInstantsOfTheGrid(t *testing.T) {
	for _, c := range []struct {
		every, now, want time.Duration
	}{
		{time.Second, 0, 0}, {time.Second, 1, time.Second}, {time.Second, 999 * time.Millisecond, time.Second},
		{time.Second, time.Second, time.Second}, {time.Minute, 61 * time.Second, 2 * time.Minute},
	} {
		if got := grid(c.every).next(time.Unix(0, int64(c.now))); got != time.Unix(0, int64(c.want)) {
			t.Errorf("every %v, at %v: next is %v", c.every, c.now, got.UnixNano())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := grid(time.Hour*24*365*50).wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting after the end: %v", err)
	}
	if err := grid(0).wait(ctx, nil); err != nil {
		t.Errorf("without a grid: %v", err)
	}
}
