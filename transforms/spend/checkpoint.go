package spend

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrInterrupted is returned if the ledger already contains decisions of the turn after the settled
// turn. That turn must be finished under the rules under which it was decided.
var ErrInterrupted = errors.New("a turn was interrupted")

// ErrForeignLedger is returned if the ledger contains accounts that this deployment did not write.
var ErrForeignLedger = errors.New("the ledger contains accounts that this deployment did not write")

// Checkpoint acquires a shard for an epoch. It returns its accounts and open slices as of a settled
// turn, with that turn's charges. Errors: ErrInterrupted, accounts.ErrSuperseded, *StopError.
func (e *Engine) Checkpoint(ctx context.Context, n int, epoch int64, settled uint64) (schemas.Snapshot, error) {
	s := e.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := e.acquireAsOf(ctx, n, s, epoch, settled); err != nil {
		return schemas.Snapshot{}, err
	}
	if len(s.laterDeltas) > 0 {
		return schemas.Snapshot{}, fmt.Errorf("reading shard %d as of turn %d: %w", n, settled, ErrInterrupted)
	}
	return s.accounts.snapshot(settled, epoch), nil
}

// acquireAsOf acquires a shard as of a settled turn, including the charges of that turn. Decisions
// of later turns are in s.laterDeltas.
func (e *Engine) acquireAsOf(ctx context.Context, n int, s *shard, epoch int64, settled uint64) error {
	return e.acquire(ctx, n, s, &schemas.Open{Epoch: epoch, Turn: settled + 1})
}

// Standing describes the account of one user in one budget period, as of a settled turn.
type Standing struct {
	Period int64
	Spent  units.Mu2
	Left   []Left // for the metrics with an allowance
	// Paid lists the charges of the last turns, in order. The ledger lacks earlier charges.
	Paid []Paid
}

// Paid is a user's charge for one window.
type Paid struct {
	Metric string
	schemas.MetricWindow
	Cost units.Mu2
}

// Left is the unspent amount in a metric's bucket.
type Left struct {
	Metric      string
	Left, Burst units.Mu2
}

// Standings returns a user's accounts as of a settled turn, oldest budget period first. end is the
// time at which that turn ends. forgotten reports whether the user was forgotten. Turns that are
// decided but not settled are excluded. It returns the errors of Checkpoint except ErrInterrupted.
func (e *Engine) Standings(ctx context.Context, id accounts.ID, settled uint64, end int64) (out []Standing,
	forgotten bool, err error) {
	n := schemas.ShardOf(id, e.opts.Rules.Shards)
	s := e.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	paid := map[int64][]Paid{}
	s.observe = func(payer accounts.ID, period int64, w schemas.MetricWindow, cost units.Mu2) {
		if payer == id && cost > 0 {
			paid[period] = append(paid[period], Paid{e.opts.Rules.metrics[w.Metric].spec.Name, w, cost})
		}
	}
	defer func() { s.observe = nil }()
	if err := e.acquireAsOf(ctx, n, s, -1, settled); err != nil {
		return nil, false, err
	}
	for entry := range s.accounts.store.All() {
		if entry.ID != id {
			continue
		}
		standing := Standing{Period: entry.Period, Spent: entry.Account.Spent, Paid: paid[entry.Period]}
		elapsed := s.accounts.windows.Elapsed(schemas.MetricWindow{WindowEnd: end}, entry.Period)
		debts := append(entry.Debts, make([]units.Mu2, len(e.opts.Rules.metrics))...)
		for i := range e.opts.Rules.metrics {
			if m := &e.opts.Rules.metrics[i]; m.allowance.Burst > 0 {
				standing.Left = append(standing.Left,
					Left{m.spec.Name, m.allowance.Left(debts[i], m.allowance.Paid(elapsed)), m.allowance.Burst})
			}
		}
		out = append(out, standing)
	}
	return out, s.accounts.isForgotten(id), nil
}

// Spent appends to spent[period], for every account of a shard, the amount that the account has
// spent as of a settled turn. It returns the same errors as Standings.
func (e *Engine) Spent(ctx context.Context, n int, settled uint64, spent map[int64][]units.Mu2) error {
	s := e.shard(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := e.acquireAsOf(ctx, n, s, -1, settled); err != nil {
		return err
	}
	for entry := range s.accounts.store.All() {
		spent[entry.Period] = append(spent[entry.Period], entry.Account.Spent)
	}
	s.forget() // only one shard may be in memory at a time
	return nil
}

func (a *shardAccounts) snapshot(turn uint64, epoch int64) schemas.Snapshot {
	s := schemas.Snapshot{Turn: turn, Epoch: epoch, Forgotten: a.forgotten}
	s.Accounts = slices.AppendSeq(make([]accounts.Entry, 0, a.store.Len()), a.store.All())
	for _, o := range a.open {
		s.Open = append(s.Open, o.data)
	}
	return s
}

// Store writes a snapshot to a shard's ledger and waits until it is durable. It does not overwrite
// the newest snapshot. If an earlier attempt has written the same snapshot, Store writes nothing.
// Errors: ErrInterrupted if the ledger contains decisions of a later turn; ErrForeignLedger if it
// contains other accounts as of this turn, or any accounts as of a later turn.
func Store(ctx context.Context, store accounts.LedgerStore, n int, snapshot schemas.Snapshot) error {
	var ledger schemas.LedgerReader
	writer, err := store.Acquire(ctx, n, snapshot.Epoch, ledger.Add)
	if err != nil {
		return fmt.Errorf("acquiring shard %d: %w", n, err)
	}
	for _, turn := range ledger.DeltaTurns() {
		if turn > snapshot.Turn {
			return fmt.Errorf("storing shard %d as of turn %d: %w", n, snapshot.Turn, ErrInterrupted)
		}
	}
	for _, info := range ledger.Snapshots() {
		if info.Complete && info.Turn > snapshot.Turn {
			return fmt.Errorf("storing shard %d as of turn %d: a snapshot as of turn %d exists: %w", n, snapshot.Turn,
				info.Turn, ErrForeignLedger)
		}
	}
	newest, slot, err := newestSnapshot(&ledger, snapshot.Turn)
	if err != nil {
		return err
	}
	switch {
	case newest.Turn == snapshot.Turn && sameState(&newest, &snapshot):
		return nil
	case newest.Turn == snapshot.Turn && newest.Turn > 0: // a snapshot of turn 0 has only marks of forgotten users
		return fmt.Errorf("storing shard %d: another snapshot as of turn %d exists: %w", n, snapshot.Turn,
			ErrForeignLedger)
	}
	records, err := schemas.EncodeSnapshot(snapshot, 1-slot, maxLedgerRecord)
	if err != nil {
		return fmt.Errorf("encoding the snapshot of turn %d: %w", snapshot.Turn, err)
	}
	if err := writer.Append(ctx, records)(ctx); err != nil {
		return fmt.Errorf("storing shard %d as of turn %d: %w", n, snapshot.Turn, err)
	}
	return nil
}

// sameState reports whether two snapshots have the same accounts, forgotten users and open slices.
func sameState(a, b *schemas.Snapshot) bool {
	return slices.EqualFunc(a.Accounts, b.Accounts, accounts.Entry.Equal) && slices.Equal(a.Forgotten, b.Forgotten) &&
		slices.EqualFunc(a.Open, b.Open, bytes.Equal)
}

// Reshard distributes the accounts of all shards, as of one turn, over another number of shards. It
// drops the slices of open windows, because a change ends these windows early. Every new shard gets
// the marks of all forgotten users, because a mark does not reveal the shard of its user.
func Reshard(old []schemas.Snapshot, shards int) ([]schemas.Snapshot, error) {
	fresh := make([]schemas.Snapshot, shards)
	for i := range old {
		if old[i].Turn != old[0].Turn {
			return nil, fmt.Errorf("resharding: shards are as of different turns, %d and %d", old[0].Turn, old[i].Turn)
		}
		for _, a := range old[i].Accounts {
			target := &fresh[schemas.ShardOf(a.ID, shards)]
			target.Accounts = append(target.Accounts, a)
		}
	}
	var forgotten []schemas.ForgottenMark
	for i := range old {
		forgotten = append(forgotten, old[i].Forgotten...)
	}
	slices.SortFunc(forgotten, schemas.ForgottenMark.Compare)
	forgotten = slices.Compact(forgotten)
	for n := range fresh {
		fresh[n].Forgotten = forgotten
		fresh[n].Turn, fresh[n].Epoch = old[0].Turn, old[0].Epoch
		slices.SortFunc(fresh[n].Accounts, func(a, b accounts.Entry) int {
			return cmp.Or(slices.Compare(a.ID[:], b.ID[:]), cmp.Compare(a.Period, b.Period))
		})
	}
	return fresh, nil
}
