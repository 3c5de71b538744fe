package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
)

const (
	loadRecords = 4096    // records of one append
	loadBytes   = 4 << 20 // bytes of one append
)

// errDrained means that the loading was ended early.
var errDrained = errors.New("drained while loading")

// load writes a source to the events topic, record by record to one partition after the
// other: within a partition, timestamps never fall. It returns the number of records, or
// errDrained when drain is closed before the end.
func load(ctx context.Context, broker pipeline.Kafka, source Source, drain <-chan struct{}) (loaded uint64, err error) {
	client, err := connect.Dial(ctx, broker, nil)
	if err != nil {
		return 0, fmt.Errorf("loading events: %w", err)
	}
	defer client.Close()
	loads := make([]*partitionLoad, source.Traits().Partitions)
	for i := range loads {
		producer, err := client.NewProducer(ctx, eventsTopic, int32(i), "")
		if err != nil {
			return 0, fmt.Errorf("loading events: %w", err)
		}
		loads[i] = newPartitionLoad(ctx, producer)
	}
	next := 0
	err = source.Each(func(m kafkalog.Message) error {
		select {
		case <-drain:
			return errDrained
		default:
		}
		l := loads[next]
		loaded++
		next = (next + 1) % len(loads)
		return l.add(m)
	})
	for _, l := range loads {
		if closed := l.close(); err == nil {
			err = closed
		}
	}
	return loaded, err
}

// partitionLoad appends to one partition while the next messages are being made.
type partitionLoad struct {
	batches chan []kafkalog.Message
	done    chan struct{}
	once    sync.Once
	err     error // error of the appender; to be read after done is closed
	pending []kafkalog.Message
	bytes   int
}

func newPartitionLoad(ctx context.Context, p *kafkalog.Producer) *partitionLoad {
	l := &partitionLoad{batches: make(chan []kafkalog.Message, 1), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		defer p.Close()
		for batch := range l.batches {
			if _, err := p.Append(ctx, batch); err != nil {
				l.err = fmt.Errorf("loading events: %w", err)
				return
			}
		}
	}()
	return l
}

func (l *partitionLoad) add(m kafkalog.Message) error {
	l.pending = append(l.pending, m)
	l.bytes += len(m.Value)
	if len(l.pending) < loadRecords && l.bytes < loadBytes {
		return nil
	}
	return l.flush()
}

func (l *partitionLoad) flush() error {
	if len(l.pending) == 0 {
		return nil
	}
	select {
	case l.batches <- l.pending:
		l.pending, l.bytes = make([]kafkalog.Message, 0, loadRecords), 0
		return nil
	case <-l.done:
		return l.err
	}
}

// close appends the rest and waits for the appender.
func (l *partitionLoad) close() error {
	err := l.flush()
	l.once.Do(func() { close(l.batches) })
	<-l.done
	if l.err != nil {
		return l.err
	}
	return err
}
