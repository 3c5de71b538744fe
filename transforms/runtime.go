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

// Position is READ's whole restriction. It has no offsets: where reading
// goes on is decided from the control log. Epoch and Calls let a Source see
// that an engine handed back an older restriction; Tick is the next opening's
// tick in Beam's time.
type Position struct {
	Epoch int64
	Calls int64
	Tick  int64
	Done  bool
}

// Element is one packed blob on its way to a shard of SPEND.
type Element struct {
	Shard int
	Data  []byte
}

// Step is what one call of a Source yields: the elements of at most one tick
// (Next.Tick−1 when Opened), and the position to go on from.
type Step struct {
	Next     Position
	Elements []Element
	// Opened says that the elements include the OPENs of a turn: Beam's
	// watermark moves past their tick.
	Opened bool
	Delay  time.Duration
}

// Source is READ's side of a Runtime. Step is called by one goroutine at a
// time in a healthy run; it must itself refuse to run twice at once, because
// an engine's restore may start a second call while a lost one still runs.
type Source interface {
	Step(ctx context.Context, at Position) (Step, error)
}

// Spender admits and charges: one envelope of one shard and turn. A nil
// Pending means that nothing is to be emitted.
type Spender interface {
	Spend(ctx context.Context, shard int, envelope [][]byte, keyed spend.KeyedState) (spend.Pending, error)
}

// Releaser turns the partial counts of one release shard and turn into
// published counts. A nil Pending means that the group was incomplete.
type Releaser interface {
	Release(ctx context.Context, shard int, partials [][]byte) (spend.Pending, error)
}

// Settler sees the acknowledgements of a turn's release shards and settles the
// turn once all are there.
type Settler interface {
	Settle(ctx context.Context, acks [][]byte) error
}

// Runtime is what the DoFns of one run share in one process. Fail is called with
// the first error of any stage, with its type intact: runners pass errors on
// as text.
type Runtime struct {
	Source   Source
	Spender  Spender
	Releaser Releaser
	Settler  Settler
	Fail     func(error)
}

// runtimes is the one process-wide registry: DoFns are serialised, and find
// their run by its id.
var runtimes = struct {
	sync.Mutex
	byRun map[string]*Runtime
}{byRun: map[string]*Runtime{}}

// Register makes a Runtime known under a run id and returns the function that
// forgets it. Registering an id twice is an error.
func Register(run string, rt *Runtime) (func(), error) {
	runtimes.Lock()
	defer runtimes.Unlock()
	if _, taken := runtimes.byRun[run]; taken {
		return nil, fmt.Errorf("registering run %s: this id is already registered in this process", run)
	}
	runtimes.byRun[run] = rt
	return func() {
		runtimes.Lock()
		defer runtimes.Unlock()
		delete(runtimes.byRun, run)
	}, nil
}

func lookup(run string) (*Runtime, error) {
	runtimes.Lock()
	defer runtimes.Unlock()
	rt, ok := runtimes.byRun[run]
	if !ok {
		return nil, fmt.Errorf("looking up run %s: it is not registered in this process (has the run ended?)", run)
	}
	return rt, nil
}

// The hooks of a registered run. They open what is there already, so that
// nothing is closed after them: the run closes what it owns.
type (
	runSource   struct{ Run string }
	runSpender  struct{ Run string }
	runReleaser struct{ Run string }
	runSettler  struct{ Run string }
)

// told passes the errors of a stage on to the run.
type told struct{ rt *Runtime }

// Fail implements FailureListener.
func (t told) Fail(err error) {
	if t.rt.Fail != nil {
		t.rt.Fail(err)
	}
}

type toldSource struct {
	Source
	told
}

type toldSpender struct {
	Spender
	told
}

type toldReleaser struct {
	Releaser
	told
}

type toldSettler struct {
	Settler
	told
}

// Open implements hook.Hook.
func (r runSource) Open(context.Context) (Source, error) {
	rt, err := lookup(r.Run)
	if err != nil {
		return nil, err
	}
	return toldSource{rt.Source, told{rt}}, nil
}

// Open implements hook.Hook.
func (r runSpender) Open(context.Context) (Spender, error) {
	rt, err := lookup(r.Run)
	if err != nil {
		return nil, err
	}
	return toldSpender{rt.Spender, told{rt}}, nil
}

// Open implements hook.Hook.
func (r runReleaser) Open(context.Context) (Releaser, error) {
	rt, err := lookup(r.Run)
	if err != nil {
		return nil, err
	}
	return toldReleaser{rt.Releaser, told{rt}}, nil
}

// Open implements hook.Hook.
func (r runSettler) Open(context.Context) (Settler, error) {
	rt, err := lookup(r.Run)
	if err != nil {
		return nil, err
	}
	return toldSettler{rt.Settler, told{rt}}, nil
}
