package demo

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
)

// Writers collect messages by partition of a topic and append them together. Not for concurrent
// use.
type Writers struct {
	Records   int // messages that are not appended yet
	producers []*kafkalog.Producer
	pending   [][]kafkalog.Message
	bytes     int
}

const (
	maxPendingRecords = 8192    // over all partitions
	maxPendingBytes   = 8 << 20 // over all partitions
)

func NewWriters(ctx context.Context, client *kafkalog.Client, topic string, partitions []int32) (*Writers, error) {
	w := &Writers{pending: make([][]kafkalog.Message, len(partitions))}
	for _, p := range partitions {
		producer, err := client.NewProducer(ctx, topic, p, "")
		if err != nil {
			w.Close()
			return nil, err
		}
		w.producers = append(w.producers, producer)
	}
	return w, nil
}

// Add adds a message to the partition of a number, modulo the number of partitions.
func (w *Writers) Add(ctx context.Context, number uint64, m kafkalog.Message) error {
	partition := number % uint64(len(w.pending))
	w.pending[partition] = append(w.pending[partition], m)
	w.Records++
	w.bytes += len(m.Value)
	if w.Records < maxPendingRecords && w.bytes < maxPendingBytes {
		return nil
	}
	return w.Flush(ctx)
}

// Flush appends the pending records, to all partitions in parallel.
func (w *Writers) Flush(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, messages := range w.pending {
		if len(messages) == 0 {
			continue
		}
		group.Go(func() error {
			if _, err := w.producers[i].Append(ctx, messages); err != nil {
				return fmt.Errorf("writing: %w", err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i := range w.pending {
		w.pending[i] = w.pending[i][:0]
	}
	w.Records, w.bytes = 0, 0
	return nil
}

func (w *Writers) Close() {
	for _, p := range w.producers {
		p.Close()
	}
}
