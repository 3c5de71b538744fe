package memledger

import (
	"context"
	"slices"
	"sync"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Ledger implements accounts.LedgerStore. The zero value is empty. It is safe for concurrent use.
type Ledger struct {
	mu   sync.Mutex
	logs map[int][]accounts.LedgerRecord // by shard
}

func (l *Ledger) records(shard int) []accounts.LedgerRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.logs[shard])
}

// Acquire implements accounts.LedgerStore.
func (l *Ledger) Acquire(_ context.Context, shard int, _ int64,
	each func(accounts.LedgerRecord) error) (accounts.LedgerWriter, error) {
	for _, r := range l.records(shard) {
		if err := each(r); err != nil {
			return nil, err
		}
	}
	return writer{l, shard}, nil
}

// Read decodes the first records of a shard, or all records if first is negative. It returns them
// with the total number of the shard's records.
func (l *Ledger) Read(shard, first int) (*schemas.LedgerReader, int, error) {
	all := l.records(shard)
	n := len(all)
	if first >= 0 {
		all = all[:first]
	}
	reader := &schemas.LedgerReader{}
	for _, r := range all {
		if err := reader.Add(r); err != nil {
			return nil, n, err
		}
	}
	return reader, n, nil
}

type writer struct {
	ledger *Ledger
	shard  int
}

// Append implements accounts.LedgerWriter.
func (w writer) Append(_ context.Context, records []accounts.LedgerRecord) func(context.Context) error {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	if w.ledger.logs == nil {
		w.ledger.logs = map[int][]accounts.LedgerRecord{}
	}
	w.ledger.logs[w.shard] = append(w.ledger.logs[w.shard], records...)
	return func(context.Context) error { return nil }
}
