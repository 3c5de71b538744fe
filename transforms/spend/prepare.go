package spend

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms/internal/keyedstate"
)

// prepare brings a shard to the state before the open span, or to the open span
// itself where it was decided in this epoch: from the process's own memory,
// from keyed state, or from the ledger.
func (e *Engine) prepare(ctx context.Context, n int, s *shard, open *schemas.Open, keyed KeyedState) error {
	if e.opts.Forget != nil {
		switch e.opts.Forget(n, open.Turn) {
		case ForgetCache:
			s.accounts = nil
		case ForgetShard:
			s.forget()
		case ForgetNothing:
		}
	}
	fits := func() bool {
		return s.accounts != nil && (s.accounts.turn+1 == open.First || s.decided(open))
	}
	if s.writer != nil && s.epoch == open.Epoch {
		if fits() {
			return nil
		}
		if err := e.fromKeyed(ctx, n, s, open, keyed); err != nil {
			return err
		}
		if fits() {
			return nil
		}
	}
	return e.take(ctx, n, s, open)
}

// decided reports whether exactly the open span is decided and not charged yet.
func (s *shard) decided(open *schemas.Open) bool {
	return s.accounts.turn == open.Turn && s.accounts.first() == open.First
}

// fromKeyed rebuilds a forgotten shard from keyed state, if that is of this
// epoch. Otherwise the shard remains forgotten.
func (e *Engine) fromKeyed(ctx context.Context, n int, s *shard, open *schemas.Open, keyed KeyedState) error {
	s.accounts = nil
	raw, base, deltas, err := keyed.Load()
	if err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	if len(raw) == 0 {
		return nil
	}
	if raw[0] != metaVersion {
		return nil // it belongs to another program, and an engine has handed it over
	}
	m, err := decodeMeta(raw)
	if err != nil {
		return err
	}
	if m.epoch != open.Epoch || m.last == m.base || m.last > open.Turn || uint64(len(deltas)) > m.last-m.base {
		return nil
	}
	turns, err := inOrder(m, deltas)
	if err != nil || turns == nil {
		return err
	}
	a := newShardAccounts(e.opts.Rules, e.opts.Windows)
	if err = a.decodeBase(base); err != nil {
		return err
	}
	a.turn = m.base
	for _, d := range turns {
		if err := e.replay(ctx, n, a, d, open.First); err != nil {
			return err
		}
	}
	s.accounts = a
	return nil
}

// inOrder decodes the deltas of a bag, which has no order and in which an element
// may hold several: those of base+1 to last, or nothing.
func inOrder(m meta, bag [][]byte) ([]*schemas.Delta, error) {
	var all []*schemas.Delta
	for _, raw := range bag {
		blobs, err := splitBlobs(raw)
		if err != nil {
			return nil, err
		}
		for _, b := range blobs {
			d, err := decodeDelta(b)
			if err != nil {
				return nil, err
			}
			all = append(all, d)
		}
	}
	if !keyedstate.InOrder(all, m.base, m.last, func(d *schemas.Delta) uint64 { return d.Turn }) {
		return nil, nil
	}
	return all, nil
}

// replay obeys the next delta of the past, with everything before it charged; of
// the span that begins with open nothing is charged. Before that one spans need
// not be told apart: charging turn by turn reserves no more than was reserved then, and
// every turn is charged by the settlement of its span.
func (e *Engine) replay(ctx context.Context, n int, a *shardAccounts, d *schemas.Delta, open uint64) error {
	first := open
	if d.Turn <= open {
		first = d.Turn
		if err := e.charge(ctx, n, a); err != nil {
			return err
		}
	}
	if err := a.obey(first, d, e.opts.Ending(d.Turn)); err != nil {
		return &StopError{Shard: n, Turn: d.Turn, Reason: "decisions of the past cannot be obeyed", Err: err}
	}
	return nil
}

// take makes this process the shard's only writer and restores the shard from
// the ledger as of the turn before the open span.
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
	settled := open.First - 1
	snapshot, slot, err := newestSnapshot(&ledger, settled)
	if err != nil {
		return unreadable(n, open, err)
	}
	if snapshot.Turn+1 < e.opts.Rules.from {
		return e.unfit(ctx, n, open, e.opts.Rules.from-1, "the snapshot with which this generation began is missing, and decisions before it were made under other rules (has the ledger topic lost records?)")
	}
	deltas, err := ledger.DeltasAfter(snapshot.Turn)
	if err != nil {
		return unreadable(n, open, err)
	}
	a := newShardAccounts(e.opts.Rules, e.opts.Windows)
	for _, entry := range snapshot.Accounts {
		if err := a.store.Put(entry.ID, entry.Period, entry.Account); err != nil {
			return fmt.Errorf("restoring shard %d: %w", n, err)
		}
	}
	a.turn = snapshot.Turn
	if err := a.reopen(snapshot.Open); err != nil {
		return unreadable(n, open, err)
	}
	for turn := snapshot.Turn + 1; turn <= settled; turn++ {
		d, ok := deltas[turn]
		if !ok {
			return e.unfit(ctx, n, open, turn, "the ledger has a gap: this turn is settled and its decisions are missing (has the ledger topic lost records? Restore them: without them accounts are not known, and recover does not help)")
		}
		if err := e.replay(ctx, n, a, &d, open.First); err != nil {
			return err
		}
	}
	s.found = map[uint64]*schemas.Delta{}
	for turn, d := range deltas {
		if open.Holds(turn) {
			s.found[turn] = &d
		}
		if turn > open.Turn {
			return e.unfit(ctx, n, open, turn, "the ledger is ahead of the control log (has control lost records?)")
		}
	}
	s.writer, s.accounts = writer, a
	s.snapshot, s.slot = snapshot.Turn, slot
	return nil
}

// errPast says that an OPEN's turn is settled: an engine's restore has brought
// the OPEN back, and a new one is on its way.
var errPast = errors.New("the turn is settled already")

// unfit returns the error for a ledger that does not belong to the turn before the open span: a
// stop, unless it is the OPEN that is of the past. The slots of a past turn belong to later ones,
// so that nothing may be written for it.
func (e *Engine) unfit(ctx context.Context, n int, open *schemas.Open, turn uint64, reason string) error {
	if _, err := e.opts.Settlements.Settlement(ctx, open.Turn); err == nil || errors.Is(err, ErrForgotten) {
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

// newestSnapshot finds the newest complete snapshot as of a turn, and its slot. Without any it is
// the empty one of turn 0, "in" slot 1.
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
