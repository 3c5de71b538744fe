package transforms

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

func TestMain(m *testing.M) {
	beamlog.SetLogger(silent{})
	slog.SetDefault(slog.New(slog.DiscardHandler))
	ptest.MainWithDefault(m, "prism")
}

// silent keeps the runner's own log out of the tests' output.
type silent struct{}

func (silent) Log(context.Context, beamlog.Severity, int, string) {}

// engines run the stages of a run in this process.
var engines = map[string]func(context.Context, *Runtime) error{
	"direct": func(ctx context.Context, rt *Runtime) error {
		return built(rt, 1, func(p *beam.Pipeline) error { return Direct(ctx, p) })
	},
	"prism": func(ctx context.Context, rt *Runtime) error {
		return built(rt, 1, func(p *beam.Pipeline) error {
			_, err := prism.Execute(ctx, p)
			return err
		})
	},
}

// built registers a run, and runs its pipeline.
func built(rt *Runtime, readers int, run func(*beam.Pipeline) error) error {
	forget, err := Register("run", rt)
	if err != nil {
		return err
	}
	defer forget()
	p, s := beam.NewPipelineWithRoot()
	var l Layout
	for group := range readers {
		l.Readers = append(l.Readers, group)
	}
	Build(s, Run{ID: "run"}, l)
	return run(p)
}

// onEngines runs a test on both, with a function that returns the errors passed to Fail.
func onEngines(t *testing.T, test func(t *testing.T, run func(*Runtime) ([]error, error))) {
	t.Helper()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			test(t, func(rt *Runtime) ([]error, error) {
				var mu sync.Mutex
				var failures []error // a stage may still add to it meanwhile
				rt.Fail = func(err error) error {
					mu.Lock()
					defer mu.Unlock()
					failures = append(failures, err)
					return err
				}
				ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
				defer cancel()
				err := engine(ctx, rt)
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(failures), err
			})
		})
	}
}

// blobs is finished work.
type blobs []spend.Blob

func (b blobs) Wait(context.Context) ([]spend.Blob, error) { return b, nil }

// loop is a Runtime whose SPEND, RELEASE and SETTLE record their input, and whose source opens the
// next turn once the previous one is settled.
type loop struct {
	shards, releaseShards int
	turns                 uint64
	// idle is the number of steps without an element before every opening.
	idle int

	mu       sync.Mutex
	settled  chan uint64
	turn     uint64
	idled    int
	calls    int64
	spent    map[uint64]map[int]int // elements by turn and shard
	lengths  map[uint64][]int       // blobs an envelope had
	released map[uint64]map[int]int // partials by turn and release shard
	order    []uint64               // turns as they were settled
	unopened int                    // envelopes without an OPEN
	faults   []error
}

func newLoop(shards, releaseShards int, turns uint64) *loop {
	return &loop{shards: shards, releaseShards: releaseShards, turns: turns, settled: make(chan uint64, 1000),
		spent: map[uint64]map[int]int{}, lengths: map[uint64][]int{}, released: map[uint64]map[int]int{}}
}

func (l *loop) runtime() *Runtime {
	return &Runtime{Source: ready[Source](l), Spender: ready[Spender](l), Releaser: ready[Releaser](l),
		Settler: ready[Settler](l)}
}

func (l *loop) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Errorf(format, args...))
}

// Step implements Source.
func (l *loop) Step(ctx context.Context, from Restriction) (Step, error) {
	l.mu.Lock()
	if from.Calls != l.calls || from.Tick != int64(l.turn)+1 {
		l.fault("step %d was handed %+v after %d openings", l.calls, from, l.turn)
	}
	next := from
	next.Calls++
	l.calls = next.Calls
	if l.idled < l.idle {
		l.idled++
		l.mu.Unlock()
		return Step{Next: next, Delay: time.Millisecond}, nil
	}
	l.idled = 0
	turn := l.turn
	l.mu.Unlock()
	if turn > 0 {
		select {
		case <-l.settled:
		case <-ctx.Done():
			return Step{}, ctx.Err()
		}
	}
	if turn == l.turns {
		next.Done = true
		return Step{Next: next}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn++
	next.Tick++
	return Step{Next: next, Elements: l.opens(1, l.turn), Opened: true}, nil
}

func (l *loop) opens(epoch int64, turn uint64) []Element {
	elements := make([]Element, l.shards)
	for s := range elements {
		elements[s] = Element{s, schemas.EncodeOpen(schemas.Open{Epoch: epoch, Turn: turn, Shard: uint32(s),
			Shards: uint32(l.shards)})}
	}
	return elements
}

// Spend implements Spender.
func (l *loop) Spend(_ context.Context, shard int, envelope [][]byte) (spend.Pending, error) {
	open, err := openOf(envelope)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if open == nil {
		l.unopened++
		return nil, nil
	}
	note(l.spent, open.Turn, shard)
	l.lengths[open.Turn] = append(l.lengths[open.Turn], len(envelope))
	out := make(blobs, l.releaseShards)
	for r := range out {
		data, err := schemas.EncodePartial(schemas.Partial{Epoch: open.Epoch, Turn: open.Turn, Shard: uint32(shard),
			ReleaseShard: uint32(r)})
		if err != nil {
			return nil, err
		}
		out[r] = spend.Blob{Shard: r, Data: data}
	}
	return out, nil
}

// openOf returns the OPEN of the largest epoch in an envelope.
func openOf(envelope [][]byte) (*schemas.Open, error) {
	var open *schemas.Open
	for _, b := range envelope {
		kind, _, _, err := schemas.PeekEpoch(b)
		if err != nil {
			return nil, err
		}
		if kind != schemas.KindOpen {
			continue
		}
		o, err := schemas.DecodeOpen(b)
		if err != nil {
			return nil, err
		}
		if open == nil || o.Epoch > open.Epoch {
			open = &o
		}
	}
	return open, nil
}

func note(counts map[uint64]map[int]int, turn uint64, shard int) {
	if counts[turn] == nil {
		counts[turn] = map[int]int{}
	}
	counts[turn][shard]++
}

// Release implements Releaser.
func (l *loop) Release(_ context.Context, shard int, partials [][]byte) (spend.Pending, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var turn uint64
	for _, b := range partials {
		p, err := schemas.DecodePartial(b)
		if err != nil {
			return nil, err
		}
		if turn != 0 && p.Turn != turn {
			l.fault("a release group has turns %d and %d", turn, p.Turn)
		}
		turn = p.Turn
	}
	if len(partials) != l.shards {
		l.fault("turn %d, release shard %d: %d partials of %d", turn, shard, len(partials), l.shards)
	}
	note(l.released, turn, shard)
	ack, err := schemas.EncodeAck(schemas.Ack{Epoch: 1, Turn: turn, ReleaseShard: uint32(shard),
		ReleaseShards: uint32(l.releaseShards)})
	return blobs{{Shard: 0, Data: ack}}, err
}

// Settle implements Settler.
func (l *loop) Settle(_ context.Context, acks [][]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(acks) != l.releaseShards {
		l.fault("%d acknowledgements of %d", len(acks), l.releaseShards)
	}
	a, err := schemas.DecodeAck(acks[0])
	if err != nil {
		return err
	}
	l.order = append(l.order, a.Turn)
	l.settled <- a.Turn
	return nil
}

// ready is a function of a Runtime for a stage that is open already.
func ready[T any](stage T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return stage, nil }
}
