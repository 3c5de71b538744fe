package spend

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// oneMetric returns the smallest deployment: one shard, private keys, ample budget.
func oneMetric() settings {
	return settings{
		shards: 1, releaseShards: 2, slots: 4,
		budget: budgets.Budget{Mu2: 1 << 30},
		metrics: []schemas.MetricSpec{{Name: "m", Kind: "events", KeyMode: "private", MaxKeysPerUser: 3,
			MaxEventsPerKey: 4,
			First:           units.Precision{Lo: 1 << 40}, Top: units.Precision{Lo: 4 << 40}}},
	}
}

func mustWorld(t testing.TB, s settings) *world {
	t.Helper()
	runseed.Print(t)
	return must.Have(newWorld(s, 7))
}

// mustPlay plays and settles turns with one user's events each.
func mustPlay(t testing.TB, w *world, from, to uint64) {
	t.Helper()
	for turn := from; turn <= to; turn++ {
		partials := must.Have(w.play(turn, oneUser(turn), nil))
		w.settle(turn, partials)
	}
}

func oneUser(turn uint64) []contribution {
	return []contribution{{user: int(turn % 3), key: "a", n: 2}, {user: int(turn % 3), key: "b", n: 1}}
}

func stopReason(t *testing.T, err error, part string) {
	t.Helper()
	var stop *StopError
	if !errors.As(err, &stop) || !strings.Contains(stop.Error(), part) {
		t.Fatalf("error is %v, want a StopError about %q", err, part)
	}
}

// TestNothingIsHandedOnBeforeTheDeltaIsDurable checks every delivery of a turn, including one after
// a delivery that no caller waited for.
func TestNothingIsHandedOnBeforeTheDeltaIsDurable(t *testing.T) {
	for _, deliveries := range []int{1, 2, 3} {
		w := mustWorld(t, oneMetric())
		w.ledger.gate = make(chan struct{})
		var pending Pending
		for range deliveries {
			var err error
			if pending, err = w.spend(0, w.envelope(1, 0, oneUser(1), false)); err != nil {
				t.Fatal(err)
			}
		}
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		blobs, err := pending.Wait(short)
		cancel()
		if err == nil || blobs != nil {
			t.Fatalf("%d deliveries: handed on %d blobs while the append was under way (%v)", deliveries, len(blobs),
				err)
		}
	}
}

// TestASupersededWriterHandsOnNothing: its append is refused, it gets the reason, and forgets the
// shard.
func TestASupersededWriterHandsOnNothing(t *testing.T) {
	w := mustWorld(t, oneMetric())
	mustPlay(t, w, 1, 2)
	lost := 0
	w.engine.opts.Lost = func(int64) { lost++ }
	w.ledger.gate = make(chan struct{})
	pending := must.Have(w.spend(0, w.envelope(3, 0, oneUser(3), false)))
	if _, err := w.ledger.Acquire(t.Context(), 0, w.ledger.nextEpoch(), func(accounts.LedgerRecord) error {
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	before := len(w.ledger.logs[0])
	close(w.ledger.gate)
	blobs, err := pending.Wait(t.Context())
	if err != nil || blobs != nil || lost != 1 || len(w.ledger.logs[0]) != before {
		t.Fatalf("a superseded writer handed on %d blobs (%v), was told %d times, wrote %d records", len(blobs), err,
			lost, len(w.ledger.logs[0])-before)
	}
	// The next element of its epoch finds that out from the ledger's owner.
	again, err := w.engine.Spend(t.Context(), 0, w.envelope(3, 0, oneUser(3), false))
	if again != nil || err != nil {
		t.Fatalf("a superseded run went on: %v, %v", again, err)
	}
}

func TestAnOlderEpochsElementIsDropped(t *testing.T) {
	w := mustWorld(t, oneMetric())
	mustPlay(t, w, 1, 2)
	old := w.envelope(3, 0, oneUser(3), false)
	engine := w.engine
	must.Succeed(t, w.restart())
	w.engine = engine // the process goes on, READ has taken a new epoch
	mustPlay(t, w, 3, 3)
	records, takes := len(w.ledger.logs[0]), w.ledger.acquired
	w.engine.opts.Lost = func(int64) { t.Error("the shard was given up") }
	if p, err := w.engine.Spend(t.Context(), 0, old); p != nil || err != nil {
		t.Fatalf("an element of an older epoch gave %v, %v", p, err)
	}
	if len(w.ledger.logs[0]) != records {
		t.Fatal("an element of an older epoch was kept")
	}
	if mustPlay(t, w, 4, 4); w.ledger.acquired != takes {
		t.Fatal("an element of an older epoch made the process forget the shard")
	}
}

// TestAnOpenOfASettledTurnIsDropped: an engine's restore can return an OPEN of the epoch that still
// is the newest on control. It must have no effect: not a write into a slot that a later turn owns,
// and no stop either.
func TestAnOpenOfASettledTurnIsDropped(t *testing.T) {
	type world2 struct {
		name   string
		before func(w *world)
	}
	for _, c := range []world2{
		{"the process goes on", func(*world) {}},
		{"the process goes on, has forgotten the shard", func(w *world) { w.forget = true }},
		{"another process", func(w *world) {
			opts := w.engine.opts
			w.engine, _ = NewEngine(opts)
		}},
	} {
		for _, last := range []uint64{4, 5, 12} { // within the slots, and past them
			w := mustWorld(t, oneMetric())
			mustPlay(t, w, 1, 2)
			stale := w.envelope(3, 0, oneUser(3), false)
			mustPlay(t, w, 3, last)
			appends := w.ledger.appends[0]
			c.before(w)
			p, err := w.engine.Spend(t.Context(), 0, stale)
			if err != nil || p != nil {
				t.Errorf("%s, turn %d: the OPEN of turn 3 gave %v, %v", c.name, last, p, err)
			}
			if w.ledger.appends[0] != appends {
				t.Errorf("%s, turn %d: the OPEN of turn 3 was written: %d appends", c.name, last,
					w.ledger.appends[0]-appends)
			}
			// The run goes on in a new epoch as if nothing had been.
			must.Succeed(t, w.restart())
			if _, err := w.play(last+1, oneUser(last+1), nil); err != nil {
				t.Errorf("%s, turn %d: going on: %v", c.name, last, err)
			}
		}
	}
}

// TestAnEnvelopeWithoutOpenDoesNothing: a drain, a flush, a late restore.
func TestAnEnvelopeWithoutOpenDoesNothing(t *testing.T) {
	w := mustWorld(t, oneMetric())
	contributions := w.batch(w.epoch, 1, 0, oneUser(1))
	olderOpen := schemas.EncodeOpen(schemas.Open{Epoch: w.epoch - 1, Turn: 1, Shards: 1})
	open := func(epoch int64, turn uint64, group uint32) []byte {
		return schemas.EncodeOpen(schemas.Open{Epoch: epoch, Turn: turn, Contributions: 1, Shards: 1,
			Group: group, Groups: 3})
	}
	first, second := open(w.epoch, 1, 0), open(w.epoch, 1, 1)
	for name, blobs := range map[string][][]byte{
		"nothing": nil, "contributions alone": {contributions}, "an older epoch's OPEN": {contributions, olderOpen},
		"the first reader's OPEN":             {contributions, first},
		"the other readers' OPENs":            {contributions, second, open(w.epoch, 1, 2)},
		"two of three readers' OPENs":         {contributions, first, second},
		"one reader's OPEN twice":             {contributions, first, second, second},
		"one reader's OPEN of an older epoch": {contributions, first, second, open(w.epoch-1, 1, 2)},
		"one reader's OPEN of another turn":   {contributions, first, second, open(w.epoch, 2, 2)},
		"two readers' OPENs of a newer epoch yet": {contributions, first, second, open(w.epoch, 1, 2),
			open(w.epoch+1, 1, 0), open(w.epoch+1, 1, 1)},
	} {
		p, err := w.engine.Spend(t.Context(), 0, blobs)
		if p != nil || err != nil || w.ledger.acquired != 0 {
			t.Errorf("%s: %v, %v, %d takes", name, p, err, w.ledger.acquired)
		}
	}
}

// TestAMissingSettlementIsNoStop: the broker may be slow; the turn can be tried again.
func TestAMissingSettlementIsNoStop(t *testing.T) {
	w := mustWorld(t, oneMetric())
	partials := must.Have(w.play(1, oneUser(1), nil))
	_, err := w.play(2, oneUser(2), nil)
	var stop *StopError
	if !errors.Is(err, w.settlements.absent) || errors.As(err, &stop) {
		t.Fatalf("error is %v", err)
	}
	w.settle(1, partials)
	mustPlay(t, w, 2, 2)
}
