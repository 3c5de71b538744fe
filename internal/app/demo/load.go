package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
)

var errDrained = errors.New("drained while loading")

// load writes a source to the events topic. Its records go to the partitions in turn, so timestamps
// never fall within a partition. load returns the number of records, or errDrained if drain is
// closed before the end.
func load(ctx context.Context, broker pipeline.Kafka, source Source, drain <-chan struct{}) (loaded uint64, err error) {
	client, err := connect.Dial(ctx, broker, nil)
	if err != nil {
		return 0, fmt.Errorf("loading events: %w", err)
	}
	defer client.Close()
	partitions, err := client.Partitions(ctx, eventsTopic)
	if err != nil {
		return 0, fmt.Errorf("loading events: %w", err)
	}
	writers, err := NewWriters(ctx, client, eventsTopic, partitions)
	if err != nil {
		return 0, fmt.Errorf("loading events: %w", err)
	}
	defer writers.Close()
	if err := source.Each(func(m kafkalog.Message) error {
		select {
		case <-drain:
			return errDrained
		default:
		}
		loaded++
		return writers.Add(ctx, loaded-1, m)
	}); err != nil {
		return loaded, err
	}
	return loaded, writers.Flush(ctx)
}
