package accounts

import (
	"context"
	"errors"
)

// ErrSuperseded is returned by a LedgerStore when a newer epoch owns the shard: the caller must
// then forget the shard and publish nothing.
var ErrSuperseded = errors.New("a newer run owns this shard")

// LedgerRecord is one keyed record of a shard's ledger. A later record with
// the same key replaces an earlier one.
type LedgerRecord struct {
	Key, Value []byte
	// place of the record for error texts, in the terms of Acquire's store; "" if unknown, or for a
	// record to append
	Place string
}

// LedgerStore keeps the decisions of every shard, so that everything published can be charged again
// from them. Implementations live outside this package; they must be safe for use by several
// goroutines, one per shard.
type LedgerStore interface {
	// Acquire makes the caller the shard's only writer, for epoch: from then on, a writer from an
	// older epoch can append nothing. Acquire then calls each with every record of the shard, in
	// log order. The error is ErrSuperseded if epoch is not the newest.
	Acquire(ctx context.Context, shard int, epoch int64, each func(LedgerRecord) error) (LedgerWriter, error)
}

// LedgerWriter appends to one shard's ledger. Records become durable in the order of Append; wait
// returns once they are, and may be called repeatedly. Its error is ErrSuperseded if a newer epoch
// has taken the shard. Not for concurrent use.
type LedgerWriter interface {
	Append(ctx context.Context, records []LedgerRecord) (wait func(context.Context) error)
}
