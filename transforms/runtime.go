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

// Restriction is READ's progress, as stored by Beam. It contains no offsets: the control log
// decides where reading continues. By Epoch and Calls a Source detects that an engine has passed an
// older restriction again. Tick is the position of Beam's watermark: no element of an earlier tick
// follows.
type Restriction struct {
	Group int // group of partitions; group 0 opens the epochs
	Epoch int64
	Calls int64
	Tick  int64
	Done  bool
}

// begin returns the restriction with which a group's reader starts.
func begin(group int) Restriction { return Restriction{Group: group, Epoch: -1, Tick: 1} }

// Element is one packed blob on its way to a shard of SPEND.
type Element struct {
	Shard int
	Data  []byte
}

// Step is the result of one call of a Source: the elements of at most one tick (Next.Tick−1 if
// Opened), and the position from which to continue.
type Step struct {
	Next     Restriction
	Elements []Element
	// Opened is set if the elements include the OPENs of a turn: Beam's watermark moves past their
	// tick.
	Opened bool
	Delay  time.Duration
}

// tick returns the tick of a step's elements.
func (s *Step) tick(restriction Restriction) int64 {
	if s.Opened {
		return s.Next.Tick - 1
	}
	return restriction.Tick
}

// Source is READ's part of a Runtime. In a healthy run, only one goroutine at a time calls Step for
// a group. Step must refuse concurrent calls, because an engine's restore may start a second call
// while a lost one still runs. While a turn is open it returns within 20 ms: some engines pass on a
// watermark only then.
type Source interface {
	Step(ctx context.Context, from Restriction) (Step, error)
}

// Spender admits and charges the users in one envelope, that of a shard in a turn. A nil Pending
// means that there is nothing to emit.
type Spender interface {
	Spend(ctx context.Context, shard int, envelope [][]byte) (spend.Pending, error)
}

// Releaser turns the partial counts of one release shard and turn into
// published counts. A nil Pending means that the group was incomplete.
type Releaser interface {
	Release(ctx context.Context, shard int, partials [][]byte) (spend.Pending, error)
}

// Settler settles a turn once all acknowledgements of its release shards have arrived.
type Settler interface {
	Settle(ctx context.Context, acks [][]byte) error
}

// Runtime opens the stages of one run in one process. Each function is called once, when its stage
// first runs in the process; it may be nil if the stage never does. All DoFns of the stage in the
// process share the result. Fail is called with every error of a stage, with its type intact;
// runners pass on its result as text. Close ends the open stages once no DoFn needs them.
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
	Terms string // for an Opener in another process; opaque here, and not secret
}

// Opener opens a run in a process that has not registered it.
type Opener func(run Run) (*Runtime, error)

// runtimes is the process-wide registry in which serialised DoFns find their run by its id.
var runtimes = struct {
	sync.Mutex
	byRun map[string]*opened
	open  Opener
}{byRun: map[string]*opened{}}

// opened is a run that is known in this process.
type opened struct {
	*Runtime
	held int // hooks that have opened a stage and not closed it

	mu       sync.Mutex // held while a stage opens
	source   Source
	spender  Spender
	releaser Releaser
	settler  Settler
}

// Register makes a Runtime known under a run id and returns the function that
// forgets it. Registering an id twice is an error.
func Register(run string, rt *Runtime) (func(), error) {
	runtimes.Lock()
	defer runtimes.Unlock()
	if _, taken := runtimes.byRun[run]; taken {
		return nil, fmt.Errorf("registering run %s: this id is already registered in this process", run)
	}
	runtimes.byRun[run] = &opened{Runtime: rt, held: 1} // held by the caller
	return func() {
		runtimes.Lock()
		defer runtimes.Unlock()
		delete(runtimes.byRun, run) // some engines never call Teardown
	}, nil
}

// OpenRuns sets the function that opens unregistered runs in this process, a worker of a cluster.
// Such a run is forgotten when its last stage is closed.
func OpenRuns(open Opener) {
	runtimes.Lock()
	defer runtimes.Unlock()
	runtimes.open = open
}

// acquireRun finds a run, or opens it. Every successful call needs one call of dropRun.
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
	rt.held++
	return rt, nil
}

func dropRun(run string) {
	runtimes.Lock()
	defer runtimes.Unlock()
	rt := runtimes.byRun[run]
	if rt == nil {
		return
	}
	if rt.held--; rt.held > 0 {
		return
	}
	delete(runtimes.byRun, run)
	if rt.Close != nil {
		rt.Close()
	}
}

// openStage opens a stage of a run, once in the process.
func openStage[T any](ctx context.Context, run Run, stageOf func(*opened) (*T, func(context.Context) (T, error))) (T,
	*stageOfRun, error) {
	var none T
	rt, err := acquireRun(run)
	if err != nil {
		return none, nil, err
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	stage, open := stageOf(rt)
	if any(*stage) == nil {
		if *stage, err = open(context.WithoutCancel(ctx)); err != nil {
			dropRun(run.ID)
			return none, nil, err
		}
	}
	return *stage, &stageOfRun{rt: rt, run: run.ID}, nil
}

// The hooks of a run.
type (
	runSource   struct{ Run Run }
	runSpender  struct{ Run Run }
	runReleaser struct{ Run Run }
	runSettler  struct{ Run Run }
)

// stageOfRun passes a stage's errors to its run.
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

// Close implements io.Closer: one hook less holds the run.
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
