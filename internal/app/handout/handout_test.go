package handout

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Turns before the first one are skipped, and no value is passed on twice, even if following starts
// again, or if a turn comes with earlier ones whose ends are missing.
func TestEachValueIsTakenOnce(t *testing.T) {
	t.Parallel()
	var tries int
	var taken []string
	h := New(50)
	h.Start(t.Context(), Options{
		Follow: func(_ context.Context, fn func(pipeline.Published) error) error {
			tries++
			for _, turn := range []uint64{50, 51, 53}[:tries] {
				p := pipeline.Published{Turn: turn}
				for n := uint64(50); n <= turn; n++ {
					p.Releases = append(p.Releases, schemas.Release{Turn: n, Key: string(rune('a' + n - 50))})
				}
				if err := fn(p); err != nil {
					return err
				}
			}
			return map[bool]error{true: errors.New("no broker responds")}[tries < 3]
		},
		OnTurn: func(p pipeline.Published) error {
			for _, r := range p.Releases {
				taken = append(taken, r.Key)
			}
			return nil
		},
		OnUnread: func(error) {},
	})
	if err := h.Wait(53, time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	h.Leave()
	if diff := cmp.Diff([]string{"b", "c", "d"}, taken); diff != "" || h.Unread() != nil || h.Err() != nil {
		t.Errorf("%s%v %v", diff, h.Unread(), h.Err())
	}
}
