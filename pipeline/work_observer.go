package pipeline

import (
	"context"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// workObserver is a Spender or Releaser that reports the start and end of its work to stalls. A
// large turn therefore does not count as stalled.
type workObserver struct {
	stalls *watch.Stalls
	work   func(ctx context.Context, shard int, blobs [][]byte) (spend.Pending, error)
}

// Spend implements transforms.Spender.
func (w workObserver) Spend(ctx context.Context, shard int, envelope [][]byte) (spend.Pending, error) {
	return w.observe(ctx, shard, envelope)
}

// Release implements transforms.Releaser.
func (w workObserver) Release(ctx context.Context, shard int, partials [][]byte) (spend.Pending, error) {
	return w.observe(ctx, shard, partials)
}

func (w workObserver) observe(ctx context.Context, shard int, blobs [][]byte) (spend.Pending, error) {
	w.stalls.ObserveWork(time.Now())
	pending, err := w.work(ctx, shard, blobs)
	w.stalls.ObserveWork(time.Now())
	return pending, err
}
