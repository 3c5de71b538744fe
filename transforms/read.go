package transforms

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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
	register.Emitter3[beam.EventTime, int, []byte]()
	beam.RegisterType(reflect.TypeOf((*Position)(nil)).Elem())
}

// Read drives a Source until it is done: one restriction, one reader. Its
// output is KV<int, []byte>: the Source's elements by shard of SPEND, each with the event
// time of its tick, and the watermark passes a tick once a step has Opened it.
//
// A pipeline has one Read, not parallel. An engine that fails downstream of it hands
// back an older restriction and replays what it had: Position tells a Source.
func Read(s beam.Scope, h hook.Hook[Source]) beam.PCollection {
	s = s.Scope("read")
	return beam.ParDo(s, &readFn{stage[Source]{Hook: hook.NewField(h)}}, beam.Impulse(s))
}

// readFn drives a Source. One restriction covers all partitions: a runner that
// takes the watermark of the last bundle, not the minimum over restrictions,
// would lose what a slow partition still has.
type readFn struct {
	stage[Source]
}

func (f *readFn) CreateInitialRestriction(_ []byte) Position {
	return Position{Epoch: -1, Tick: 1}
}

func (f *readFn) SplitRestriction(_ []byte, rest Position) []Position { return []Position{rest} }

func (f *readFn) RestrictionSize(_ []byte, _ Position) float64 { return 1 }

func (f *readFn) CreateTracker(rest Position) *sdf.LockRTracker {
	return sdf.NewLockRTracker(&positionTracker{rest: rest})
}

// TruncateRestriction ends reading at once: a drain by the engine publishes
// nothing more.
func (f *readFn) TruncateRestriction(_ *sdf.LockRTracker, _ []byte) Position {
	return Position{Done: true}
}

func (f *readFn) InitialWatermarkEstimatorState(_ beam.EventTime, rest Position, _ []byte) int64 {
	return int64(tickStart(rest.Tick))
}

func (f *readFn) CreateWatermarkEstimator(state int64) *tickWatermark {
	w := &tickWatermark{}
	w.millis.Store(state)
	return w
}

func (f *readFn) WatermarkEstimatorState(w *tickWatermark) int64 { return w.millis.Load() }

// ProcessElement makes one step and checkpoints itself, so that the runner
// hands the step's elements on.
func (f *readFn) ProcessElement(ctx context.Context, w *tickWatermark, rt *sdf.LockRTracker, _ []byte, emit func(beam.EventTime, int, []byte)) (sdf.ProcessContinuation, error) {
	at, ok := rt.GetRestriction().(Position)
	if !ok {
		return sdf.StopProcessing(), f.fail(errors.New("reading READ's restriction: not a position of this program"))
	}
	if at.Done {
		return sdf.StopProcessing(), nil
	}
	step, err := f.opened.Step(ctx, at)
	if err != nil {
		return sdf.StopProcessing(), f.fail(fmt.Errorf("reading events: %w", err))
	}
	if !rt.TryClaim(step.Next) {
		return sdf.StopProcessing(), nil
	}
	for _, e := range step.Elements {
		emit(tickStart(at.Tick), e.Shard, e.Data)
	}
	w.millis.Store(int64(tickStart(step.Next.Tick)))
	if step.Next.Done {
		return sdf.StopProcessing(), nil
	}
	return sdf.ResumeProcessingIn(step.Delay), nil
}

// tickWatermark is READ's watermark estimator. The harness reads it from
// another goroutine while ProcessElement runs.
type tickWatermark struct {
	millis atomic.Int64
}

// CurrentWatermark implements sdf.WatermarkEstimator.
func (w *tickWatermark) CurrentWatermark() time.Time {
	return beam.EventTime(w.millis.Load()).ToTime()
}

// positionTracker tracks a restriction that has no end: a claim replaces it by
// the position to go on from; only self-checkpoints split it.
type positionTracker struct {
	mu      sync.Mutex
	rest    Position
	next    Position
	claimed bool
	split   bool
}

// TryClaim accepts a Position: where the next call goes on.
func (t *positionTracker) TryClaim(pos any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	next, ok := pos.(Position)
	if !ok || t.split {
		return false
	}
	t.next, t.claimed = next, true
	return true
}

// GetError implements sdf.RTracker.
func (t *positionTracker) GetError() error { return nil }

// TrySplit checkpoints at fraction 0 and refuses everything else: the
// restriction is one reader over all partitions.
func (t *positionTracker) TrySplit(fraction float64) (any, any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if fraction > 0 || t.split || !t.claimed || t.next.Done {
		return t.rest, nil, nil
	}
	t.split = true
	return Position{Done: true}, t.next, nil
}

// GetProgress reports a constant: the work has no end.
func (t *positionTracker) GetProgress() (float64, float64) { return 0, 1 }

// IsDone reports true after a checkpoint and after the last step.
func (t *positionTracker) IsDone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.split || t.rest.Done || (t.claimed && t.next.Done)
}

// GetRestriction returns the position that the call started from.
func (t *positionTracker) GetRestriction() any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rest
}

// IsBounded tells runners that the restriction is unbounded.
func (t *positionTracker) IsBounded() bool { return false }
