package accounts

import (
	"context"
	"errors"
)

// ErrSuperseded is returned by a LedgerStore when a newer epoch owns the
// shard: a caller who gets it forgets the shard and publishes nothing.
var ErrSuperseded = errors.New("a newer run owns this shard")

// LedgerRecord is one keyed record of a shard's ledger. A later record with
// the same key replaces an earlier one.
type LedgerRecord struct {
	Key, Value []byte
	// Place of the record for error texts, in the terms of Acquire's store; "" if unknown, or for a
	// record to append.
	Place string
}

// LedgerStore keeps what every shard decided, so that whatever has been
// published can be charged again from it. Implementations live outside this
// package; they must be safe for use by several goroutines, one per shard.
type LedgerStore interface {
	// Acquire makes the caller the shard's only writer for epoch: a writer of an older epoch can
	// append nothing any more once Acquire returns. Acquire then calls each with every record of
	// the shard, in log order. ErrSuperseded: epoch is not the newest.
	Acquire(ctx context.Context, shard int, epoch int64, each func(LedgerRecord) error) (LedgerWriter, error)
}

// LedgerWriter appends to one shard's ledger. Records become durable in the order of Append; wait
// returns once they are, and may be called repeatedly. ErrSuperseded reports that a newer epoch has
// taken the shard. Not for concurrent use.
type LedgerWriter interface {
	Append(ctx context.Context, records []LedgerRecord) (wait func(context.Context) error)
}
