package transforms

import (
	"context"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
)

// check looks at what a finished loop has seen.
func (l *loop) check(t *testing.T) {
	t.Helper()
	for _, f := range l.faults {
		t.Error(f)
	}
	if uint64(len(l.order)) != l.turns {
		t.Fatalf("%d turns were settled of %d", len(l.order), l.turns)
	}
	for i, turn := range l.order {
		if turn != uint64(i+1) {
			t.Fatalf("turns were settled in the order %v", l.order)
		}
		if len(l.spent[turn]) != l.shards || len(l.released[turn]) != l.releaseShards {
			t.Errorf("turn %d: %d shards spent, %d released", turn, len(l.spent[turn]), len(l.released[turn]))
		}
		for shard, n := range l.spent[turn] {
			if n != 1 {
				t.Errorf("turn %d: shard %d was spent %d times", turn, shard, n)
			}
		}
	}
}

// TestTurnsGoRoundTheLoopInOrder, with every shard in every turn, once.
func TestTurnsGoRoundTheLoopInOrder(t *testing.T) { onEngines(t, turnsGoRoundTheLoopInOrder) }

func turnsGoRoundTheLoopInOrder(t *testing.T, run func(*Runtime) ([]error, error)) {
	l := newLoop(16, 3, 50)
	l.idle = 1
	if failed, err := run(l.runtime()); err != nil || failed != nil {
		t.Fatal(failed, err)
	}
	l.check(t)
}

// TestAGroupWithoutOpenEmitsNothing: contributions that no OPEN follows, then
// the end of reading, as in a drain by the engine.
func TestAGroupWithoutOpenEmitsNothing(t *testing.T) { onEngines(t, aGroupWithoutOpenEmitsNothing) }

func aGroupWithoutOpenEmitsNothing(t *testing.T, run func(*Runtime) ([]error, error)) {
	contributions, err := schemas.EncodeContributions(schemas.Contributions{Epoch: 1, Turn: 1})
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(1, 1, 1)
	rt := l.runtime()
	rt.Source = ready[Source](script{func(from Restriction) Step {
		next := from
		next.Calls++
		next.Done = from.Calls == 1
		return Step{Next: next, Elements: []Element{{0, contributions}}}
	}})
	if failed, err := run(rt); err != nil || failed != nil {
		t.Fatal(failed, err)
	}
	if l.unopened != 1 {
		t.Errorf("SPEND saw %d envelopes without an OPEN, want 1", l.unopened)
	}
	if len(l.spent)+len(l.released)+len(l.order) != 0 {
		t.Fatalf("spent %v, released %v, settled %v", l.spent, l.released, l.order)
	}
}

// script is a Source without a loop.
type script struct{ step func(Restriction) Step }

func (s script) Step(_ context.Context, from Restriction) (Step, error) { return s.step(from), nil }

// TestContributionsWaitForTheirOpen: elements of several steps meet in one
// envelope, and only an opening lets it go.
func TestContributionsWaitForTheirOpen(t *testing.T) { onEngines(t, contributionsWaitForTheirOpen) }

func contributionsWaitForTheirOpen(t *testing.T, run func(*Runtime) ([]error, error)) {
	contributions, err := schemas.EncodeContributions(schemas.Contributions{Epoch: 1, Turn: 1})
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(1, 1, 1)
	rt := l.runtime()
	const before = 5
	early := 0
	rt.Source = ready[Source](script{func(from Restriction) Step {
		l.mu.Lock()
		defer l.mu.Unlock()
		next := from
		next.Calls++
		switch {
		case from.Calls < before:
			early += len(l.spent)
			return Step{Next: next, Elements: []Element{{0, contributions}}, Delay: 2 * time.Millisecond}
		case from.Calls == before:
			early += len(l.spent)
			next.Tick++
			return Step{Next: next, Elements: l.opens(1, 1), Opened: true}
		case len(l.order) == 0:
			return Step{Next: next, Delay: time.Millisecond}
		}
		next.Done = true
		return Step{Next: next}
	}})
	if failed, err := run(rt); err != nil || failed != nil {
		t.Fatal(failed, err)
	}
	l.check(t)
	if early != 0 || len(l.lengths[1]) != 1 || l.lengths[1][0] != before+1 {
		t.Fatalf("envelopes had %v blobs, want one of %d; %d were spent before the OPEN", l.lengths[1], before+1, early)
	}
}

func TestARunIsRegisteredOnce(t *testing.T) {
	forget, err := Register("once", &Runtime{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Register("once", &Runtime{}); err == nil {
		t.Error("the id was taken twice")
	}
	if _, err := acquireRun(Run{ID: "once"}); err != nil {
		t.Error(err)
	}
	dropRun("once")
	forget()
	if _, err := acquireRun(Run{ID: "once"}); err == nil {
		t.Error("a forgotten run was found")
	}
	if _, err := (runSpender{Run{ID: "once"}}).Open(t.Context()); err == nil {
		t.Error("a DoFn was set up for a forgotten run")
	}
}
