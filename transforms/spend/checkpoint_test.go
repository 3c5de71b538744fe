package spend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Resharding moves every account to its shard and loses none.
func TestReshardingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.IntRange(1, 5).Draw(t, "from"), rapid.IntRange(1, 5).Draw(t, "to")
		whole := schemas.Snapshot{Turn: 7, Epoch: 3}
		for _, id := range slices.Compact(
			slices.Sorted(slices.Values(rapid.SliceOfN(rapid.IntRange(0, 60), 0, 30).Draw(t, "users")))) {
			account := accounts.Account{Spent: units.Mu2(id + 1)}
			for period := range int64(rapid.IntRange(1, 2).Draw(t, "periods")) {
				whole.Accounts = append(whole.Accounts,
					accounts.Entry{ID: accounts.ID{byte(id), 9}, Period: period, Account: account})
			}
		}
		parts := must.Have(Reshard([]schemas.Snapshot{whole}, from))
		again := must.Have(Reshard(parts, to))
		for n := range again {
			for _, a := range again[n].Accounts {
				if schemas.ShardOf(a.ID, to) != n {
					t.Fatalf("an account of shard %d is in shard %d", schemas.ShardOf(a.ID, to), n)
				}
			}
			if _, err := schemas.EncodeSnapshot(again[n], 0, 1<<20); err != nil {
				t.Fatalf("shard %d: %v", n, err)
			}
		}
		one := must.Have(Reshard(again, 1))
		if !slices.EqualFunc(one[0].Accounts, whole.Accounts, accounts.Entry.Equal) || one[0].Turn != 7 ||
			one[0].Epoch != 3 {
			t.Fatalf("%d accounts became %d", len(whole.Accounts), len(one[0].Accounts))
		}
	})
}

// change winds the world's shards up after a settled turn and begins another one
// with other shards, slots and windows, on the same ledger or on a new one.
func (w *world) change(settled uint64, next settings) (*world, error) {
	epoch := w.ledger.nextEpoch()
	header := schemas.Header{Metrics: w.metrics}
	before := header.Allowances()
	if w.rules.From == settled+1 {
		before, w.rules.Before = w.rules.Before, nil
		defer func() { w.rules.Before = before }() // as a process that goes on has it
	}
	snapshots := make([]schemas.Snapshot, w.shards)
	for n := range snapshots {
		var err error
		if snapshots[n], err = w.engine.Checkpoint(context.Background(), n, epoch, settled); err != nil {
			return nil, err
		}
	}
	after, err := newWorld(next, epoch2seed(epoch))
	if err != nil {
		return nil, err
	}
	if next.shards == w.shards {
		after.ledger = w.ledger
	} else {
		after.ledger.newest = epoch
		if snapshots, err = Reshard(snapshots, next.shards); err != nil {
			return nil, err
		}
	}
	after.rules.From, after.rules.Before, after.rules.Begins = settled+1, before, int64(settled)*testTurn
	after.settlements = w.settlements
	after.settlements.history = 2 * uint64(next.slots)
	for range 2 { // a second time changes nothing
		for n := range snapshots {
			if err := Store(context.Background(), after.ledger, n, snapshots[n]); err != nil {
				return nil, err
			}
		}
	}
	return after, after.restart()
}

func epoch2seed(epoch int64) uint64 { return uint64(epoch) + 100 }

// TestRuleAChangeKeepsEveryAccountAndNoOpenWindow: accounts, and decisions from them, agree with
// the sequential model, however often shards and slots change; contributions before a change belong
// to no window after it; an unfinished turn prevents a change.
func TestRuleAChangeKeepsEveryAccountAndNoOpenWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		w := must.Have(newWorld(s, 1))
		m := newModel(s)
		turn := uint64(0)
		for range rapid.IntRange(1, 4).Draw(t, "generations") {
			for range rapid.IntRange(0, 2*s.slots).Draw(t, "turns") {
				cs, next := drawContributions(t), turn+1
				m.open(next, cs)
				got, err := w.play(next, cs, drawHappenings(t, s.shards))
				if err != nil {
					t.Fatalf("turn %d: %v", next, err)
				}
				if err := w.agree(m, got); err != nil {
					t.Fatalf("turn %d: %v", next, err)
				}
				if turn > 0 && rapid.IntRange(0, 9).Draw(t, "too early") == 0 {
					// Another number of shards needs a new ledger, which knows nothing of the turn.
					other := s
					other.shards = 1 + (s.shards+rapid.IntRange(0, 1).Draw(t, "shards more")-1)%4
					if _, err := w.change(turn, other); !errors.Is(err, ErrInterrupted) {
						t.Fatalf("a change before turn %d is settled: %v", next, err)
					}
					must.Succeed(t, w.restart())
					if _, err := w.play(next, cs, nil); err != nil {
						t.Fatalf("turn %d again: %v", next, err)
					}
				}
				m.charge(w.settle(next, got))
				turn = next
			}
			if turn == 0 {
				continue
			}
			s.shards, s.slots = rapid.IntRange(1, 4).Draw(t, "shards"), rapid.IntRange(minLedgerSlots, 9).Draw(t,
				"slots")
			s.since = turn
			s.metrics = drawChange(t, turn, s.metrics)
			m.change(s)
			w = must.Have(w.change(turn, s))
		}
	})
}

// drawChange draws other allowances, and before all metrics a new one, or one that was such is
// gone.
func drawChange(t *rapid.T, turn uint64, metrics []schemas.MetricSpec) []schemas.MetricSpec {
	metrics = slices.Clone(metrics)
	if strings.HasPrefix(metrics[0].Name, "new") {
		metrics = metrics[1:]
	} else if rapid.Bool().Draw(t, "a new metric") {
		m := drawMetric(t, fmt.Sprint("new", turn))
		m.Kind, m.Min, m.Max, m.Filter, m.KeyMode = metrickind.Events, 0, 0, "", schemas.KeysPrivate
		metrics = slices.Insert(metrics, 0, m)
	}
	for i := range metrics {
		if m := &metrics[i]; m.Burst > 0 && rapid.Bool().Draw(t, "another allowance") {
			m.Burst, m.Refill = units.Mu2(rapid.Uint64Range(1, 1<<11).Draw(t, "burst")),
				units.Mu2(rapid.Uint64Range(0, 1<<13).Draw(t, "refill"))
			m.Horizon = rapid.Int64Range(1, 20*testTurn).Draw(t, "horizon")
		}
	}
	return metrics
}

// TestRuleAShardIsNeverStoredBesideForeignAccounts: a ledger that has anything
// but what a change left there belongs to another deployment, and must not be adopted. So does one
// with decisions of a later turn.
func TestRuleAShardIsNeverStoredBesideForeignAccounts(t *testing.T) {
	account := func(id byte, spent units.Mu2) accounts.Entry {
		return accounts.Entry{ID: accounts.ID{id}, Account: accounts.Account{Spent: spent}}
	}
	slice := must.Have(schemas.EncodeOpenSlice(schemas.OpenSlice{Turn: 7}))
	ours := schemas.Snapshot{Turn: 7, Epoch: 50, Accounts: []accounts.Entry{account(1, 5), account(2, 6)},
		Open: [][]byte{slice}}
	for name, c := range map[string]struct {
		there schemas.Snapshot
		want  error
	}{
		"ours, of an earlier attempt": {schemas.Snapshot{Turn: 7, Epoch: 3, Accounts: ours.Accounts, Open: ours.Open},
			nil},
		"ours, of an earlier turn":   {schemas.Snapshot{Turn: 5, Epoch: 3, Accounts: ours.Accounts[:1]}, nil},
		"the same turn, no accounts": {schemas.Snapshot{Turn: 7, Epoch: 3, Open: ours.Open}, ErrForeignLedger},
		"the same turn, less spent": {schemas.Snapshot{Turn: 7, Epoch: 3,
			Accounts: []accounts.Entry{account(1, 5), account(2, 5)}, Open: ours.Open}, ErrForeignLedger},
		"the same turn, other windows": {schemas.Snapshot{Turn: 7, Epoch: 3, Accounts: ours.Accounts},
			ErrForeignLedger},
		"a later turn": {schemas.Snapshot{Turn: 8, Epoch: 3, Accounts: ours.Accounts, Open: ours.Open},
			ErrForeignLedger},
	} {
		ledger := newMemLedger()
		writer := must.Have(ledger.Acquire(t.Context(), 0, 3, func(accounts.LedgerRecord) error { return nil }))
		records := must.Have(schemas.EncodeSnapshot(c.there, 0, 1<<20))
		must.Succeed(t, writer.Append(t.Context(), records)(t.Context()))
		if err := Store(t.Context(), ledger, 0, ours); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	ledger := newMemLedger()
	writer := must.Have(ledger.Acquire(t.Context(), 0, 3, func(accounts.LedgerRecord) error { return nil }))
	records := must.Have(schemas.EncodeDelta(schemas.Delta{Turn: 8, Epoch: 3}, 8, 1<<20))
	must.Succeed(t, writer.Append(t.Context(), records)(t.Context()))
	if err := Store(t.Context(), ledger, 0, ours); !errors.Is(err, ErrInterrupted) {
		t.Errorf("decisions of a later turn: %v, want %v", err, ErrInterrupted)
	}
}
