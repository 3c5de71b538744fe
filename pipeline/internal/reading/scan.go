package reading

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/topicrules"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// ScanOptions has the fields of pipeline.ScanOptions.
type ScanOptions struct {
	From, To time.Time
	Logger   *slog.Logger
	Progress func(read uint64)
}

// ScanCounts has the fields of pipeline.ScanCounts.
type ScanCounts struct{ Read, Broken, BadValue, Late, Future, Accepted uint64 }

// Scan implements pipeline.ScanEvents. It reads one partition after another. The event that fn
// receives is valid until fn returns, and has a user name from an event.Namer.
func Scan(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, o ScanOptions,
	fn func(*event.Event) error) (ScanCounts, error) {
	var seen ScanCounts
	decoder, err := NewDecoder(ctx, d, o.Logger)
	if err != nil {
		return seen, err
	}
	f := classifier{decoder: decoder, filtered: allFiltered(d), rules: timeRulesOf(d)}
	named := withNames(&d.Config.Events.Format, &seen.Read, fn)
	topic := d.Config.Events.Topic
	partitions, err := client.Partitions(ctx, topic)
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		return seen, &deployment.TopicError{Topic: topic, Got: "does not exist", Fix: topicrules.CreateEvents, Err: err}
	}
	if err != nil {
		return seen, fmt.Errorf("scanning topic %s: %w", topic, err)
	}
	for _, id := range partitions {
		from, to, err := f.scanRange(ctx, client, topic, id, o)
		if err != nil {
			return seen, fmt.Errorf("scanning topic %s: %w", topic, err)
		}
		err = client.ReadRange(ctx, topic, id, from, to, func(r kafkalog.Record) error {
			if seen.Read++; seen.Read%(1<<16) == 0 && o.Progress != nil {
				o.Progress(seen.Read)
			}
			return f.scan(&r, o, &seen, named)
		})
		if err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// withNames returns fn, called with named users. The position names a user who has only one record.
func withNames(format *event.Format, position *uint64, fn func(*event.Event) error) func(*event.Event) error {
	var namer event.Namer
	return func(e *event.Event) error {
		namer.Name(e, format, *position)
		return fn(e)
	}
}

// scan classifies one record as if it were the only record on the topic.
func (f *classifier) scan(r *kafkalog.Record, o ScanOptions, seen *ScanCounts, fn func(*event.Event) error) error {
	v, err := f.classify(&partition{appendTime: calendar.Never}, r, time.Now().UnixMilli())
	if err != nil {
		return err
	}
	millis := f.event.Millis
	inside := (o.From.IsZero() || millis >= o.From.UnixMilli()) && (o.To.IsZero() || millis < o.To.UnixMilli())
	switch {
	case v.Outcome == watch.Skipped:
	case v.Outcome == watch.DeadLettered:
		seen.Broken++
		if v.class == event.ClassBadValue {
			seen.BadValue++
		}
	case !inside:
	case v.Outcome == watch.Late:
		seen.Late++
	case v.Outcome == watch.Future:
		seen.Future++
	default:
		seen.Accepted++
		return fn(&f.event)
	}
	return nil
}

// scanRange returns a range of offsets of a partition that contains all events that scan accepts.
// With append times, records more than the skew before the start of the time range are in the
// future or outside that range. The offsets always extend to the end of the partition, because
// append times need not be in order.
func (f *classifier) scanRange(ctx context.Context, client *kafkalog.Client, topic string, id int32,
	o ScanOptions) (from, to int64, err error) {
	bounds, err := client.Offsets(ctx, topic, id)
	if err != nil {
		return 0, 0, err
	}
	from, to = bounds.Start, bounds.LastStable
	if f.rules.trustProducer || f.rules.acceptFuture || o.From.IsZero() {
		return from, to, nil
	}
	offset, found, err := client.OffsetAt(ctx, topic, id, max(0, minus(o.From.UnixMilli(), f.rules.skew)))
	if err != nil {
		return 0, 0, err
	}
	if from = max(from, offset); !found {
		from = to
	}
	return from, to, nil
}
