package reading

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
)

// deadLetters writes records that cannot be decoded to the dead-letter topic, with their original
// bytes, origin and class. Dead letters are durable before a CLOSE counts them. After a crash
// between the two, some are written twice, with the same origin.
type deadLetters struct {
	client   *kafkalog.Client
	topic    string
	fix      string // command that recreates the topic
	log      *slog.Logger
	producer *kafkalog.Producer
	pending  []kafkalog.Message

	checkedAt time.Time    // time of the last check of the topic
	gone      watch.Repeat // when to log that the topic is gone
}

func newDeadLetters(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment,
	log *slog.Logger) (*deadLetters, error) {
	letters := &deadLetters{client: client, topic: d.Config.Outputs.DeadLetter, fix: topicrules.RecreateDeadLetter(d),
		log: log, checkedAt: time.Now()}
	return letters, letters.prepare(ctx)
}

func (d *deadLetters) prepare(ctx context.Context) error {
	p, err := d.client.NewProducer(ctx, d.topic, 0, "")
	if err != nil {
		return fmt.Errorf("preparing to write dead letters: %w", err)
	}
	d.producer = p
	return nil
}

// topicCheckLimit limits how long a check of the topic may delay the poll.
const topicCheckLimit = 2 * time.Second

// checkTopic checks from time to time whether the topic was deleted. The operator then learns it
// before the next broken record ends the run, perhaps days later. Until then the run continues:
// nothing is lost, because no CLOSE includes a record that the run cannot write.
func (d *deadLetters) checkTopic(ctx context.Context, now time.Time) error {
	if now.Sub(d.checkedAt) < partitionsRefresh {
		return nil
	}
	d.checkedAt = now
	checkCtx, cancel := context.WithTimeout(ctx, topicCheckLimit)
	defer cancel()
	_, err := d.client.Partitions(checkCtx, d.topic)
	switch {
	case errors.Is(err, kafkalog.ErrUnknownTopic):
		if !d.gone.Due(now) {
			return nil
		}
		d.log.Warn(fmt.Sprintf("the dead-letter topic %s no longer exists and its records are gone: the run "+
			"will stop at the next broken record. %s", d.topic, d.fix))
	case err == nil && d.gone.Reported():
		// The broker of the new topic does not know the old producer.
		d.producer.Close()
		if err := d.prepare(ctx); err != nil {
			return err
		}
		d.gone = watch.Repeat{}
		d.log.Warn(fmt.Sprintf("the dead-letter topic %s exists again", d.topic))
	}
	return nil // package watch logs other problems with brokers
}

// maxDeadLetter limits the bytes of the original record in a dead letter.
const maxDeadLetter = 512 << 10

// add keeps a dead letter of a record until flush. It shares the memory of the record, which the
// next poll overwrites.
func (d *deadLetters) add(topic string, r *kafkalog.Record, class string) {
	origin := schemas.Origin{Topic: topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp}
	headers := make([]schemas.RecordHeader, len(r.Headers))
	for i, h := range r.Headers {
		headers[i] = schemas.RecordHeader{Key: h.Key, Value: h.Value}
	}
	m := schemas.DeadLetter(origin, class, r.Key, r.Value, headers, maxDeadLetter)
	msg := kafkalog.Message{Key: m.Key, Value: m.Value, Timestamp: kafkalog.Now()}
	for _, h := range m.Headers {
		msg.Headers = append(msg.Headers, kafkalog.Header{Key: h.Key, Value: h.Value})
	}
	d.pending = append(d.pending, msg)
}

// flush writes the added dead letters, which are then durable.
func (d *deadLetters) flush(ctx context.Context) error {
	if len(d.pending) == 0 {
		return nil
	}
	_, err := d.producer.Append(ctx, d.pending)
	if errors.Is(err, kafkalog.ErrSequence) { // the topic was recreated between two checks
		d.producer.Close()
		if err = d.prepare(ctx); err == nil {
			_, err = d.producer.Append(ctx, d.pending)
		}
	}
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		return fmt.Errorf("writing dead letters: topic %s no longer exists (the next start reads the record "+
			"again): %s: %w", d.topic, d.fix, err)
	}
	if err != nil {
		return fmt.Errorf("writing dead letters: %w", err)
	}
	d.forget()
	return nil
}

// forget drops the dead letters that a failed poll did not write. The failure ends the epoch before
// a CLOSE counts their records, so the next epoch reads these records again.
func (d *deadLetters) forget() {
	clear(d.pending)
	d.pending = d.pending[:0]
}

func (d *deadLetters) close() {
	if d.producer != nil {
		d.producer.Close()
	}
}
