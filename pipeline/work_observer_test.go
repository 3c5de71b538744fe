package pipeline

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// What decides and releases a part of a turn is seen at work when the part begins and when it ends.
func TestAStageIsSeenAtWork(t *testing.T) {
	t.Parallel()
	stalls := watch.New(watch.Rules{}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	worked := func() time.Time {
		p, _ := stalls.Observed()
		return p.Worked
	}
	var inside time.Time
	w := workObserver{stalls, func(context.Context, int, [][]byte) (spend.Pending, error) {
		if inside = worked(); inside.IsZero() {
			t.Error("the beginning of a part was not seen")
		}
		time.Sleep(time.Millisecond) // the clock has moved
		return nil, nil
	}}
	for name, part := range map[string]func(context.Context, int, [][]byte) (spend.Pending, error){"spend": w.Spend, "release": w.Release} {
		before := worked()
		if _, err := part(t.Context(), 0, nil); err != nil || !inside.After(before) || !worked().After(inside) {
			t.Errorf("%s: %v, seen at %v, %v and %v", name, err, before, inside, worked())
		}
	}
}
