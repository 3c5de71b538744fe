package pipeline

import (
	"context"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// atWork is a Spender or Releaser that lets stalls know when it begins and ends a part of a turn:
// as long as one part follows another, the turn is large and not stuck.
type atWork struct {
	stalls *watch.Stalls
	do     func(ctx context.Context, shard int, blobs [][]byte) (spend.Pending, error)
}

// Spend implements transforms.Spender.
func (w atWork) Spend(ctx context.Context, shard int, envelope [][]byte) (spend.Pending, error) {
	return w.part(ctx, shard, envelope)
}

// Release implements transforms.Releaser.
func (w atWork) Release(ctx context.Context, shard int, partials [][]byte) (spend.Pending, error) {
	return w.part(ctx, shard, partials)
}

func (w atWork) part(ctx context.Context, shard int, blobs [][]byte) (spend.Pending, error) {
	w.stalls.Work(time.Now())
	pending, err := w.do(ctx, shard, blobs)
	w.stalls.Work(time.Now())
	return pending, err
}
