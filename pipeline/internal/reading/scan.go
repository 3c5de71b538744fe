package reading

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// ScanOptions are those of package pipeline.
type ScanOptions struct {
	From, To time.Time
	Logger   *slog.Logger
	Progress func(read uint64)
}

// ScanCounts are those of package pipeline.
type ScanCounts struct{ Read, Broken, BadValue, Late, Future, Accepted uint64 }

// Scan is pipeline.ScanEvents. It calls fn partition by partition; an event is valid until fn
// returns, and an event.Namer has named its user.
func Scan(ctx context.Context, d *deployment.Deployment, client *kafkalog.Client, o ScanOptions,
	fn func(*event.Event) error) (ScanCounts, error) {
	var seen ScanCounts
	decoder, err := NewDecoder(ctx, d, o.Logger)
	if err != nil {
		return seen, err
	}
	f := classifier{decoder: decoder, asked: isAsked(d), clock: clockOf(d)}
	named := naming(&d.Config.Events.Format, &seen.Read, fn)
	topic := d.Config.Events.Topic
	partitions, err := client.Partitions(ctx, topic)
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

// naming returns fn for events that have no user of their own: their number among all records is
// their position.
func naming(format *event.Format, position *uint64, fn func(*event.Event) error) func(*event.Event) error {
	var namer event.Namer
	return func(e *event.Event) error {
		namer.Name(e, format, *position)
		return fn(e)
	}
}

// scan classifies one record as if it were the only one on the topic.
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

// scanRange returns offsets between which a partition has all events that scan accepts. A record
// before the first append time of the range is of the future, or outside the range. The stretch
// always ends with the partition: an append time that ran ahead may precede others that did not.
func (f *classifier) scanRange(ctx context.Context, client *kafkalog.Client, topic string, id int32,
	o ScanOptions) (from, to int64, err error) {
	bounds, err := client.Offsets(ctx, topic, id)
	if err != nil {
		return 0, 0, err
	}
	from, to = bounds.Start, bounds.LastStable
	if f.clock.trustProducer || f.clock.noFuture || o.From.IsZero() {
		return from, to, nil
	}
	offset, found, err := client.OffsetAt(ctx, topic, id, max(0, minus(o.From.UnixMilli(), f.clock.skew)))
	if err != nil {
		return 0, 0, err
	}
	if from = max(from, offset); !found {
		from = to
	}
	return from, to, nil
}
