package spend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// restore brings a shard to the state before the open turn. If the open turn was decided in this
// epoch, it brings the shard to the state after that decision. It uses the state in memory if
// possible, and otherwise the ledger.
func (e *Engine) restore(ctx context.Context, n int, s *shard, open *schemas.Open) error {
	if s.writer != nil && s.epoch == open.Epoch && (s.accounts.turn+1 == open.Turn || s.hasDecided(open)) {
		return nil
	}
	if err := e.acquire(ctx, n, s, open); err != nil {
		return err
	}
	for turn := range s.laterDeltas {
		if turn > open.Turn {
			return e.mismatch(ctx, n, open, turn, "the ledger is ahead of the control log (has control lost records?)")
		}
	}
	return nil
}

// hasDecided reports whether the open turn has been decided but not charged.
func (s *shard) hasDecided(open *schemas.Open) bool {
	return s.accounts.turn == open.Turn && s.accounts.decided != nil
}

// acquire makes this process the only writer of the shard. It restores the shard from the ledger as
// of the turn before the open turn, including that turn's charges. Later decisions are in
// s.laterDeltas.
func (e *Engine) acquire(ctx context.Context, n int, s *shard, open *schemas.Open) error {
	s.forget()
	if s.epoch != open.Epoch {
		s.epoch, s.last = open.Epoch, 0
	}
	var ledger schemas.LedgerReader
	writer, err := e.opts.Ledger.Acquire(ctx, n, open.Epoch, func(r accounts.LedgerRecord) error {
		return asStop(n, open, ledger.Add(r))
	})
	if err != nil {
		return fmt.Errorf("acquiring shard %d: %w", n, err)
	}
	settled := open.Turn - 1
	snapshot, slot, err := newestSnapshot(&ledger, settled)
	if err != nil {
		return asStop(n, open, err)
	}
	if s.observe != nil {
		// A snapshot from before a user was forgotten does not fit decisions that were made later.
		older, _, err := newestSnapshot(&ledger, earliestSnapshot(&ledger, e.opts.Rules.From, settled))
		if err != nil {
			return asStop(n, open, err)
		}
		if slices.Equal(older.Forgotten, snapshot.Forgotten) {
			snapshot = older
		}
	}
	if snapshot.Turn+1 < e.opts.Rules.From {
		return e.mismatch(ctx, n, open, e.opts.Rules.From-1, "the snapshot with which this generation began is missing"+
			", and decisions before it were made under other rules (has the ledger topic lost records?)")
	}
	deltas, err := ledger.DeltasAfter(snapshot.Turn)
	if err != nil {
		return asStop(n, open, err)
	}
	a := newShardAccounts(e.opts.Rules, e.opts.Windows)
	for _, entry := range snapshot.Accounts {
		if snapshot.Turn+1 == a.rules.From && a.rules.Before != nil {
			entry.Debts = a.carryDebts(&entry)
		}
		if err := a.store.Restore(entry); err != nil {
			return fmt.Errorf("restoring shard %d: %w", n, err)
		}
	}
	a.turn, a.forgotten, a.observe = snapshot.Turn, snapshot.Forgotten, s.observe
	if err := a.reopen(snapshot.Open); err != nil {
		return asStop(n, open, err)
	}
	for turn := snapshot.Turn + 1; turn <= settled; turn++ {
		d, ok := deltas[turn]
		if !ok {
			return e.mismatch(ctx, n, open, turn,
				"the ledger has a gap: this turn is settled but its decisions are missing (has the ledger topic lost "+
					"records? Restore them: without them the accounts are unknown, and recover does not help)")
		}
		if err := a.applyDelta(&d, e.opts.Ending(turn)); err != nil {
			return &StopError{Shard: n, Turn: turn, Reason: "decisions of the past cannot be applied", Err: err}
		}
		if err := e.chargeDecided(ctx, n, a); err != nil {
			return err
		}
		delete(deltas, turn)
	}
	s.writer, s.accounts, s.laterDeltas = writer, a, deltas
	s.snapshot, s.slot = snapshot.Turn, slot
	return nil
}

// reopen replaces the slices of open windows with the given encoded slices.
func (a *shardAccounts) reopen(slices [][]byte) error {
	a.open = nil
	for _, data := range slices {
		turn, err := schemas.PeekOpenSlice(data)
		if err != nil {
			return fmt.Errorf("reading a slice of an open window: %w", err)
		}
		a.open = append(a.open, openSlice{turn, data})
	}
	return nil
}

// errAlreadySettled is returned if the turn of an OPEN is settled. A restore of the engine has
// repeated an old OPEN, and a new OPEN follows.
var errAlreadySettled = errors.New("the turn is already settled")

// mismatch returns the error for a ledger that does not match the open turn. It is
// errAlreadySettled if the open turn is settled, and otherwise a *StopError. Nothing may be written
// for a settled turn, because later turns use its slots.
func (e *Engine) mismatch(ctx context.Context, n int, open *schemas.Open, turn uint64, reason string) error {
	if _, err := e.opts.Settlements.Settlement(ctx, open.Turn); err == nil || errors.Is(err, ErrForgotten) {
		return errAlreadySettled
	}
	return &StopError{Shard: n, Turn: turn, Reason: reason}
}

// asStop converts an error in reading the ledger's records to a *StopError, because another attempt
// would fail, too. It does not convert the error for a record that another version of this program
// wrote: a STOP would prevent that version from running.
func asStop(n int, open *schemas.Open, err error) error {
	if err == nil || errors.Is(err, schemas.ErrVersion) {
		return err
	}
	return &StopError{Shard: n, Turn: open.Turn, Reason: "the ledger contains a record that cannot be read", Err: err}
}

// earliestSnapshot returns the turn of the earliest snapshot from which a generation can continue.
// The ledger contains every turn from there up to the settled one. from is the generation's first
// turn.
func earliestSnapshot(l *schemas.LedgerReader, from, settled uint64) uint64 {
	first, deltas := settled+1, l.DeltaTurns()
	for first > from && slices.Contains(deltas, first-1) {
		first--
	}
	if first == 1 {
		return 0 // no snapshot is needed
	}
	least := settled
	for _, info := range l.Snapshots() {
		if info.Complete && info.Turn+1 >= first {
			least = min(least, info.Turn)
		}
	}
	return least
}

// newestSnapshot returns the newest complete snapshot as of the settled turn or an earlier turn,
// and the snapshot's slot. If there is none, it returns the empty snapshot of turn 0, with slot 1.
func newestSnapshot(l *schemas.LedgerReader, settled uint64) (schemas.Snapshot, int, error) {
	newest, ok, err := l.NewestSnapshot(settled)
	if err != nil {
		return schemas.Snapshot{}, 0, fmt.Errorf("reading the newest snapshot: %w", err)
	}
	if !ok {
		return schemas.Snapshot{}, 1, nil
	}
	for i, info := range l.Snapshots() {
		if info.Complete && info.Turn == newest.Turn && info.Epoch == newest.Epoch {
			return newest, i, nil
		}
	}
	return newest, 1, nil
}
