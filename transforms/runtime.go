package transforms

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/tollgate-dp/tollgate/transforms/spend"
)

func init() {
	beam.RegisterType(reflect.TypeFor[runSource]())
	beam.RegisterType(reflect.TypeFor[runSpender]())
	beam.RegisterType(reflect.TypeFor[runReleaser]())
	beam.RegisterType(reflect.TypeFor[runSettler]())
}

// Restriction is READ's progress, as Beam stores it. It contains no offsets, because the control
// log decides where reading continues. Epoch and Calls show a Source that an engine has passed an
// older restriction again. Tick is the position of Beam's watermark: no element of an earlier tick
// follows.
type Restriction struct {
	Group int // group of partitions; group 0 opens the epochs
	Epoch int64
	Calls int64
	Tick  int64
	Done  bool
}

// begin returns the restriction with which the reader of a group starts.
func begin(group int) Restriction { return Restriction{Group: group, Epoch: -1, Tick: 1} }

// Element is an encoded blob for a shard of SPEND.
type Element struct {
	Shard int
	Data  []byte
}

// Step is the result of one call of a Source. It contains the elements of at most one tick
// (Next.Tick−1 if Opened is set), and the position from which to continue.
type Step struct {
	Next     Restriction
	Elements []Element
	// Opened is set if the elements include a turn's OPENs. Beam's watermark then passes the tick.
	Opened bool
	Delay  time.Duration
}

// tick returns the tick to which the elements of a step belong.
func (s *Step) tick(restriction Restriction) int64 {
	if s.Opened {
		return s.Next.Tick - 1
	}
	return restriction.Tick
}

// Source is READ's part of a Runtime. In a healthy run, only one goroutine at a time calls Step for
// a group. Step must refuse concurrent calls, because a restore of the engine may start a second
// call while a lost call still runs. While a turn is open, Step must return within 20 ms, because
// some engines pass on a watermark only then.
type Source interface {
	Step(ctx context.Context, from Restriction) (Step, error)
}

// Spender admits and charges the users in one envelope, which belongs to one shard and turn. A nil
// Pending means that there is nothing to emit.
type Spender interface {
	Spend(ctx context.Context, shard int, envelope [][]byte) (spend.Pending, error)
}

// Releaser converts the partial counts of one release shard and turn to published counts. A nil
// Pending means that the group was incomplete.
type Releaser interface {
	Release(ctx context.Context, shard int, partials [][]byte) (spend.Pending, error)
}

// Settler settles a turn when the acknowledgements of all release shards have arrived.
type Settler interface {
	Settle(ctx context.Context, acks [][]byte) error
}

// Runtime opens the stages of one run in one process. Each function is called once, when its stage
// first runs in the process. It may be nil if the stage never does. All DoFns of the stage in the
// process share the result. Fail is called for every error of a stage, with its type intact;
// runners pass on only the text of its result. Close closes the stages when no DoFn needs them.
type Runtime struct {
	Source   func(context.Context) (Source, error)
	Spender  func(context.Context) (Spender, error)
	Releaser func(context.Context) (Releaser, error)
	Settler  func(context.Context) (Settler, error)
	Fail     func(error) error
	Close    func()
}

// Run identifies a run in every process that opens one of its stages.
type Run struct {
	ID    string
	Terms string // passed to an Opener in another process; opaque here, and not secret
}

// Opener opens a run in a process in which the run is not registered.
type Opener func(run Run) (*Runtime, error)

// runtimes is the registry of this process, in which decoded DoFns find their run by its id.
var runtimes = struct {
	sync.Mutex
	byRun map[string]*opened
	open  Opener
}{byRun: map[string]*opened{}}

// opened is a run that is open or registered in this process.
type opened struct {
	*Runtime
	users int // number of hooks, and of registrations, that use the run

	mu       sync.Mutex // held while a stage opens
	source   Source
	spender  Spender
	releaser Releaser
	settler  Settler
}

// Register makes a Runtime available under a run id. It returns the function that removes the
// Runtime again. A second registration of an id is an error.
func Register(run string, rt *Runtime) (func(), error) {
	runtimes.Lock()
	defer runtimes.Unlock()
	if _, registered := runtimes.byRun[run]; registered {
		return nil, fmt.Errorf("registering run %s: this id is already registered in this process", run)
	}
	runtimes.byRun[run] = &opened{Runtime: rt, users: 1} // the registration is the first user
	return func() {
		runtimes.Lock()
		defer runtimes.Unlock()
		delete(runtimes.byRun, run) // some engines never call Teardown
	}, nil
}

// OpenRuns sets the function that opens unregistered runs in this process, a worker of a cluster.
// Such a run is removed when its last stage is closed.
func OpenRuns(open Opener) {
	runtimes.Lock()
	defer runtimes.Unlock()
	runtimes.open = open
}

// acquireRun returns a run, which it opens if necessary. Every success needs a call of dropRun.
func acquireRun(run Run) (*opened, error) {
	runtimes.Lock()
	defer runtimes.Unlock()
	rt, known := runtimes.byRun[run.ID]
	switch {
	case known:
	case runtimes.open == nil:
		return nil, fmt.Errorf("looking up run %s: it is not registered in this process (has the run ended?)", run.ID)
	default:
		made, err := runtimes.open(run)
		if err != nil {
			return nil, err
		}
		rt = &opened{Runtime: made}
		runtimes.byRun[run.ID] = rt
	}
	rt.users++
	return rt, nil
}

func dropRun(run string) {
	runtimes.Lock()
	defer runtimes.Unlock()
	rt := runtimes.byRun[run]
	if rt == nil {
		return
	}
	if rt.users--; rt.users > 0 {
		return
	}
	delete(runtimes.byRun, run)
	if rt.Close != nil {
		rt.Close()
	}
}

// openStage opens a stage of a run. In each process, the stage is opened only once.
func openStage[T any](ctx context.Context, run Run, stageOf func(*opened) (*T, func(context.Context) (T, error))) (T,
	*stageOfRun, error) {
	var zero T
	rt, err := acquireRun(run)
	if err != nil {
		return zero, nil, err
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	stage, open := stageOf(rt)
	if any(*stage) == nil {
		if *stage, err = open(context.WithoutCancel(ctx)); err != nil {
			dropRun(run.ID)
			return zero, nil, err
		}
	}
	return *stage, &stageOfRun{rt: rt, run: run.ID}, nil
}

// Hooks that open the stages of a run.
type (
	runSource   struct{ Run Run }
	runSpender  struct{ Run Run }
	runReleaser struct{ Run Run }
	runSettler  struct{ Run Run }
)

// stageOfRun passes the errors of a stage to the stage's run.
type stageOfRun struct {
	rt  *opened
	run string
}

// Fail implements FailureListener.
func (t *stageOfRun) Fail(err error) error {
	if t.rt.Fail == nil {
		return err
	}
	return t.rt.Fail(err)
}

// Close implements io.Closer. The hook then no longer uses the run.
func (t *stageOfRun) Close() error {
	dropRun(t.run)
	return nil
}

// Open implements hook.Hook.
func (r runSource) Open(ctx context.Context) (Source, error) {
	s, t, err := openStage(ctx, r.Run, func(o *opened) (*Source, func(context.Context) (Source, error)) {
		return &o.source, o.Source
	})
	return struct {
		Source
		*stageOfRun
	}{s, t}, err
}

// Open implements hook.Hook.
func (r runSpender) Open(ctx context.Context) (Spender, error) {
	s, t, err := openStage(ctx, r.Run, func(o *opened) (*Spender, func(context.Context) (Spender, error)) {
		return &o.spender, o.Spender
	})
	return struct {
		Spender
		*stageOfRun
	}{s, t}, err
}

// Open implements hook.Hook.
func (r runReleaser) Open(ctx context.Context) (Releaser, error) {
	s, t, err := openStage(ctx, r.Run, func(o *opened) (*Releaser, func(context.Context) (Releaser, error)) {
		return &o.releaser, o.Releaser
	})
	return struct {
		Releaser
		*stageOfRun
	}{s, t}, err
}

// Open implements hook.Hook.
func (r runSettler) Open(ctx context.Context) (Settler, error) {
	s, t, err := openStage(ctx, r.Run, func(o *opened) (*Settler, func(context.Context) (Settler, error)) {
		return &o.settler, o.Settler
	})
	return struct {
		Settler
		*stageOfRun
	}{s, t}, err
}
