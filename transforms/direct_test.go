package transforms

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// faulty fails in the stage of its name, as fail does.
type faulty struct {
	*loop
	stage string
	fail  func() error
}

func (f faulty) failIn(stage string) error {
	if f.stage == stage {
		return f.fail()
	}
	return nil
}

func (f faulty) Step(ctx context.Context, restriction Restriction) (Step, error) {
	if err := f.failIn("read"); err != nil {
		return Step{}, err
	}
	return f.loop.Step(ctx, restriction)
}

func (f faulty) Spend(ctx context.Context, shard int, e [][]byte) (spend.Pending, error) {
	if err := f.failIn("spend"); err != nil {
		return nil, err
	}
	p, err := f.loop.Spend(ctx, shard, e)
	return waiting{f, "spend, waiting", p}, err
}

func (f faulty) Release(ctx context.Context, shard int, e [][]byte) (spend.Pending, error) {
	if err := f.failIn("release"); err != nil {
		return nil, err
	}
	p, err := f.loop.Release(ctx, shard, e)
	return waiting{f, "release, waiting", p}, err
}

func (f faulty) Settle(ctx context.Context, acks [][]byte) error {
	if err := f.failIn("settle"); err != nil {
		return err
	}
	return f.loop.Settle(ctx, acks)
}

// waiting is work that fails when it is waited for.
type waiting struct {
	faulty
	stage string
	work  spend.Pending
}

func (w waiting) Wait(ctx context.Context) ([]spend.Blob, error) {
	if err := w.failIn(w.stage); err != nil {
		return nil, err
	}
	return w.work.Wait(ctx)
}

// TestErrorsReachTheRuntimeWithTheirType: some engines make text of them. Direct makes errors of
// panics as well, and leaves no goroutine.
func TestErrorsReachTheRuntimeWithTheirType(t *testing.T) {
	onEngines(t, func(t *testing.T, run func(*Runtime) ([]error, error)) {
		direct := strings.HasSuffix(t.Name(), "/direct")
		planned := &spend.StopError{Shard: 1, Turn: 2, Reason: "planned"}
		for way, fail := range map[string]func() error{
			"error": func() error { return planned },
			"panic": func() error { panic(planned) },
		} {
			for _, stage := range []string{"read", "spend", "spend, waiting", "release", "release, waiting", "settle"} {
				if way == "panic" && !direct {
					continue
				}
				l := newLoop(2, 1, 3)
				f := faulty{l, stage, fail}
				failed, err := run(&Runtime{Source: ready[Source](f), Spender: ready[Spender](f),
					Releaser: ready[Releaser](f), Settler: ready[Settler](f)})
				var stop *spend.StopError
				if err == nil || len(failed) == 0 || !errors.As(failed[0], &stop) || stop != planned {
					t.Errorf("%s in %s: the run ended with %v, and Fail was told %v", way, stage, err, failed)
				}
				if direct && !errors.As(err, &stop) {
					t.Errorf("%s in %s: Direct returned %v", way, stage, err)
				}
				if len(l.order) != 0 {
					t.Errorf("%s in %s: turns %v were settled", way, stage, l.order)
				}
			}
		}
		if direct {
			noneLeft(t)
		}
	})
}

// noneLeft waits until no goroutine of Direct is left.
func noneLeft(t *testing.T) {
	t.Helper()
	await.That(t, time.Second, "no goroutine of Direct is left", func() bool {
		buf := make([]byte, 1<<20)
		return !strings.Contains(string(buf[:runtime.Stack(buf, true)]), "transforms.(*direct)")
	})
}

// The error of a panic reaches the operator's terminal: it names the calls that led there, without
// what they were given, which may be an account id or a count.
func TestTheErrorOfAPanicHoldsNoArguments(t *testing.T) {
	err := guarded(func() error { return panicsOn([16]byte{0xde, 0xad, 0xbe, 0xef}, 48879) })
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	for _, secret := range []string{"0xde", "0xad", "0xbeef"} {
		if strings.Contains(text, secret) {
			t.Errorf("it holds %s: %s", secret, text)
		}
	}
	if !strings.Contains(text, "panicsOn") || !strings.Contains(text, "direct_test.go") {
		t.Errorf("it does not say where: %s", text)
	}
}

//go:noinline
func panicsOn(account [16]byte, count int64) error {
	panic(fmt.Sprint("planned ", len(account) > int(count)))
}

// A cancelled run ends where its source waits, with the cause; a source that goes back, at once.
func TestDirectEndsWhatCannotGoOn(t *testing.T) {
	cause := errors.New("enough")
	for name, c := range map[string]struct {
		step func(from Restriction, cancel context.CancelCauseFunc) Step
		want string
	}{
		"cancelled": {func(from Restriction, cancel context.CancelCauseFunc) Step {
			cancel(cause)
			return Step{Next: from, Delay: 1 << 40}
		}, cause.Error()},
		"the watermark goes back": {func(from Restriction, _ context.CancelCauseFunc) Step {
			return Step{Next: Restriction{Tick: from.Tick - 1}}
		}, "went back"},
		"elements behind it": {func(from Restriction, _ context.CancelCauseFunc) Step {
			return Step{Next: Restriction{Tick: from.Tick}, Opened: true}
		}, "went back"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		rt := newLoop(1, 1, 1).runtime()
		rt.Source = ready[Source](script{func(from Restriction) Step { return c.step(from, cancel) }})
		if err := built(rt, 2, func(p *beam.Pipeline) error { return Direct(ctx, p) }); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the run ended with %v", name, err)
		}
		cancel(nil)
	}
	noneLeft(t)
}

// TestATickWaitsForAllReaders, and one tick is under way at a time: readers run ahead of each other
// by as much as they like.
func TestATickWaitsForAllReaders(t *testing.T) {
	const readers, turns = 3, 20
	l := newLoop(5, 2, turns)
	var ticks [readers]atomic.Int64
	rt := l.runtime()
	rt.Source = ready[Source](script{func(from Restriction) Step {
		turn, next := uint64(from.Tick), from
		if turn > turns {
			next.Done = true
			return Step{Next: next}
		}
		time.Sleep(time.Duration(from.Group) * 100 * time.Microsecond)
		ticks[from.Group].Store(from.Tick)
		next.Tick++
		return Step{Next: next, Elements: l.opens(1, turn), Opened: true}
	}})
	rt.Settler = ready[Settler](settler(func(acks [][]byte) error {
		a, err := schemas.DecodeAck(acks[0])
		for g := range ticks {
			if ticks[g].Load() < int64(a.Turn) {
				t.Errorf("turn %d is settled before reader %d has come to it", a.Turn, g)
			}
		}
		if err != nil {
			return err
		}
		return l.Settle(t.Context(), acks)
	}))
	if err := built(rt, readers, func(p *beam.Pipeline) error { return Direct(t.Context(), p) }); err != nil {
		t.Fatal(err)
	}
	l.check(t)
	for turn, lengths := range l.lengths {
		for _, n := range lengths {
			if n != readers {
				t.Errorf("turn %d: an envelope had the elements of %d readers", turn, n)
			}
		}
	}
}

// TestOnlyThePipelineOfADeploymentIsRun: a pipeline with another stage, a stage twice or none is
// refused before any of it has run.
func TestOnlyThePipelineOfADeploymentIsRun(t *testing.T) {
	for name, build := range map[string]func(beam.Scope){
		"no stage": func(s beam.Scope) { beam.ParDo(s, &groupsFn{}, beam.Impulse(s)) },
		"twice": func(s beam.Scope) {
			Build(s, Run{ID: "a"}, Layout{})
			Build(s, Run{ID: "b"}, Layout{})
		},
		"another stage": func(s beam.Scope) {
			Build(s, Run{ID: "a"}, Layout{})
			beam.ParDo0(s, &anotherFn{}, beam.Impulse(s))
		},
	} {
		p, s := beam.NewPipelineWithRoot()
		build(s)
		if err := Direct(t.Context(), p); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type anotherFn struct{}

func (*anotherFn) ProcessElement([]byte) {}

func init() { beam.RegisterDoFn(&anotherFn{}) }

type settler func([][]byte) error

func (s settler) Settle(_ context.Context, acks [][]byte) error { return s(acks) }
