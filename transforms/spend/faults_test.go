package spend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// open spends a turn in shard 0 with one user's events.
func (w *world) open(turn uint64, cs []contribution, fromLedger bool) ([]Blob, error) {
	pending, err := w.spend(0, w.envelope(turn, 0, cs, fromLedger))
	if err != nil {
		return nil, err
	}
	return pending.Wait(context.Background())
}

// rewrite changes a shard's log while no engine reads it.
func (l *memLedger) rewrite(shard int, keep func(schemas.LedgerPart) bool) {
	l.logs[shard] = slices.DeleteFunc(l.logs[shard], func(r accounts.LedgerRecord) bool {
		p, err := schemas.DecodeLedgerPart(r.Key, r.Value)
		return err == nil && !keep(p)
	})
}

// TestEventsThatDifferFromTheLedgerStop: the log was changed after a decided
// turn, by a record more, a record less, or another user.
func TestEventsThatDifferFromTheLedgerStop(t *testing.T) {
	for name, cs := range map[string][]contribution{
		"one event more":  {{user: 2, key: "a", n: 3}, {user: 2, key: "b", n: 1}},
		"one event less":  {{user: 2, key: "a", n: 1}, {user: 2, key: "b", n: 1}},
		"another key":     {{user: 2, key: "a", n: 2}, {user: 2, key: "c", n: 1}},
		"another user":    {{user: 1, key: "a", n: 2}, {user: 1, key: "b", n: 1}},
		"another period":  {{user: 2, period: 1, key: "a", n: 2}, {user: 2, period: 1, key: "b", n: 1}},
		"no event at all": nil,
	} {
		w := mustWorld(t, oneMetric())
		mustPlay(t, w, 1, 1)
		must.Have(w.open(2, oneUser(2), false))
		must.Succeed(t, w.restart())
		records := len(w.ledger.logs[0])
		_, err := w.open(2, cs, false)
		stopReason(t, err, "different decisions")
		if len(w.ledger.logs[0]) != records {
			t.Errorf("%s: something was written", name)
		}
		// The right events still pass.
		must.Succeed(t, w.restart())
		if _, err := w.open(2, oneUser(2), false); err != nil {
			t.Errorf("%s: the right events then: %v", name, err)
		}
	}
}

func TestAGapInTheLedgerStops(t *testing.T) {
	for gap := uint64(1); gap <= 3; gap++ {
		s := oneMetric()
		s.slots = 9 // no snapshot before turn 5
		w := mustWorld(t, s)
		mustPlay(t, w, 1, 3)
		w.ledger.rewrite(0, func(p schemas.LedgerPart) bool {
			return p.Key.Kind != schemas.KindDeltaPart || p.Set.Turn != gap
		})
		must.Succeed(t, w.restart())
		_, err := w.open(4, oneUser(4), false)
		stopReason(t, err, "gap")
	}
}

func TestALedgerAheadOfControlStops(t *testing.T) {
	s := oneMetric()
	s.slots = 9
	w := mustWorld(t, s)
	mustPlay(t, w, 1, 3)
	for turn := uint64(2); turn <= 3; turn++ { // control has lost its last records
		delete(w.settlements.turns, turn)
	}
	must.Succeed(t, w.restart())
	_, err := w.open(2, oneUser(2), false)
	stopReason(t, err, "ahead of the control log")
}

// forge puts a delta into a shard's ledger.
func (w *world) forge(t *testing.T, d schemas.Delta) {
	t.Helper()
	records := must.Have(schemas.EncodeDelta(d, uint64(w.slots), maxLedgerRecord))
	w.ledger.logs[0] = append(w.ledger.logs[0], records...)
}

// TestForgedDecisionsStop: a ledger whose decisions no budget allows, or that speaks of unknown
// metrics, stops the run; it neither overspends nor crashes.
func TestForgedDecisionsStop(t *testing.T) {
	window := func(m uint32) schemas.MetricWindow { return schemas.MetricWindow{Metric: m, WindowEnd: testTurn} }
	earlier := schemas.MetricWindow{WindowStart: -testTurn}
	admitted, nothing := schemas.NewBits(1), schemas.NewBits(1)
	admitted.Set(0)
	user := func(id int, entries []schemas.KeyCount, admitted schemas.Bits) schemas.DeltaUser {
		return schemas.DeltaUser{ContribUser: schemas.ContribUser{ID: testID(id), Entries: entries}, Admitted: admitted}
	}
	poor := user(1, []schemas.KeyCount{{Key: 0, N: 1}}, admitted)
	unadmitted := user(1, poor.Entries, nothing)
	rich := user(1, []schemas.KeyCount{{Key: 0, N: 4}}, admitted)
	for name, d := range map[string]schemas.Delta{
		"a worst case above the budget": {Windows: []schemas.MetricWindow{window(0)},
			Labels: []schemas.Label{{Key: []byte("a")}}, Users: []schemas.DeltaUser{rich}},
		"an unknown metric, admitted": {Windows: []schemas.MetricWindow{window(7)},
			Labels: []schemas.Label{{Key: []byte("a")}}, Users: []schemas.DeltaUser{rich}},
		"an unknown metric, no user": {Windows: []schemas.MetricWindow{window(7)}},
		"another window": {Windows: []schemas.MetricWindow{earlier},
			Labels: []schemas.Label{{Key: []byte("a")}}, Users: []schemas.DeltaUser{poor}},
		"a window too many": {Windows: []schemas.MetricWindow{earlier, window(0)},
			Labels: []schemas.Label{{Key: []byte("a")}}, Users: []schemas.DeltaUser{poor}},
		"a window twice": {Windows: []schemas.MetricWindow{window(0), window(0)},
			Labels: []schemas.Label{{Key: []byte("a")}}, Users: []schemas.DeltaUser{poor}},
		"no window": {Labels: []schemas.Label{{Key: []byte("a")}},
			Users: []schemas.DeltaUser{user(1, poor.Entries, schemas.NewBits(0))}},
		"no window and no user": {},
		"nothing kept, and admitted": {Windows: []schemas.MetricWindow{window(0)},
			Users: []schemas.DeltaUser{user(1, nil, admitted)}},
		"another window, no user in it": {Windows: []schemas.MetricWindow{earlier},
			Labels: []schemas.Label{{Key: []byte("a")}}, Users: []schemas.DeltaUser{unadmitted}},
	} {
		s := oneMetric()
		s.budget.Mu2 = 3 // an event costs 4 at worst
		w := mustWorld(t, s)
		d.Turn, d.Epoch, d.Tallies = 1, w.epoch, make([]schemas.WindowTally, len(d.Windows))
		w.forge(t, d)
		_, err := w.open(1, nil, true)
		stopReason(t, err, "cannot be applied")
		if len(w.accounts()) != 0 {
			t.Errorf("%s: accounts were kept", name)
		}
		// As a decision of the past, too.
		w.settlements.settle(schemas.Settled{Turn: 1})
		must.Succeed(t, w.restart())
		_, err = w.open(2, nil, false)
		stopReason(t, err, "cannot be applied")
	}
}

// TestRuleNoDecisionOfADeltaIsLeftOut: a user who is not met among the users of the
// windows would be admitted and never pay, and one who is met twice pays twice. The
// codec refuses users out of order; this is the second check.
func TestRuleNoDecisionOfADeltaIsLeftOut(t *testing.T) {
	s := oneMetric()
	admitted := schemas.NewBits(1)
	admitted.Set(0)
	slice := []schemas.KeyCount{{Key: 0, N: 1}}
	users := make([]schemas.DeltaUser, 2)
	for i := range users {
		users[i] = schemas.DeltaUser{ContribUser: schemas.ContribUser{ID: testID(i + 1), Entries: slice},
			Admitted: admitted}
	}
	slices.SortFunc(users, func(a, b schemas.DeltaUser) int { return slices.Compare(a.ID[:], b.ID[:]) })
	backwards := []schemas.DeltaUser{users[1], users[0]}
	twice := []schemas.DeltaUser{users[0], users[0], users[1]}
	for name, c := range map[string]struct {
		users []schemas.DeltaUser
		err   error
	}{"in order": {users, nil}, "backwards": {backwards, errUserMissed}, "twice": {twice, errUserMissed}} {
		accounts := newShardAccounts(mustWorld(t, s).rules, oneSlice{})
		d := schemas.Delta{Turn: 1, Windows: s.windows(1), Tallies: make([]schemas.WindowTally, 1),
			Labels: []schemas.Label{{Key: []byte("a")}}, Users: c.users}
		if err := accounts.applyDelta(&d, s.windows(1)); !errors.Is(err, c.err) || accounts.decided != nil &&
			err != nil {
			t.Errorf("users %s: %v with decisions %v, want %v", name, err, accounts.decided, c.err)
		}
	}
}

// TestErrorTextsCarryNoData: no user, key or count in a stop's reason.
func TestErrorTextsCarryNoData(t *testing.T) {
	secret := []contribution{{user: 1, key: "top secret", n: 31337}}
	admitted := schemas.NewBits(1)
	admitted.Set(0)
	forged := schemas.Delta{Turn: 1, Windows: []schemas.MetricWindow{{WindowEnd: testTurn}},
		Labels: []schemas.Label{{Key: []byte("top secret")}}, Tallies: make([]schemas.WindowTally, 1),
		Users: []schemas.DeltaUser{
			{ContribUser: schemas.ContribUser{ID: testID(1), Entries: []schemas.KeyCount{{Key: 0, N: 31337}}},
				Admitted: admitted}}}
	for want, fail := range map[string]func() error{
		"different decisions": func() error {
			w := mustWorld(t, oneMetric())
			must.Have(w.open(1, secret, false))
			must.Succeed(t, w.restart())
			_, err := w.open(1, []contribution{{user: 1, key: "top secret", n: 3}}, false)
			return err
		},
		"cannot be applied": func() error {
			s := oneMetric()
			s.budget.Mu2 = 3
			w := mustWorld(t, s)
			forged.Epoch = w.epoch
			w.forge(t, forged)
			_, err := w.open(1, nil, true)
			return err
		},
		"cannot be charged": func() error {
			s := oneMetric()
			s.metrics[0] = publicMetric("m", "top secret")
			w := mustWorld(t, s)
			must.Have(w.open(1, secret, false))
			w.settlements.settle(schemas.Settled{Turn: 1})
			_, err := w.open(2, nil, false)
			return err
		},
		errMisrouted: func() error {
			s := oneMetric()
			s.shards = 2
			w := mustWorld(t, s)
			open := schemas.EncodeOpen(schemas.Open{Epoch: w.epoch, Turn: 1, Contributions: 1, Shards: 2,
				Shard: uint32(1 - schemas.ShardOf(testID(1), 2))})
			_, err := w.spend(1-schemas.ShardOf(testID(1), 2),
				[][]byte{w.batch(w.epoch, 1, 1-schemas.ShardOf(testID(1), 2), secret), open})
			return err
		},
	} {
		err := fail()
		stopReason(t, err, want)
		for _, word := range []string{"secret", "31337", fmt.Sprintf("%x", testID(1))} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("the error says %q: %v", word, err)
			}
		}
	}
}
