package release

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
)

// ErrConflict is returned if a published value differs from the one that is computed now.
var ErrConflict = errors.New("the published values and the log differ")

// Publisher publishes released counts. The counts of every release shard have one writer at a time.
// It must be safe for concurrent use, by one goroutine for each release shard. If it is an
// io.Closer, its Releaser closes it.
type Publisher interface {
	// Acquire makes the caller the only writer of a release shard's counts for epoch: once Acquire
	// returns, a writer of an older epoch cannot append. Before it returns, Acquire calls each with
	// every published value of a turn after the settled one, from any writer; the Releaser compares
	// these with its own values. It may also pass values of earlier turns, and a value twice; it
	// must not change the bytes afterwards. If each fails, Acquire returns an error that wraps its
	// error; if epoch is not the newest, one that wraps accounts.ErrSuperseded. An engine may run
	// several Releasers, and each of them calls Acquire, possibly twice in one epoch.
	Acquire(ctx context.Context, releaseShard int, epoch int64, settled uint64,
		each func(turn uint64, key, value []byte) error) (CountsWriter, error)
}

// CountsWriter appends to the counts of one release shard. Not safe for concurrent use. If it is an
// io.Closer, its Releaser closes it.
type CountsWriter interface {
	// Append is called once per turn, even without records: the counts are then complete up to the
	// turn. It is called again for a turn only with records that were never appended. Values become
	// durable in the order of Append. wait, which may be called repeatedly, returns once they are
	// durable. It returns the offset after them, which lets consumers skip settled values
	// (schemas.Settled.CountsEnd; 0 if counts have no offsets). Its error is accounts.ErrSuperseded
	// if a newer epoch has acquired the counts. After any error the Releaser acquires them again.
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
