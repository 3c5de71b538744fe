package crashpoint

import (
	"context"
	"time"
)

// The points at which Hooks.At is called: right before (Writing) or right after (Written) the named
// record or values are written.
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
	EndWriting     = "end-writing"
	EndWritten     = "end-written"
	// In runs with several READs.
	ReaderWriting = "reader-writing"
	ReaderWritten = "reader-written"
	PassedWriting = "passed-writing"
	PassedWritten = "passed-written"

	DrainWriting = "drain-writing"
	DrainWritten = "drain-written"

	// In init, which begins a deployment.
	HeaderWriting = "header-writing"
	HeaderWritten = "header-written"

	GenerationWriting = "generation-writing"
	GenerationWritten = "generation-written"
)

type hooksKey struct{}

// With returns a context for a run or a change. The stages of that run or change call the hooks.
func With(ctx context.Context, h Hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

// From returns the hooks of a context, or the zero Hooks if it has none.
func From(ctx context.Context) Hooks {
	h, _ := ctx.Value(hooksKey{}).(Hooks)
	return h
}

// Hooks let tests imitate an engine. The zero value changes nothing.
type Hooks struct {
	// Forget is called before each turn of a shard. It reports whether the process loses the shard.
	Forget func(shard int, turn uint64) bool
	// At is called at every point.
	At Hook
	// Restore is called before every step of a READ whose previous step opened a turn. step is the
	// number of such steps, counted from 2. If Restore returns true, the engine restores an earlier
	// step: an older restriction and older elements.
	Restore func(step int) bool
	// Clock decides when counts and ends of turns are published; nil means the machine's clock.
	Clock Clock
	// StallAfter is how long a run makes no progress before it reports a stall. 0 means the default
	// of package watch.
	StallAfter time.Duration
}

// Clock waits for an instant.
type Clock interface {
	// At returns a channel that receives a value at the instant next(now).
	At(next func(now time.Time) time.Time) <-chan time.Time
}

// Hook is called at a point, from any goroutine. It may delay the caller, or kill its own process.
// If it returns an error, the write fails, or the step after it. shard is the shard of the
// partition; it is −1 for control and the ends of turns. A nil Hook does nothing.
type Hook func(point string, shard int) error

func (h Hook) reach(point string, shard int) error {
	if h == nil || point == "" {
		return nil
	}
	return h(point, shard)
}

// Around calls the hook at point before, then write, then the hook at point after, and returns the
// first error. It skips the point "".
func (h Hook) Around(before, after string, shard int, write func() error) error {
	if err := h.reach(before, shard); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return h.reach(after, shard)
}
