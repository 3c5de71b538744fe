package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/klog"
)

// lanes collect messages by partition and append them all at once. Not for
// concurrent use.
type lanes struct {
	producers []*klog.Producer
	held      [][]klog.Message
	records   int
	bytes     int
}

const (
	laneRecords = 8192    // of all lanes together
	laneBytes   = 8 << 20 // the same
)

func newLanes(ctx context.Context, client *klog.Client, topic string, partitions []int32) (*lanes, error) {
	l := &lanes{held: make([][]klog.Message, len(partitions))}
	for _, p := range partitions {
		producer, err := client.NewProducer(ctx, topic, p, "")
		if err != nil {
			l.close()
			return nil, err
		}
		l.producers = append(l.producers, producer)
	}
	return l, nil
}

// add puts a message into the partition of a user. The bytes are kept.
func (l *lanes) add(ctx context.Context, user []byte, m klog.Message) error {
	h := fnv.New64a()
	h.Write(user) //nolint:errcheck // a hash never fails
	lane := int(h.Sum64() % uint64(len(l.producers)))
	m.Value = bytes.Clone(m.Value)
	l.held[lane] = append(l.held[lane], m)
	l.records++
	l.bytes += len(m.Value)
	if l.records < laneRecords && l.bytes < laneBytes {
		return nil
	}
	return l.flush(ctx)
}

// flush appends what is held, the partitions side by side.
func (l *lanes) flush(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, held := range l.held {
		if len(held) == 0 {
			continue
		}
		group.Go(func() error {
			if _, err := l.producers[i].Append(ctx, held); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i := range l.held {
		l.held[i] = l.held[i][:0]
	}
	l.records, l.bytes = 0, 0
	return nil
}

func (l *lanes) close() {
	for _, p := range l.producers {
		p.Close()
	}
}
