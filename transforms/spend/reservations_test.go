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

// admittedTo returns the decided turn, if a user is admitted to it.
func admittedTo(a *shardAccounts) (turns []uint64) {
	if len(a.decided.reservations.list) > 0 {
		turns = append(turns, a.decided.delta.Turn)
	}
	return turns
}

// TestRuleATurnReservesItsWorstCase: of a user at the edge of the budget, one unit is charged for a
// turn where four are reserved. Spent plus reserved never exceeds B². So it is with a bucket.
func TestRuleATurnReservesItsWorstCase(t *testing.T) {
	for price, want := range map[units.Precision][]uint64{
		unit(1): {1, 2, 3, 4, 5, 6, 7, 8, 9}, // spent 8 and reserved 4 fit, then 9 and 4 do not
		unit(4): {1, 2, 3},
	} {
		for _, bucket := range []bool{false, true} {
			w := mustWorld(t, atTheEdge(16, bucket))
			var got []uint64
			for turn := uint64(1); turn < 24; turn++ {
				must.Have(w.play(turn, []contribution{{user: 1, key: "a", n: 1}}, nil))
				accounts := w.engine.shards[0].accounts
				if account := accounts.accountOf(1); account.Spent+account.Reserved > 12 ||
					account.Reserved != 4*units.Mu2(len(accounts.decided.reservations.list)) {
					t.Fatalf("turn %d at %v, bucket %v: %+v", turn, price, bucket, account)
				}
				got = append(got, admittedTo(accounts)...)
				w.settlements.settle(schemas.Settled{Turn: turn, FirstRungs: []units.Precision{unit(1)},
					Keys: []schemas.SettledKey{{WindowStart: int64(turn-1) * testTurn,
						WindowEnd: int64(turn) * testTurn, Key: []byte("a"), Precision: price}}})
			}
			if !slices.Equal(got, want) {
				t.Errorf("at %v a turn, bucket %v: admitted to turns %v, want %v", price, bucket, got, want)
			}
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
			w.settlements.settle(schemas.Settled{Turn: turn, FirstRungs: []units.Precision{unit(4)}})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("in period %d with events from turn %d: admitted to turns %v, want %v", c.period, c.from, got,
				c.want)
		}
	}
}

// TestARestartAtAnyTurnFindsNoGap: whatever part of the last append has landed, and after a
// compaction that keeps the newest record of every key alone, a restore finds the accounts of an
// undisturbed run.
func TestARestartAtAnyTurnFindsNoGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := oneMetric()
		s.slots = rapid.SampledFrom([]int{4, 5, 8, 9, 12, 16, 23}).Draw(t, "slots")
		s.shards = rapid.IntRange(1, 3).Draw(t, "shards")
		// the counted part depends on the rest
		s.budget.Mu2 = rapid.SampledFrom([]units.Mu2{1 << 30, 300, 100}).Draw(t, "B²")
		s = s.inBucket(rapid.Bool().Draw(t, "bucket"))
		quiet := must.Have(newWorld(s, 1))
		for turn := uint64(1); turn <= uint64(3*s.slots); turn++ {
			again := quiet.copied(t)
			partials := must.Have(quiet.play(turn, oneUser(turn), nil))
			landed := rapid.IntRange(-1, 2).Draw(t, "records that land")
			again.ledger.tear = func(int, int) int { return landed }
			if _, err := again.attempt(turn, oneUser(turn), new([]happening)); landed >= 0 && err == nil {
				t.Fatal("the append was not torn")
			}
			again.ledger.tear = nil
			again.ledger.compact()
			must.Succeed(t, again.restart())
			if _, err := again.play(turn, oneUser(turn), nil); err != nil {
				t.Fatalf("turn %d, after %d records: %v", turn, landed, err)
			}
			if got, want := fmt.Sprint(again.accounts()), fmt.Sprint(quiet.accounts()); got != want {
				t.Fatalf("turn %d, after %d records: accounts are %s, want %s", turn, landed, got, want)
			}
			quiet.settle(turn, partials)
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

// TestADecidedTurnIsChargedBeforeTheNext: the accounts take no turn that is not the first after a
// charged one, and no charge of another turn.
func TestADecidedTurnIsChargedBeforeTheNext(t *testing.T) {
	s := atTheEdge(16, false)
	accounts := mustAccounts(t, s, []contribution{{user: 1, key: "a", n: 1}})
	outOfOrder := func(turn uint64) {
		t.Helper()
		if _, err := accounts.decide(turn, s.windows(turn), &contributions{}, 0); err == nil {
			t.Errorf("turn %d was decided", turn)
		}
		if err := accounts.applyDelta(&schemas.Delta{Turn: turn, Windows: s.windows(turn)}, s.windows(turn)); err ==
			nil {
			t.Errorf("turn %d was applied", turn)
		}
	}
	charge := func(turn uint64) error { // with a price for everything
		return accounts.charge(NewSettlement(schemas.Settled{Turn: turn,
			FirstRungs: []units.Precision{unit(1)}}))
	}
	outOfOrder(1)
	outOfOrder(2)
	if err := charge(2); err == nil {
		t.Error("turn 1 was charged by a settlement of turn 2")
	}
	if account := accounts.accountOf(1); account.Reserved != 4 || account.Spent != 0 {
		t.Errorf("the account is %+v", account)
	}
	must.Succeed(t, charge(1))
	if err := charge(1); err == nil {
		t.Error("turn 1 was charged twice")
	}
	outOfOrder(1)
	outOfOrder(3)
}
