package spend

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/units"
)

// last returns the last decided turn.
func (a *shardAccounts) last() *decision { return &a.decided[len(a.decided)-1] }

// mustSpan plays and settles a span.
func mustSpan(t testing.TB, w *world, first uint64, span [][]contribution) {
	t.Helper()
	partials := must.Have(w.playSpan(first, span, nil))
	w.settleSpan(first, first+uint64(len(span))-1, partials)
}

// oneUserSpan returns one user's events in each of so many turns.
func oneUserSpan(first uint64, turns int) [][]contribution {
	span := make([][]contribution, turns)
	for i := range span {
		span[i] = oneUser(first + uint64(i))
	}
	return span
}

// atTheEdge has a budget of three worst cases of one event, of 4 units each; or else, as much in a
// bucket that is not refilled, and an ample budget.
func atTheEdge(slots int, bucket bool) settings {
	s := deployment(12, metric1("m"))
	s.slots = slots
	return s.inBucket(bucket)
}

// inBucket moves the budget to the bucket of the first metric.
func (s settings) inBucket(bucket bool) settings {
	if bucket {
		s.metrics[0].Burst, s.metrics[0].Horizon, s.budget.Mu2 = s.budget.Mu2, 1, 1<<40
	}
	return s
}

// admittedTo lists the turns that user 1 is admitted to, of those that are open.
func admittedTo(a *shardAccounts) (turns []uint64) {
	for i := range a.decided {
		if len(a.decided[i].reservations.list) > 0 {
			turns = append(turns, a.decided[i].delta.Turn)
		}
	}
	return turns
}

// TestRuleASpanReservesTheWorstCaseOfAllItsTurns: nothing of a span is charged
// before all of it is decided. A user at the edge of the budget, of whom one unit
// is charged where four are reserved, is admitted to three turns of a span, and to
// nine one after the other; spent plus reserved never exceeds B². So it is with a bucket.
func TestRuleASpanReservesTheWorstCaseOfAllItsTurns(t *testing.T) {
	one := []contribution{{user: 1, key: "a", n: 1}}
	type row struct {
		turns int // turns of a span
		price units.Precision
		want  []uint64
	}
	rows := []row{
		{1, unit(1), []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}}, // spent 8 and reserved 4 fit, then 9 and 4 do not
		{1, unit(4), []uint64{1, 2, 3}},
		// three of four, then two beside 3 spent, then one beside 5 to 8
		{4, unit(1), []uint64{1, 2, 3, 5, 6, 9, 13, 17, 21}},
		{4, unit(4), []uint64{1, 2, 3}},
		{2, unit(1), []uint64{1, 2, 3, 4, 5, 6, 7, 9, 11}},
	}
	for i, c := range append(rows, rows...) {
		bucket := i >= len(rows)
		w := mustWorld(t, atTheEdge(16, bucket))
		var got []uint64
		for first := uint64(1); first < 24; first += uint64(c.turns) {
			partials := must.Have(w.playSpan(first, slices.Repeat([][]contribution{one}, c.turns), nil))
			accounts := w.engine.shards[0].accounts
			admitted := admittedTo(accounts)
			got = append(got, admitted...)
			account := accounts.accountOf(1)
			if sum := account.Spent + account.Reserved; sum > 12 || account.Reserved != units.Mu2(4*len(admitted)) {
				t.Fatalf("spans of %d, turn %d, bucket %v: %+v with %d turns reserved", c.turns, first, bucket, account,
					len(admitted))
			}
			last := first + uint64(c.turns) - 1
			s := schemas.Settled{First: first, Turn: last, FirstRungs: []units.Precision{unit(1)}}
			for turn := first; turn <= last; turn++ {
				s.Keys = append(s.Keys,
					schemas.SettledKey{WindowStart: int64(turn-1) * testTurn, WindowEnd: int64(turn) * testTurn,
						Key: []byte("a"), Precision: c.price})
			}
			w.settlements.settle(s)
			if n := len(partials[0].Cells); n != len(admitted) {
				t.Fatalf("spans of %d, turn %d: %d counts are handed on of %d admissions", c.turns, first, n,
					len(admitted))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("spans of %d at %v a turn, bucket %v: admitted to turns %v, want %v", c.turns, c.price, bucket,
				got, c.want)
		}
	}
}

// TestABucketIsRefilledOverItsOwnPeriod: one of 4 units, which an event costs, is refilled with 8
// in four turns, in period 1 since turn 3. The overflow is lost.
func TestABucketIsRefilledOverItsOwnPeriod(t *testing.T) {
	s := deployment(1<<40, metric1("m"))
	s.metrics[0].First, s.metrics[0].Burst, s.metrics[0].Refill, s.metrics[0].Horizon = unit(4), 4, 8, 4*testTurn
	for _, c := range []struct {
		period int64
		from   uint64 // the first turn with an event
		want   []uint64
	}{
		{0, 1, []uint64{1, 3, 5, 7, 9, 11}}, // it holds 4, 2, 4, 2, …
		{1, 1, []uint64{1, 5, 7, 9, 11}},
		{1, 5, []uint64{5, 7, 9, 11}},
		{1, 6, []uint64{6, 8, 10, 12}},
		{2, 1, []uint64{1, 8, 10, 12}},
		{2, 10, []uint64{10, 12}},
	} {
		w := mustWorld(t, s)
		var got []uint64
		for turn := uint64(1); turn <= 12; turn++ {
			var cs []contribution
			if turn >= c.from {
				cs = []contribution{{user: 1, period: c.period, key: "a", n: 1}}
			}
			must.Have(w.play(turn, cs, nil))
			got = append(got, admittedTo(w.engine.shards[0].accounts)...)
			w.settlements.settle(schemas.Settled{First: turn, Turn: turn, FirstRungs: []units.Precision{unit(4)}})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("in period %d with events from turn %d: admitted to turns %v, want %v", c.period, c.from, got,
				c.want)
		}
	}
}

// TestARestartAtAnySpanFindsNoGap: whatever the spans, whatever part of the last
// append has landed, and after a compaction that keeps the newest record of every
// key alone, a restore finds the accounts of an undisturbed run.
func TestARestartAtAnySpanFindsNoGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := oneMetric()
		s.slots = rapid.SampledFrom([]int{4, 8, 9, 11, 12, 16, 23}).Draw(t, "slots")
		s.shards = rapid.IntRange(1, 3).Draw(t, "shards")
		// the counted part depends on the rest
		s.budget.Mu2 = rapid.SampledFrom([]units.Mu2{1 << 30, 300, 100}).Draw(t, "B²")
		s = s.inBucket(rapid.Bool().Draw(t, "bucket"))
		quiet := must.Have(newWorld(s, 1))
		longest := rapid.IntRange(1, s.slots/4).Draw(t, "turns of the longest span")
		for first := uint64(1); first <= uint64(3*s.slots); {
			span := oneUserSpan(first, rapid.IntRange(1, longest).Draw(t, "turns"))
			again := quiet.copied(t)
			partials := must.Have(quiet.playSpan(first, span, nil))
			landed := rapid.IntRange(-1, len(span)+1).Draw(t, "records that land")
			again.ledger.tear = func(int, int) int { return landed }
			if _, err := again.attempt(first, span, new([]happening)); landed >= 0 && err == nil {
				t.Fatal("the append was not torn")
			}
			again.ledger.tear = nil
			again.ledger.compact()
			must.Succeed(t, again.restart())
			if _, err := again.playSpan(first, span, nil); err != nil {
				t.Fatalf("turns %d to %d, after %d records: %v", first, first+uint64(len(span))-1, landed, err)
			}
			if got, want := fmt.Sprint(again.accounts()), fmt.Sprint(quiet.accounts()); got != want {
				t.Fatalf("turns from %d, after %d records: accounts are %s, want %s", first, landed, got, want)
			}
			last := first + uint64(len(span)) - 1
			quiet.settleSpan(first, last, partials)
			first = last + 1
		}
	})
}

// copied returns another process over a copy of the ledger.
func (w *world) copied(t *rapid.T) *world {
	t.Helper()
	c := must.Have(newWorld(w.settings, 2))
	c.ledger.newest = w.ledger.newest
	for shard, log := range w.ledger.logs {
		c.ledger.logs[shard] = slices.Clone(log)
	}
	maps.Copy(c.settlements.turns, w.settlements.turns)
	c.settlements.newest = w.settlements.newest
	must.Succeed(t, c.restart())
	return c
}

// TestASpanThatTheSlotsDoNotAllowStops: a restore could find a gap after it.
func TestASpanThatTheSlotsDoNotAllowStops(t *testing.T) {
	for slots, most := range map[int]int{4: 1, 7: 1, 8: 2, 16: 4, 64: 16} {
		s := oneMetric()
		s.slots = slots
		w := mustWorld(t, s)
		mustSpan(t, w, 1, oneUserSpan(1, most))
		first := uint64(most) + 1
		if most < schemas.MaxSpan {
			_, err := w.playSpan(first, oneUserSpan(first, most+1), nil)
			stopReason(t, err, "more turns were opened at once")
		}
		mustSpan(t, w, first, oneUserSpan(first, most))
	}
}

// TestADecidedTurnIsChargedBeforeTheNextSpan: the accounts take no turn that is not the
// next one of the span that is open, or the first after a charged one.
func TestADecidedTurnIsChargedBeforeTheNextSpan(t *testing.T) {
	s := atTheEdge(16, false)
	accounts := mustAccounts(t, s, []contribution{{user: 1, key: "a", n: 1}})
	for _, c := range []struct{ first, turn uint64 }{{2, 2}, {1, 3}, {1, 1}, {3, 3}} {
		if _, err := accounts.decide(c.first, c.turn, s.windows(c.turn), &contributions{}, 0); err == nil {
			t.Errorf("turn %d of a span from %d was decided after turn 1, which is not charged", c.turn, c.first)
		}
		if err := accounts.applyDelta(c.first, &schemas.Delta{Turn: c.turn}, nil); err == nil {
			t.Errorf("turn %d of a span from %d was applied after turn 1, which is not charged", c.turn, c.first)
		}
	}
	for _, bad := range []schemas.Settled{{First: 2, Turn: 3}, {Turn: 2}} {
		bad.FirstRungs = []units.Precision{unit(1)} // it has a price for everything
		if err := accounts.charge(NewSettlement(bad)); err == nil {
			t.Errorf("turn 1 was charged by a settlement of turns %d to %d", bad.First, bad.Turn)
		}
	}
	if account := accounts.accountOf(1); account.Reserved != 4 || account.Spent != 0 {
		t.Errorf("the account is %+v", account)
	}
}
