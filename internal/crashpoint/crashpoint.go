package crashpoint

import (
	"context"

	"github.com/tollgate-dp/tollgate/transforms"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Points at which Hooks.At is called.
const (
	EpochWriting   = "epoch-writing"
	EpochWritten   = "epoch-written"
	CloseWriting   = "close-writing"
	CloseWritten   = "close-written"
	SettledWriting = "settled-writing"
	SettledWritten = "settled-written"
	FenceWriting   = "fence-writing"
	FenceWritten   = "fence-written"
	DeltaWriting   = "delta-writing"
	DeltaWritten   = "delta-written"
	CountsWriting  = "counts-writing"
	CountsWritten  = "counts-written"

	GenerationWriting = "generation-writing"
	GenerationWritten = "generation-written"
)

type hooksKey struct{}

// With makes everything that is run under the context call the hooks.
func With(ctx context.Context, h Hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

// From are the context's hooks; none where there are none.
func From(ctx context.Context) Hooks {
	h, _ := ctx.Value(hooksKey{}).(Hooks)
	return h
}

// Hooks let tests play what engines do. The zero value changes nothing.
type Hooks struct {
	// Forget is asked before every shard's turn what the process forgets.
	Forget func(shard int, turn uint64) spend.Forgetting
	// At is called right before and right after every kind of write, from any
	// goroutine: it may delay, or kill its own process. An error fails the
	// write. shard is −1 for control.
	At Hook
	// Restore, asked before every step of READ, makes the engine hand back the
	// step before: an older restriction and older elements.
	Restore func(step int) bool
}

// Hook calls Hooks.At.
type Hook func(point string, shard int) error

func (h Hook) reach(point string, shard int) error {
	if h == nil || point == "" {
		return nil
	}
	return h(point, shard)
}

// Around makes a write between two points.
func (h Hook) Around(before, after string, shard int, write func() error) error {
	if err := h.reach(before, shard); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return h.reach(after, shard)
}

// Restoring plays an engine that restores a checkpoint: READ is handed the
// restriction of an earlier step, and the elements that were buffered then come
// again.
type Restoring struct {
	Source  transforms.Source
	Restore func(step int) bool

	steps    int
	earlier  transforms.Position
	elements []transforms.Element
}

// Step implements transforms.Source.
func (r *Restoring) Step(ctx context.Context, at transforms.Position) (transforms.Step, error) {
	r.steps++
	again := r.steps > 1 && r.Restore(r.steps)
	handed := at
	if again {
		handed = r.earlier
		handed.Tick = at.Tick // Beam's own watermark cannot be put back here
	}
	step, err := r.Source.Step(ctx, handed)
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
