package spend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// prepare brings a shard to the state before the open turn, or to the open turn
// itself where it was decided in this epoch: from the process's own memory,
// from keyed state, or from the ledger.
func (e *Engine) prepare(ctx context.Context, n int, s *shard, open *schemas.Open, cells Cells) error {
	if e.opts.Forget != nil {
		switch e.opts.Forget(n, open.Turn) {
		case ForgetCache:
			s.book = nil
		case ForgetShard:
			s.forget()
		case ForgetNothing:
		}
	}
	fits := func() bool {
		return s.book != nil && (s.book.turn == open.Turn || s.book.turn+1 == open.Turn)
	}
	if s.writer != nil && s.epoch == open.Epoch {
		if fits() {
			return nil
		}
		if err := e.fromCells(ctx, n, s, open, cells); err != nil {
			return err
		}
		if fits() {
			return nil
		}
	}
	return e.take(ctx, n, s, open)
}

// fromCells rebuilds a forgotten shard from keyed state, if that is of this
// epoch. Otherwise the shard stays forgotten.
func (e *Engine) fromCells(ctx context.Context, n int, s *shard, open *schemas.Open, cells Cells) error {
	s.book = nil
	raw, base, deltas, err := cells.Load()
	if err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	if len(raw) == 0 {
		return nil
	}
	m, err := decodeMeta(raw)
	if err != nil {
		return err
	}
	if m.epoch != open.Epoch || m.last == m.base || uint64(len(deltas)) != m.last-m.base {
		return nil
	}
	b := newBook(e.opts.Rules)
	if b.accounts, err = decodeAccounts(base); err != nil {
		return err
	}
	b.turn = m.base
	turns := make([]*schemas.Delta, len(deltas))
	for _, raw := range deltas { // a bag has no order
		d, err := decodeDelta(raw)
		if err != nil {
			return err
		}
		if d.Turn <= m.base || d.Turn > m.last || turns[d.Turn-m.base-1] != nil {
			return nil
		}
		turns[d.Turn-m.base-1] = d
	}
	for _, d := range turns {
		if err := e.replay(ctx, n, b, d); err != nil {
			return err
		}
	}
	s.book = b
	return nil
}

// replay charges the book's decided turn and obeys the next.
func (e *Engine) replay(ctx context.Context, n int, b *book, d *schemas.Delta) error {
	if b.delta != nil {
		if err := e.charge(ctx, n, b); err != nil {
			return err
		}
	}
	if err := b.obey(d); err != nil {
		return &StopError{Shard: n, Turn: d.Turn, Reason: "decisions of the past cannot be obeyed", Err: err}
	}
	return nil
}

// take makes this process the shard's only writer and restores the shard from
// the ledger as of the turn before the open one.
func (e *Engine) take(ctx context.Context, n int, s *shard, open *schemas.Open) error {
	s.forget()
	if s.epoch != open.Epoch {
		s.epoch, s.last = open.Epoch, 0
	}
	var ledger schemas.LedgerReader
	writer, err := e.opts.Ledger.Take(ctx, n, open.Epoch, func(r state.LedgerRecord) error {
		return unreadable(n, open, ledger.Add(r.Key, r.Value))
	})
	if err != nil {
		return fmt.Errorf("taking shard %d: %w", n, err)
	}
	settled := open.Turn - 1
	snapshot, slot, err := newestSnapshot(&ledger, settled)
	if err != nil {
		return unreadable(n, open, err)
	}
	deltas, err := ledger.DeltasAfter(snapshot.Turn)
	if err != nil {
		return unreadable(n, open, err)
	}
	b := newBook(e.opts.Rules)
	for _, a := range snapshot.Accounts {
		if err := b.accounts.Put(a.ID, a.Period, a.Account); err != nil {
			return fmt.Errorf("restoring shard %d: %w", n, err)
		}
	}
	b.turn = snapshot.Turn
	for turn := snapshot.Turn + 1; turn <= settled; turn++ {
		d, ok := deltas[turn]
		if !ok {
			return e.unfit(ctx, n, open, turn, "the ledger has a gap: this turn is settled and its decisions are missing (has the ledger topic lost records?)")
		}
		if err := e.replay(ctx, n, b, &d); err != nil {
			return err
		}
	}
	if found, ok := deltas[open.Turn]; ok {
		s.found = &found
	}
	for turn := range deltas {
		if turn > open.Turn {
			return e.unfit(ctx, n, open, turn, "the ledger is ahead of the control log (has control lost records?)")
		}
	}
	s.writer, s.book = writer, b
	s.snapshot, s.slot = snapshot.Turn, slot
	return nil
}

// errPast says that an OPEN's turn is settled: an engine's restore has brought
// the OPEN back, and a new one is on its way.
var errPast = errors.New("the turn is settled already")

// unfit is the error for a ledger that does not belong to the turn before the
// open one: a stop, unless it is the OPEN that is of the past. The slots of a
// past turn belong to later ones, so that nothing may be written for it.
func (e *Engine) unfit(ctx context.Context, n int, open *schemas.Open, turn uint64, reason string) error {
	if _, err := e.opts.Settlements.Settlement(ctx, open.Turn); err == nil {
		return errPast
	}
	return &StopError{Shard: n, Turn: turn, Reason: reason}
}

// unreadable makes a stop of an error in reading the ledger's records: reading
// them again would give the same.
func unreadable(n int, open *schemas.Open, err error) error {
	if err == nil {
		return nil
	}
	return &StopError{Shard: n, Turn: open.Turn, Reason: "the ledger holds a record that cannot be read", Err: err}
}

// newestSnapshot finds the newest complete snapshot as of a turn, and the slot
// it stands in. Without any it is the empty one of turn 0, "in" slot 1.
func newestSnapshot(l *schemas.LedgerReader, settled uint64) (schemas.Snapshot, int, error) {
	found, ok, err := l.NewestSnapshot(settled)
	if err != nil {
		return schemas.Snapshot{}, 0, fmt.Errorf("reading the newest snapshot: %w", err)
	}
	if !ok {
		return schemas.Snapshot{}, 1, nil
	}
	for i, info := range l.Snapshots() {
		if info.Complete && info.Turn == found.Turn {
			return found, i, nil
		}
	}
	return found, 1, nil
}

// snapshotRecords gives the records of a snapshot as of the turn before the
// open one, when one is due, for the slot that does not hold the newest. They
// go before the delta in one append. A delta's slot is used again after
// LedgerSlots turns; a snapshot every half of that leaves no gap. Shards take
// turns, so that no turn carries all snapshots.
func (e *Engine) snapshotRecords(n int, s *shard, open *schemas.Open) ([]schemas.LedgerRecord, error) {
	period := e.opts.Rules.LedgerSlots / 2
	turn := open.Turn - 1
	late := turn-s.snapshot >= period
	if turn == s.snapshot || (!late && turn%period != uint64(n)%period) {
		return nil, nil
	}
	snapshot := schemas.Snapshot{Turn: turn, Epoch: open.Epoch}
	snapshot.Accounts = slices.AppendSeq(make([]state.AccountEntry, 0, s.book.accounts.Len()), s.book.accounts.All())
	records, err := schemas.EncodeSnapshot(snapshot, 1-s.slot, e.maxRecord)
	if err != nil {
		return nil, fmt.Errorf("encoding the snapshot of turn %d: %w", turn, err)
	}
	s.snapshot, s.slot = turn, 1-s.slot
	return records, nil
}
