package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// StopReading is what a callback of ReadRange returns to end the reading without an error.
//
//lint:ignore ST1012 it is not an error, as fs.SkipAll is not
var StopReading = errors.New("stop reading")

// ReadRange calls fn for every committed record with from ≤ offset < to, in log order, and returns
// when the log has been read up to to. It waits for records that are not there yet; a caller who
// does not want that gives a to of at most Offsets.LastStable. An error of fn ends the reading and
// is returned as it is, unless it is StopReading. Errors: ErrOffsetOutOfRange if from is outside
// the log.
func (c *Client) ReadRange(ctx context.Context, topic string, partition int32, from, to int64, fn func(Record) error) error {
	if from >= to {
		return nil
	}
	f := c.takeReader()
	defer c.returnReader(f)
	next := []Fetch{{Topic: topic, Partition: partition, Offset: from, MaxBytes: defaultMaxBytes}}
	for next[0].Offset < to {
		all, err := f.Poll(ctx, next, 1, 500*time.Millisecond)
		if err != nil {
			return fmt.Errorf("reading topic %q partition %d: %w", topic, partition, err)
		}
		for _, one := range all {
			if one.Err != nil {
				return one.Err
			}
			for _, r := range one.Records {
				if r.Offset >= to {
					return nil
				}
				if err := fn(r); errors.Is(err, StopReading) {
					return nil
				} else if err != nil {
					return err
				}
			}
			next[0].Offset = one.Next
		}
	}
	return nil
}

func (c *Client) takeReader() *Fetcher {
	c.mu.Lock()
	if n := len(c.readers); n > 0 {
		f := c.readers[n-1]
		c.readers = c.readers[:n-1]
		c.mu.Unlock()
		return f
	}
	c.mu.Unlock()
	return c.NewFetcher()
}

func (c *Client) returnReader(f *Fetcher) {
	for at := range f.failing {
		f.forgetFailure(at)
	}
	c.mu.Lock()
	if !c.closed && len(c.readers) < maxIdle {
		c.readers = append(c.readers, f)
		f = nil
	}
	c.mu.Unlock()
	if f != nil {
		f.Close()
	}
}
