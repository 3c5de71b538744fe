package spend

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// errCrashed is what an append returns that was torn off in the middle.
var errCrashed = errors.New("the process was killed while it wrote")

// memLedger is a ledger in memory: one log per shard, fenced by the contract of
// accounts.LedgerStore. Records are stored when they are appended, unless the test tears the append
// off or delays it.
type memLedger struct {
	mu       sync.Mutex
	newest   int64 // the newest epoch on control
	logs     map[int][]accounts.LedgerRecord
	owners   map[int]*memWriter
	acquired int
	appends  map[int]int // by shard
	// tear, when set, is asked how many records of an append land before the
	// process is killed; below 0: all of them, and no kill.
	tear func(shard, records int) int
	// gate, when set, is what an append waits for before it lands.
	gate chan struct{}
	// onRecord sees every record that lands, before it does.
	onRecord func(shard int, log []accounts.LedgerRecord, r accounts.LedgerRecord)
}

func newMemLedger() *memLedger {
	return &memLedger{logs: map[int][]accounts.LedgerRecord{}, owners: map[int]*memWriter{}, appends: map[int]int{}}
}

// nextEpoch writes an EPOCH record, so to speak.
func (l *memLedger) nextEpoch() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest++
	return l.newest
}

func (l *memLedger) Acquire(_ context.Context, shard int, epoch int64,
	each func(accounts.LedgerRecord) error) (accounts.LedgerWriter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch < l.newest {
		return nil, fmt.Errorf("taking: %w", accounts.ErrSuperseded)
	}
	l.acquired++
	w := &memWriter{ledger: l, shard: shard}
	l.owners[shard] = w
	for _, r := range l.logs[shard] {
		if err := each(r); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// compact keeps the newest record of every key, as a broker does some time or other.
func (l *memLedger) compact() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for shard, log := range l.logs {
		last := map[string]int{}
		for i, r := range log {
			last[string(r.Key)] = i
		}
		kept := log[:0:0]
		for i, r := range log {
			if last[string(r.Key)] == i {
				kept = append(kept, r)
			}
		}
		l.logs[shard] = kept
	}
}

// reader has read a shard's log.
func (l *memLedger) reader(shard int) (*schemas.LedgerReader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var r schemas.LedgerReader
	for _, rec := range l.logs[shard] {
		if err := r.Add(rec); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

type memWriter struct {
	ledger *memLedger
	shard  int
}

func (w *memWriter) Append(_ context.Context, records []accounts.LedgerRecord) func(context.Context) error {
	l := w.ledger
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	if gate == nil {
		err := w.land(records)
		return func(context.Context) error { return err }
	}
	var once sync.Once
	var err error
	return func(ctx context.Context) error {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
		once.Do(func() { err = w.land(records) })
		return err
	}
}

func (w *memWriter) land(records []accounts.LedgerRecord) error {
	l := w.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appends[w.shard]++
	if l.owners[w.shard] != w {
		return fmt.Errorf("appending: %w", accounts.ErrSuperseded)
	}
	torn := false
	if l.tear != nil {
		if n := l.tear(w.shard, len(records)); n >= 0 {
			records, torn = records[:min(n, len(records))], true
		}
	}
	for _, r := range records {
		if l.onRecord != nil {
			l.onRecord(w.shard, l.logs[w.shard], r)
		}
		l.logs[w.shard] = append(l.logs[w.shard], r)
	}
	if torn {
		return errCrashed
	}
	return nil
}

// memSettlements are the settled turns, in memory.
type memSettlements struct {
	mu     sync.Mutex
	turns  map[uint64]*Settlement
	asked  map[uint64]int
	absent error
	// history is how many settlements are kept, as pipeline keeps them; 0: all.
	history, newest uint64
}

func newMemSettlements() *memSettlements {
	return &memSettlements{turns: map[uint64]*Settlement{}, asked: map[uint64]int{},
		absent: errors.New("the turn is not settled")}
}

func (m *memSettlements) Settlement(_ context.Context, turn uint64) (*Settlement, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked[turn]++
	s, ok := m.turns[turn]
	switch {
	case !ok && m.history > 0 && turn+m.history <= m.newest:
		return nil, ErrForgotten
	case !ok:
		return nil, m.absent
	}
	return s, nil
}

func (m *memSettlements) settle(s schemas.Settled) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.newest = max(m.newest, s.Turn)
	m.turns[s.Turn] = NewSettlement(s)
	if m.history > 0 && s.Turn > m.history {
		delete(m.turns, s.Turn-m.history)
	}
}
