package replay

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
)

// partitionWriters collects messages by partition and appends them together. Not for concurrent
// use.
type partitionWriters struct {
	producers []*kafkalog.Producer
	pending   [][]kafkalog.Message
	records   int
	bytes     int
}

const (
	maxPendingRecords = 8192    // over all partitions
	maxPendingBytes   = 8 << 20 // over all partitions
)

func newPartitionWriters(ctx context.Context, client *kafkalog.Client, topic string,
	partitions []int32) (*partitionWriters, error) {
	w := &partitionWriters{pending: make([][]kafkalog.Message, len(partitions))}
	for _, p := range partitions {
		producer, err := client.NewProducer(ctx, topic, p, "")
		if err != nil {
			w.close()
			return nil, err
		}
		w.producers = append(w.producers, producer)
	}
	return w, nil
}

// index returns the index of a user's partition.
func (w *partitionWriters) index(user []byte) int {
	h := fnv.New64a()
	h.Write(user) //nolint:errcheck // a hash never fails
	return int(h.Sum64() % uint64(len(w.producers)))
}

// add adds a message to the partition of a user. It copies the value.
func (w *partitionWriters) add(ctx context.Context, user []byte, m kafkalog.Message) error {
	partition := w.index(user)
	m.Value = bytes.Clone(m.Value)
	w.pending[partition] = append(w.pending[partition], m)
	w.records++
	w.bytes += len(m.Value)
	if w.records < maxPendingRecords && w.bytes < maxPendingBytes {
		return nil
	}
	return w.flush(ctx)
}

// flush appends the pending records, to all partitions in parallel.
func (w *partitionWriters) flush(ctx context.Context) error {
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
	w.records, w.bytes = 0, 0
	return nil
}

func (w *partitionWriters) close() {
	for _, p := range w.producers {
		p.Close()
	}
}
