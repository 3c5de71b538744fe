package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// StopReading is returned by the callback of ReadRange to stop reading without an error.
//
//lint:ignore ST1012 it is not an error, as fs.SkipAll is not
var StopReading = errors.New("stop reading")

// ReadRange calls fn for every committed record with from ≤ offset < to, in log order. It waits for
// records that do not exist yet. If fn returns an error, ReadRange stops and returns it unchanged,
// or returns nil if it is StopReading. Errors: ErrOffsetOutOfRange if from is outside the log.
func (c *Client) ReadRange(ctx context.Context, topic string, partition int32, from, to int64,
	fn func(Record) error) error {
	return c.NewRangeReader(topic, partition).Read(ctx, from, to, fn)
}

// RangeReader reads consecutive ranges of one partition. It keeps any records that a broker sends
// beyond a range for the next one. It is not safe for concurrent use.
type RangeReader struct {
	Topic     string
	Partition int32
	MaxBytes  int32 // maximum size of a response; 0 means 1 MiB

	c    *Client
	from int64    // offset at which the next range must start to use kept; −1 if nothing is kept
	kept []Record // records at or after from
	next int64    // offset after kept
}

// NewRangeReader returns a RangeReader for a partition. It need not be closed.
func (c *Client) NewRangeReader(topic string, partition int32) *RangeReader {
	return &RangeReader{Topic: topic, Partition: partition, c: c, from: -1}
}

// Forget drops the kept records, so that the next Read fetches them again.
func (r *RangeReader) Forget() { r.from, r.kept = -1, nil }

// Read reads a range like Client.ReadRange.
func (r *RangeReader) Read(ctx context.Context, from, to int64, fn func(Record) error) error {
	if from >= to {
		return nil
	}
	f := r.c.NewFetcher()
	defer func() {
		f.Close()
		f.keepOnlyFailures(nil)
	}()
	kept, next := r.kept, r.next
	if from != r.from {
		kept, next = nil, from
	}
	r.Forget() // after an error, or if fn stops the read
	for {
		for i, record := range kept {
			if record.Offset >= to {
				r.from, r.kept, r.next = to, kept[i:], next
				return nil
			}
			if err := fn(record); errors.Is(err, StopReading) {
				return nil
			} else if err != nil {
				return err
			}
		}
		if next >= to {
			r.from, r.next = to, next
			return nil
		}
		var err error
		if kept, next, err = r.fetch(ctx, f, next); err != nil {
			return err
		}
	}
}

func (r *RangeReader) fetch(ctx context.Context, f *Fetcher, from int64) (records []Record, next int64, err error) {
	fetches := []Fetch{{Topic: r.Topic, Partition: r.Partition, Offset: from, MaxBytes: r.MaxBytes}}
	all, err := f.Poll(ctx, fetches, 1, 500*time.Millisecond)
	if err != nil {
		return nil, 0, fmt.Errorf("reading topic %q partition %d: %w", r.Topic, r.Partition, err)
	}
	if len(all) == 0 {
		return nil, from, nil
	}
	return all[0].Records, all[0].Next, all[0].Err
}
