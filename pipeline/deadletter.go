package pipeline

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/klog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// deadLetters writes records that cannot be counted to the dead-letter topic,
// with their original bytes, place and class. They are durable before a CLOSE
// counts them; a crash in between can write some twice, with the same place.
type deadLetters struct {
	producer *klog.Producer
	waiting  []klog.Message
}

func newDeadLetters(ctx context.Context, client *klog.Client, topic string) (*deadLetters, error) {
	p, err := client.NewProducer(ctx, topic, 0, "")
	if err != nil {
		return nil, fmt.Errorf("preparing to write dead letters: %w", err)
	}
	return &deadLetters{producer: p}, nil
}

// maxDeadLetter bounds the bytes that a dead letter keeps of its record.
const maxDeadLetter = 512 << 10

func (d *deadLetters) add(topic string, r *klog.Record, class string) {
	place := schemas.Place{Topic: topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp}
	headers := make([]schemas.RecordHeader, len(r.Headers))
	for i, h := range r.Headers {
		headers[i] = schemas.RecordHeader{Key: h.Key, Value: h.Value}
	}
	m := schemas.DeadLetter(place, class, r.Key, r.Value, headers, maxDeadLetter)
	msg := klog.Message{Key: m.Key, Value: m.Value, Timestamp: klog.Now()}
	for _, h := range m.Headers {
		msg.Headers = append(msg.Headers, klog.Header{Key: h.Key, Value: h.Value})
	}
	d.waiting = append(d.waiting, msg)
}

// flush makes what was added durable.
func (d *deadLetters) flush(ctx context.Context) error {
	if len(d.waiting) == 0 {
		return nil
	}
	if _, err := d.producer.Append(ctx, d.waiting); err != nil {
		return fmt.Errorf("writing dead letters: %w", err)
	}
	d.waiting = d.waiting[:0]
	return nil
}

func (d *deadLetters) close() { d.producer.Close() }
