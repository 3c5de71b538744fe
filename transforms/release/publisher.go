package release

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
)

// ErrConflict is returned if a published value differs from the value that is computed now.
var ErrConflict = errors.New("the published values and the log differ")

// Publisher publishes released counts. The counts of every release shard have one writer at a time.
// A Publisher must be safe for concurrent use by one goroutine for each release shard. If it is an
// io.Closer, its Releaser closes it.
type Publisher interface {
	// Acquire makes the caller the only writer of a release shard's counts for epoch. After Acquire
	// has returned, a writer of an older epoch cannot append. Before it returns, Acquire calls
	// observe for every published value of the turns after settled, from any writer. The Releaser
	// compares these values with its own. Acquire may also pass values of earlier turns, and a
	// value twice. It must not change the bytes afterwards.
	//
	// If observe returns an error, Acquire returns an error that wraps it. If epoch is not the
	// newest, Acquire returns an error that wraps accounts.ErrSuperseded. An engine may run several
	// Releasers: each calls Acquire, possibly twice in one epoch.
	Acquire(ctx context.Context, releaseShard int, epoch int64, settled uint64,
		observe func(turn uint64, key, value []byte) error) (CountsWriter, error)
}

// CountsWriter appends to the counts of one release shard. It need not be safe for concurrent use.
// If it is an io.Closer, its Releaser closes it.
type CountsWriter interface {
	// Append is called once per turn, even without records: the counts are then complete up to that
	// turn. A second call for a turn contains only records that were never appended. Values become
	// durable in the order of the calls.
	//
	// wait may be called several times. It returns when the values are durable, with the offset
	// after them. Consumers use this offset to skip settled values (schemas.Settled.CountsEnd); it
	// is 0 if counts have no offsets. If a newer epoch has acquired the counts, the error of wait
	// is accounts.ErrSuperseded. After any error, the Releaser acquires the counts again.
	Append(ctx context.Context, turn uint64, records []Record) (wait func(context.Context) (end int64, err error))
}

// Record is a released value, encoded by schemas.EncodeReleaseKey and schemas.EncodeRelease.
type Record struct {
	Release    schemas.Release
	Key, Value []byte
}

func recordsOf(turn uint64, enc schemas.CountsEncoding, releases []schemas.Release) ([]Record, error) {
	records := make([]Record, len(releases))
	for i, r := range releases {
		value, err := schemas.EncodeRelease(enc, r)
		if err != nil {
			return nil, fmt.Errorf("releasing turn %d: %w", turn, err)
		}
		records[i] = Record{Release: r, Key: schemas.EncodeReleaseKey(r.Metric, r.WindowStart, []byte(r.Key)),
			Value: value}
	}
	return records, nil
}
