package release

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/schemas"
)

// ErrConflict is returned if a published value differs from the one that the log now gives.
var ErrConflict = errors.New("published values and the log differ")

// Publisher is where released counts go. The counts of every release shard have
// one writer at a time. Safe for concurrent use, by one goroutine a release shard.
// If it is an io.Closer, its Releaser closes it.
type Publisher interface {
	// Acquire makes the caller the only writer of a release shard's counts for epoch: a writer of
	// an older epoch can append nothing any more once Acquire returns. Acquire then calls each with
	// every value that a turn after the settled one has published there, by any writer: the
	// Releaser compares them with its own values. It may pass values of earlier turns, and a value
	// twice; it must not change the bytes afterwards. An error of each ends Acquire, whose error
	// wraps it. accounts.ErrSuperseded: epoch is not the newest. An engine may run several
	// Releasers, and each of them calls Acquire, possibly twice in one epoch.
	Acquire(ctx context.Context, releaseShard int, epoch int64, settled uint64,
		each func(turn uint64, key, value []byte) error) (CountsWriter, error)
}

// CountsWriter appends to the counts of one release shard. Append is called once for a turn, even
// if nothing is released: the counts are complete up to the turn with these records. It is called
// again for a turn only with records that were never appended. The values are durable in the order
// of Append; wait returns once they are, and may be called repeatedly; it returns the offset after
// them, which lets consumers skip settled values (schemas.Settled.CountsEnd; 0 if counts have no
// offsets). accounts.ErrSuperseded: a newer epoch has acquired the counts. After any error the
// Releaser acquires them again. Not for concurrent use. If it is an io.Closer, its Releaser closes
// it when it is not needed any more.
type CountsWriter interface {
	Append(ctx context.Context, turn uint64, records []Record) (wait func(context.Context) (end int64, err error))
}

// Record is a released value, with the bytes to compare with a published one:
// schemas.EncodeReleaseKey and schemas.EncodeRelease.
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
