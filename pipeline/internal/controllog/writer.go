package controllog

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Writer appends to the control log. It is not safe for concurrent use.
type Writer struct {
	log      *Log
	producer *kafkalog.Producer
}

// NewWriter returns a Writer to the control log that l follows. The caller must close it.
func NewWriter(ctx context.Context, l *Log) (*Writer, error) {
	p, err := l.client.NewProducer(ctx, l.Topic, Partition, "")
	if err != nil {
		return nil, fmt.Errorf("preparing to write control: %w", err)
	}
	return &Writer{log: l, producer: p}, nil
}

// Close closes the writer's connections.
func (w *Writer) Close() { w.producer.Close() }

// AppendTime returns the append time of the last Append in Unix milliseconds, or −1 if the topic
// does not have append times.
func (w *Writer) AppendTime() int64 { return w.producer.AppendTime }

// Append writes one or more records durably, in order, and returns their offsets. Each record
// points back to the oldest record that a later start needs, as far as the Log has read control.
func (w *Writer) Append(ctx context.Context, bodies ...schemas.ControlBody) ([]int64, error) {
	var back, backEpoch, generation int64
	w.log.WithView(func(v *View) {
		back, backEpoch = v.back()
		generation = v.HeaderAt
	})
	msgs := make([]kafkalog.Message, len(bodies))
	for i, b := range bodies {
		value, err := schemas.EncodeControl(schemas.Control{Back: back, BackEpoch: backEpoch, Generation: generation,
			Body: b})
		if err != nil {
			return nil, fmt.Errorf("encoding a control record: %w", err)
		}
		msgs[i] = kafkalog.Message{Value: value, Timestamp: kafkalog.Now()}
	}
	var offsets []int64
	before, after := controlPoints(bodies[0])
	err := w.log.At.Around(before, after, -1, func() error {
		var err error
		offsets, err = w.producer.AppendOffsets(ctx, msgs)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("writing control: %w", err)
	}
	return offsets, nil
}
