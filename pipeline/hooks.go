package pipeline

import (
	"context"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// Points at which Hooks.At is called.
const (
	PointEpochWriting   = "epoch-writing"
	PointEpochWritten   = "epoch-written"
	PointCloseWriting   = "close-writing"
	PointCloseWritten   = "close-written"
	PointSettledWriting = "settled-writing"
	PointSettledWritten = "settled-written"
	PointFenceWriting   = "fence-writing"
	PointFenceWritten   = "fence-written"
	PointDeltaWriting   = "delta-writing"
	PointDeltaWritten   = "delta-written"
	PointCountsWriting  = "counts-writing"
	PointCountsWritten  = "counts-written"

	PointGenerationWriting = "generation-writing"
	PointGenerationWritten = "generation-written"
)

// controlPoints are the points around a write to control.
func controlPoints(b schemas.ControlBody) (before, after string) {
	switch b.(type) {
	case *schemas.Epoch:
		return PointEpochWriting, PointEpochWritten
	case *schemas.Close:
		return PointCloseWriting, PointCloseWritten
	case *schemas.Settled:
		return PointSettledWriting, PointSettledWritten
	case *schemas.Generation:
		return PointGenerationWriting, PointGenerationWritten
	}
	return "", ""
}

// hook calls Hooks.At.
type hook func(point string, shard int) error

func (h hook) reach(point string, shard int) error {
	if h == nil || point == "" {
		return nil
	}
	return h(point, shard)
}

// around makes a write between two points.
func (h hook) around(before, after string, shard int, write func() error) error {
	if err := h.reach(before, shard); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return h.reach(after, shard)
}

// restoring plays an engine that restores a checkpoint: READ is handed the
// restriction of an earlier step, and the elements that were buffered then come
// again.
type restoring struct {
	source  transforms.Source
	restore func(step int) bool

	steps    int
	earlier  transforms.Position
	elements []transforms.Element
}

// Step implements transforms.Source.
func (r *restoring) Step(ctx context.Context, at transforms.Position) (transforms.Step, error) {
	r.steps++
	again := r.steps > 1 && r.restore(r.steps)
	handed := at
	if again {
		handed = r.earlier
		handed.Tick = at.Tick // Beam's own watermark cannot be put back here
	}
	step, err := r.source.Step(ctx, handed)
	if err != nil {
		return step, err
	}
	elements := step.Elements
	if again && len(elements) > 0 {
		step.Elements = append(append([]transforms.Element{}, r.elements...), elements...)
	}
	r.earlier, r.elements = at, elements
	return step, nil
}
