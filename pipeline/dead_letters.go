package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// MaxDeadLetters is the maximum number of dead letters that one call reads.
const MaxDeadLetters = 1_000_000

// DeadLetterChoice selects dead letters.
type DeadLetterChoice struct {
	Classes  []string  // nil: all
	From, To time.Time // time of writing, in [From, To); zero: no limit on that side
	Explain  bool      // whether to set DeadLetter.Now
}

// DeadLetter is a record that a run could not read: raw data, for the trusted side only.
type DeadLetter struct {
	schemas.DeadLetterRecord
	At  time.Time    // when it was written, UTC
	Now *event.Error // why the current configuration cannot read the record; nil if it can
}

// EachDeadLetter calls fn with the selected dead letters until fn returns false. It reads at most
// MaxDeadLetters, including those that are not selected, and changes nothing. If it stops before
// the end of the topic, until is the time of the dead letter at which it stopped.
func EachDeadLetter(ctx context.Context, d *deployment.Deployment, o DeadLetterChoice,
	fn func(*DeadLetter) bool) (until time.Time, err error) {
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		return until, err
	}
	defer client.Close()
	var decoder *event.Decoder
	if o.Explain {
		if decoder, err = reading.NewDecoder(ctx, d, slog.New(slog.DiscardHandler)); err != nil {
			return until, err
		}
	}
	return eachDeadLetter(ctx, client, d, o, func(l *DeadLetter) (more bool, err error) {
		if decoder != nil {
			if l.Now, err = reading.Explain(decoder, l.Value); err != nil {
				return false, err
			}
		}
		return fn(l), nil
	})
}

func eachDeadLetter(ctx context.Context, client *kafkalog.Client, d *deployment.Deployment, o DeadLetterChoice,
	fn func(*DeadLetter) (more bool, err error)) (until time.Time, err error) {
	limit := MaxDeadLetters
	err = readTopic(ctx, client, d.Config.Outputs.DeadLetter, topicrules.RecreateDeadLetter(d), o.From,
		func(r kafkalog.Record) error {
			written := time.UnixMilli(r.Timestamp).UTC()
			if limit--; limit < 0 {
				until = written
				return kafkalog.StopReading
			}
			m := schemas.DeadLetterMessage{Key: r.Key, Value: r.Value}
			for _, h := range r.Headers {
				m.Headers = append(m.Headers, schemas.RecordHeader{Key: h.Key, Value: h.Value})
			}
			letter, ok := schemas.ParseDeadLetter(m)
			if !ok || written.Before(o.From) || !o.To.IsZero() && !written.Before(o.To) ||
				o.Classes != nil && !slices.Contains(o.Classes, letter.Class) {
				return nil
			}
			more, err := fn(&DeadLetter{DeadLetterRecord: letter, At: written})
			if err == nil && !more {
				until, err = written, kafkalog.StopReading
			}
			return err
		})
	return until, err
}

// readTopic calls fn with the committed records of a topic that are not older than from, one
// partition after another. fix is the remedy to report if the topic does not exist. If fn returns
// StopReading, readTopic ends without an error.
func readTopic(ctx context.Context, client *kafkalog.Client, topic, fix string, from time.Time,
	fn func(kafkalog.Record) error) error {
	partitions, err := client.Partitions(ctx, topic)
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		return &deployment.TopicError{Topic: topic, Got: "does not exist", Fix: fix, Err: kafkalog.ErrUnknownTopic}
	}
	stopped := false
	for _, p := range partitions {
		bounds, readErr := client.Offsets(ctx, topic, p)
		begin, hasRecords := bounds.Start, true
		if readErr == nil && !from.IsZero() {
			begin, hasRecords, readErr = client.OffsetAt(ctx, topic, p, from.UnixMilli())
		}
		if readErr == nil && hasRecords {
			readErr = client.ReadRange(ctx, topic, p, begin, bounds.LastStable, func(r kafkalog.Record) error {
				err := fn(r)
				stopped = errors.Is(err, kafkalog.StopReading)
				return err
			})
		}
		if err = readErr; err != nil || stopped {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("reading topic %s: %w", topic, err)
	}
	return err
}

// DeadLetterReplay counts the records of a replay exactly, by outcome. For the trusted side only.
type DeadLetterReplay struct {
	Chosen    uint64
	Again     uint64 // already on the events topic, or a duplicate of another chosen dead letter
	Cut       uint64 // truncated in the dead letter
	Elsewhere uint64 // from another topic
	Broken    uint64 // the configuration still cannot read them
	Skipped   uint64 // not events, according to the configuration
	Late      uint64 // their windows are closed
	Outside   uint64 // before the start of the deployment, or in the future
	Counting  uint64 // the run will count them, as far as the users' allowances permit
	Written   uint64
}

// ReplayDeadLetters appends the original records of the selected dead letters to the events topic,
// if the configuration can read them now and their windows are open. The records keep their
// partition, key, headers and timestamp. If write is false, they are only counted. A header in each
// record identifies its origin, so no origin is written twice. Never run two replays at once.
//
// Whether a record is written depends on other users' records only through the closed windows and
// partition times that the run itself uses. So their number needs no limit.
func ReplayDeadLetters(ctx context.Context, d *deployment.Deployment, o DeadLetterChoice,
	write bool) (DeadLetterReplay, error) {
	log := slog.New(slog.DiscardHandler)
	client, control, _, err := openDeployment(ctx, d, log)
	if err != nil {
		return DeadLetterReplay{}, err
	}
	defer client.Close()
	r := &deadLetterReplay{client: client, dep: d, choice: o, unwritten: map[string]bool{}, readFrom: map[int32]int64{},
		pending: map[int32][]kafkalog.Message{}, now: time.Now().UnixMilli()}
	if r.forecast, err = reading.NewForecast(ctx, d, control, log); err != nil {
		return r.result, err
	}
	settings, err := client.TopicConfig(ctx, d.Config.Events.Topic)
	if err != nil {
		return r.result, fmt.Errorf("reading topic %s: %w", d.Config.Events.Topic, err)
	}
	r.appendTimes = settings["message.timestamp.type"] == "LogAppendTime"
	if err = r.choose(ctx); err == nil {
		err = r.dropReplayed(ctx)
	}
	if err == nil {
		err = r.write(ctx, write)
	}
	return r.result, err
}

type deadLetterReplay struct {
	client      *kafkalog.Client
	dep         *deployment.Deployment
	choice      DeadLetterChoice
	forecast    *reading.Forecast
	now         int64 // Unix milliseconds
	appendTimes bool  // whether the events topic has append times

	unwritten map[string]bool // chosen origins that are not yet on the events topic, by replay mark
	readFrom  map[int32]int64 // offset after the first chosen origin, by partition

	pending map[int32][]kafkalog.Message
	bytes   int
	result  DeadLetterReplay
}

// choose collects the origins of the chosen dead letters.
func (r *deadLetterReplay) choose(ctx context.Context) error {
	until, err := eachDeadLetter(ctx, r.client, r.dep, r.choice, func(l *DeadLetter) (bool, error) {
		r.result.Chosen++
		switch mark := l.ReplayMark(); {
		case l.Origin.Topic != r.dep.Config.Events.Topic:
			r.result.Elsewhere++
		case l.Cut:
			r.result.Cut++
		case r.unwritten[mark]:
			r.result.Again++
		default:
			r.unwritten[mark] = true
			if from, known := r.readFrom[l.Origin.Partition]; !known || l.Origin.Offset < from {
				r.readFrom[l.Origin.Partition] = l.Origin.Offset + 1
			}
		}
		return true, nil
	})
	if err == nil && !until.IsZero() {
		err = fmt.Errorf("reading dead letters: there are more than %d: choose a shorter period", MaxDeadLetters)
	}
	return err
}

// dropReplayed reads the records after the chosen origins, and removes the origins that a replay
// has already written. It also reads the records after the last CLOSE, for the forecast.
func (r *deadLetterReplay) dropReplayed(ctx context.Context) error {
	topic := r.dep.Config.Events.Topic
	for p, from := range r.readFrom {
		bounds, err := r.client.Offsets(ctx, topic, p)
		if err != nil {
			return fmt.Errorf("reading topic %s: %w", topic, err)
		}
		from = max(bounds.Start, min(from, r.forecast.From(p)))
		err = r.client.ReadRange(ctx, topic, p, from, bounds.LastStable, func(record kafkalog.Record) error {
			r.forecast.Observe(&record, r.now)
			for _, h := range record.Headers {
				if h.Key == schemas.DeadLetterReplayed && r.unwritten[string(h.Value)] {
					delete(r.unwritten, string(h.Value))
					r.result.Again++
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading topic %s, partition %d: %w", topic, p, err)
		}
	}
	return nil
}

// write predicts the outcome of each record. If write is true, it writes the records that count.
func (r *deadLetterReplay) write(ctx context.Context, write bool) error {
	_, err := eachDeadLetter(ctx, r.client, r.dep, r.choice, func(l *DeadLetter) (bool, error) {
		mark := l.ReplayMark()
		if l.Origin.Topic != r.dep.Config.Events.Topic || !r.unwritten[mark] {
			return true, nil
		}
		delete(r.unwritten, mark)
		record := kafkalog.Record{Partition: l.Origin.Partition, Timestamp: l.Origin.Timestamp, Value: l.Value}
		if r.appendTimes {
			record.Timestamp = r.now
		}
		outcome, err := r.forecast.Of(&record, r.now)
		if err != nil || !r.count(outcome) || !write {
			return err == nil, err
		}
		return true, r.add(ctx, l, mark)
	})
	if err != nil {
		return err
	}
	return r.flush(ctx)
}

// count adds an outcome to the result. It reports whether the run will count the record.
func (r *deadLetterReplay) count(o watch.Outcome) bool {
	counter := &r.result.Outside
	switch o {
	case watch.Accepted:
		counter = &r.result.Counting
	case watch.Late, watch.Overtaken:
		counter = &r.result.Late
	case watch.DeadLettered:
		counter = &r.result.Broken
	case watch.Skipped:
		counter = &r.result.Skipped
	}
	*counter++
	return o == watch.Accepted
}

func (r *deadLetterReplay) add(ctx context.Context, l *DeadLetter, mark string) error {
	m := kafkalog.Message{Key: l.Key, Value: l.Value, Timestamp: kafkalog.At(l.Origin.Timestamp)}
	for _, h := range l.Headers {
		if h.Key != schemas.DeadLetterReplayed {
			m.Headers = append(m.Headers, kafkalog.Header{Key: h.Key, Value: h.Value})
		}
	}
	m.Headers = append(m.Headers, kafkalog.Header{Key: schemas.DeadLetterReplayed, Value: []byte(mark)})
	r.pending[l.Origin.Partition] = append(r.pending[l.Origin.Partition], m)
	if r.bytes += len(m.Key) + len(m.Value) + 128; r.bytes < 8<<20 {
		return nil
	}
	return r.flush(ctx)
}

func (r *deadLetterReplay) flush(ctx context.Context) error {
	for p, messages := range r.pending {
		producer, err := r.client.NewProducer(ctx, r.dep.Config.Events.Topic, p, "")
		if err == nil {
			_, err = producer.Append(ctx, messages)
			producer.Close()
		}
		if err != nil {
			return fmt.Errorf("writing events: %w", err)
		}
		r.result.Written += uint64(len(messages))
	}
	clear(r.pending)
	r.bytes = 0
	return nil
}
