package accounts

import (
	"context"
	"errors"
)

// ErrSuperseded is returned by a LedgerStore if a newer epoch owns the shard. The caller must then
// forget the shard and publish nothing.
var ErrSuperseded = errors.New("a newer run owns this shard")

// LedgerRecord is one record of a shard's ledger. A later record with the same key replaces it.
type LedgerRecord struct {
	Key, Value []byte
	// place of a record from Acquire, in the store's terms, for messages; "" if unknown
	Place string
}

// LedgerStore keeps the decisions of every shard, from which all charges for published values can
// be computed again. Implementations are outside this package. They must be safe for use by several
// goroutines, one per shard.
type LedgerStore interface {
	// Acquire makes the caller the shard's only writer, for the given epoch: writers from older
	// epochs can no longer append anything. Acquire then calls each with every record of the shard,
	// in log order. The error is ErrSuperseded if epoch is not the newest.
	Acquire(ctx context.Context, shard int, epoch int64, each func(LedgerRecord) error) (LedgerWriter, error)
}

// LedgerWriter appends to one shard's ledger. Records become durable in the order of Append. wait
// returns once the records are durable, and may be called repeatedly. Its error is ErrSuperseded if
// a newer epoch owns the shard. A LedgerWriter is not safe for concurrent use.
type LedgerWriter interface {
	Append(ctx context.Context, records []LedgerRecord) (wait func(context.Context) error)
}
