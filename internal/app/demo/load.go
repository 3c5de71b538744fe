package demo

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// Limits of one append.
const (
	loadRecords = 4096
	loadBytes   = 4 << 20
)

var errDrained = errors.New("drained while loading")

// load writes a source to the events topic. Its records go to the partitions in turn, so timestamps
// never fall within a partition. The next batches are made during an append. load returns the
// number of records, or errDrained if drain is closed before the end.
func load(ctx context.Context, broker pipeline.Kafka, source Source, drain <-chan struct{}) (loaded uint64, err error) {
	client, err := connect.Dial(ctx, broker, nil)
	if err != nil {
		return 0, fmt.Errorf("loading events: %w", err)
	}
	defer client.Close()
	group, ctx := errgroup.WithContext(ctx)
	partitions := uint64(source.Traits().Partitions)
	batches, sizes := make([][]kafkalog.Message, partitions), make([]int, partitions)
	appends := make([]chan []kafkalog.Message, partitions)
	for i := range appends {
		appends[i] = make(chan []kafkalog.Message, 1)
		group.Go(func() error { return appendAll(ctx, client, int32(i), appends[i]) })
	}
	flush := func(i uint64) error {
		select {
		case appends[i] <- batches[i]:
			batches[i], sizes[i] = make([]kafkalog.Message, 0, loadRecords), 0
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err = source.Each(func(m kafkalog.Message) error {
		select {
		case <-drain:
			return errDrained
		default:
		}
		i := loaded % partitions
		loaded++
		batches[i], sizes[i] = append(batches[i], m), sizes[i]+len(m.Value)
		if len(batches[i]) < loadRecords && sizes[i] < loadBytes {
			return nil
		}
		return flush(i)
	})
	for i := range partitions {
		if err == nil && len(batches[i]) > 0 {
			err = flush(i)
		}
		close(appends[i])
	}
	if failed := group.Wait(); failed != nil {
		return loaded, fmt.Errorf("loading events: %w", failed)
	}
	return loaded, err
}

// appendAll appends batches to a partition until the channel is closed.
func appendAll(ctx context.Context, client *kafkalog.Client, partition int32, batches <-chan []kafkalog.Message) error {
	producer, err := client.NewProducer(ctx, eventsTopic, partition, "")
	if err != nil {
		return err
	}
	defer producer.Close()
	for batch := range batches {
		if _, err := producer.Append(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}
