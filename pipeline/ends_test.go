package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// An earlier run may close a turn after the bounded run has noted the ends of the topic and before
// it takes its epoch. The bounded run must read to the cuts of that turn, or it would wait for
// ever.
func TestABoundedRunReadsToTheCutsOfWhatIsClosed(t *testing.T) {
	t.Parallel()
	d := tenTurns(t, func(*deployment.Config) {})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, control := announced(t, d) // the earlier run; only its records matter
	before := control.Run
	w := must.Have(controllog.NewWriter(ctx, control))
	defer w.Close()
	must.Succeed(t, control.Announce(ctx))
	offsets := must.Have(w.Append(ctx, &schemas.Epoch{Run: before}))
	closed := time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC).UnixMilli()
	must.Have(w.Append(ctx, &schemas.Close{Epoch: offsets[0], Turn: 1, Contributions: 10,
		Cuts: []schemas.Cut{{Cut: 10, Restart: 10, AppendTime: closed, LeaderEpoch: -1}}}))
	s := newReader(t, d, client, control, reading.Options{Bounded: true, Ends: map[int32]int64{0: 5}})
	position := transforms.Restriction{Epoch: -1, Tick: 1}
	for range 5 {
		step := must.Have(s.Step(ctx, position))
		if step.Opened {
			return
		}
		position = step.Next
	}
	t.Error("the turn that the run before has closed was not opened")
}
