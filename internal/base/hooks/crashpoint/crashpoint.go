package crashpoint

import (
	"context"
	"time"
)

// Points at which Hooks.At is called: right before (Writing) and right after (Written) a write of
// the named record or values.
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

// With returns a context for a run or a change, whose stages then call the hooks.
func With(ctx context.Context, h Hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

// From returns the context's hooks; the zero Hooks if it has none.
func From(ctx context.Context) Hooks {
	h, _ := ctx.Value(hooksKey{}).(Hooks)
	return h
}

// Hooks let tests imitate an engine. The zero value changes nothing.
type Hooks struct {
	// Forget is called before each turn of a shard and reports whether the process forgets it.
	Forget func(shard int, turn uint64) bool
	// At is called at every point.
	At Hook
	// Restore is called before every step of a READ that follows one that opened a turn, with the
	// number of such steps, counted from 2. If it returns true, the engine restores the previous
	// step: an older restriction and older elements.
	Restore func(step int) bool
	// Clock times the publication of counts and of ends of turns; nil means the machine's clock.
	Clock Clock
	// StallAfter is the time without progress after which a run reports a stall; 0 means the
	// default of package watch.
	StallAfter time.Duration
}

// Clock waits for an instant.
type Clock interface {
	// At returns a channel that receives at the instant next(now).
	At(next func(now time.Time) time.Time) <-chan time.Time
}

// Hook is called at a point, from any goroutine; it may delay the caller, or kill its own process.
// An error fails the write, or the step after it. shard is the partition's shard, −1 for control
// and the ends of turns. A nil Hook does nothing.
type Hook func(point string, shard int) error

func (h Hook) reach(point string, shard int) error {
	if h == nil || point == "" {
		return nil
	}
	return h(point, shard)
}

// Around calls the hook before and after write; a point of "" is skipped. It returns the first
// error of the three.
func (h Hook) Around(before, after string, shard int, write func() error) error {
	if err := h.reach(before, shard); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return h.reach(after, shard)
}
