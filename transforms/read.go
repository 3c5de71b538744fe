package transforms

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/tollgate-dp/tollgate/transforms/hook"
)

func init() {
	beam.RegisterDoFn(&readFn{})
	beam.RegisterDoFn(&groupsFn{})
	register.Emitter1[int]()
	register.Emitter3[beam.EventTime, int, []byte]()
	beam.RegisterType(reflect.TypeOf((*Restriction)(nil)).Elem())
}

// Read drives a Source until it is done. Each group of partitions has one restriction and one
// reader. The output is KV<int, []byte>: the elements of the Source by shard of SPEND, each with
// the event time of its tick. The watermark passes a tick when every group has passed it.
//
// After a failure downstream, an engine passes an older restriction and replays its elements. A
// Source detects this. Each group has its own element with one restriction, because an engine may
// confuse the parts of a split restriction. The watermark is the least of all groups.
func Read(s beam.Scope, h hook.Hook[Source], groups int) beam.PCollection {
	l := Layout{}
	for n := range groups {
		l.Readers = append(l.Readers, n)
	}
	return read(s, h, l)
}

func read(s beam.Scope, h hook.Hook[Source], l Layout) beam.PCollection {
	s = s.Scope("read")
	spread := beam.Reshuffle(s, beam.ParDo(s, &groupsFn{Keys: l.readers()}, beam.Impulse(s)))
	return beam.ParDo(s, &readFn{stage[Source]{Hook: hook.NewField(h)}, l}, spread)
}

// groupsFn emits the keys of all groups.
type groupsFn struct{ Keys []int }

// ProcessElement emits the keys. It is called once.
func (f *groupsFn) ProcessElement(_ []byte, emit func(int)) {
	for _, key := range f.Keys {
		emit(key)
	}
}

// readFn drives a Source.
type readFn struct {
	stage[Source]
	Layout Layout
}

func (f *readFn) CreateInitialRestriction(key int) Restriction {
	return begin(slices.Index(f.Layout.readers(), key))
}

func (f *readFn) SplitRestriction(_ int, r Restriction) []Restriction { return []Restriction{r} }

func (f *readFn) RestrictionSize(_ int, _ Restriction) float64 { return 1 }

func (f *readFn) CreateTracker(restriction Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(&restrictionTracker{current: restriction})
}

// TruncateRestriction ends reading at once, so a drain by the engine publishes nothing more.
func (f *readFn) TruncateRestriction(_ *sdf.LockRTracker, _ int) Restriction {
	return Restriction{Done: true}
}

func (f *readFn) InitialWatermarkEstimatorState(_ beam.EventTime, restriction Restriction, _ int) int64 {
	return int64(tickStart(restriction.Tick))
}

func (f *readFn) CreateWatermarkEstimator(state int64) *tickWatermark {
	w := &tickWatermark{}
	w.millis.Store(state)
	return w
}

func (f *readFn) WatermarkEstimatorState(w *tickWatermark) int64 { return w.millis.Load() }

// ProcessElement makes one step. It then checkpoints itself, so the runner passes on the elements.
func (f *readFn) ProcessElement(ctx context.Context, w *tickWatermark, rt *sdf.LockRTracker, _ int,
	emit func(beam.EventTime, int, []byte)) (sdf.ProcessContinuation, error) {
	restriction, ok := rt.GetRestriction().(Restriction)
	if !ok {
		return sdf.StopProcessing(), f.fail(errors.New("reading READ's restriction: its type is wrong"))
	}
	if restriction.Done {
		return sdf.StopProcessing(), nil
	}
	step, err := f.opened.Step(ctx, restriction)
	if err != nil {
		return sdf.StopProcessing(), f.fail(fmt.Errorf("reading events: %w", err))
	}
	if !rt.TryClaim(step.Next) {
		return sdf.StopProcessing(), nil
	}
	for _, e := range step.Elements {
		emit(tickStart(step.tick(restriction)), f.Layout.strand(e.Shard), e.Data)
	}
	w.millis.Store(int64(tickStart(step.Next.Tick)))
	if step.Next.Done {
		return sdf.StopProcessing(), nil
	}
	return sdf.ResumeProcessingIn(step.Delay), nil
}

// tickWatermark is READ's watermark estimator. The harness reads it while ProcessElement runs.
type tickWatermark struct {
	millis atomic.Int64
}

// CurrentWatermark implements sdf.WatermarkEstimator.
func (w *tickWatermark) CurrentWatermark() time.Time {
	return beam.EventTime(w.millis.Load()).ToTime()
}

// restrictionTracker tracks a restriction without an end. A claim replaces the restriction with the
// position from which to continue. Only self-checkpoints split it.
type restrictionTracker struct {
	mu      sync.Mutex
	current Restriction
	next    Restriction
	claimed bool
	split   bool
}

// TryClaim accepts a Restriction as the position from which the next call continues.
func (t *restrictionTracker) TryClaim(pos any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	next, ok := pos.(Restriction)
	if !ok || t.split {
		return false
	}
	t.next, t.claimed = next, true
	return true
}

// GetError implements sdf.RTracker.
func (t *restrictionTracker) GetError() error { return nil }

// TrySplit splits only at fraction 0, as a checkpoint, because a restriction belongs to one reader.
func (t *restrictionTracker) TrySplit(fraction float64) (any, any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fraction > 0 || t.split || !t.claimed || t.next.Done {
		return t.current, nil, nil
	}
	t.split = true
	return Restriction{Done: true}, t.next, nil
}

// GetProgress reports a constant, because the work has no end.
func (t *restrictionTracker) GetProgress() (float64, float64) { return 0, 1 }

// IsDone reports true after a checkpoint, and after the last step.
func (t *restrictionTracker) IsDone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.split || t.current.Done || (t.claimed && t.next.Done)
}

// GetRestriction returns the position from which the call started.
func (t *restrictionTracker) GetRestriction() any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// IsBounded reports that the restriction is unbounded.
func (t *restrictionTracker) IsBounded() bool { return false }
