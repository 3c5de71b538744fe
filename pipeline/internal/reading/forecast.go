package reading

import (
	"context"
	"errors"
	"log/slog"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Forecast predicts the outcomes of records that would be appended to the events topic now.
type Forecast struct {
	classifier classifier
	closed     uint64 // the last closed turn
	parts      map[int32]*partition
}

// NewForecast returns a Forecast for a deployment with the given control log.
func NewForecast(ctx context.Context, d *deployment.Deployment, control *controllog.Log,
	log *slog.Logger) (*Forecast, error) {
	decoder, err := NewDecoder(ctx, d, log)
	if err != nil {
		return nil, err
	}
	f := &Forecast{classifier: classifier{decoder: decoder, filtered: allFiltered(d), rules: timeRulesOf(d),
		turns: calendar.New(control.Header, d.Config.Privacy.Period)}, parts: map[int32]*partition{}}
	control.WithView(func(v *controllog.View) {
		f.closed = v.Closed
		if last := v.Closes[v.Closed]; last != nil {
			for _, c := range last.Cuts {
				p := f.part(c.Partition)
				p.next, p.appendTime, p.talliedTo = c.Restart, c.AppendTime, c.Cut
				for _, offset := range c.Ahead {
					p.replayed[offset] = true
				}
			}
		}
	})
	return f, nil
}

func (f *Forecast) part(id int32) *partition {
	if f.parts[id] == nil {
		f.parts[id] = &partition{id: id, appendTime: calendar.Never, replayed: map[int64]bool{}}
	}
	return f.parts[id]
}

// From returns the first offset of a partition whose record Observe must receive. The latest time
// of the records before it is in control.
func (f *Forecast) From(partition int32) int64 { return f.part(partition).next }

// Observe records the timestamp of a record on the topic. now is this machine's time, in Unix
// milliseconds.
func (f *Forecast) Observe(r *kafkalog.Record, now int64) {
	p := f.part(r.Partition)
	if r.Offset >= p.next && !p.stampAhead(r, &f.classifier.rules, now) {
		p.appendTime = max(p.appendTime, r.Timestamp)
	}
}

// Of returns the outcome that a record would have if it were appended now.
func (f *Forecast) Of(r *kafkalog.Record, now int64) (watch.Outcome, error) {
	v, err := f.classifier.classify(&partition{id: r.Partition, appendTime: f.part(r.Partition).appendTime}, r, now)
	if v.Outcome == watch.Accepted && v.turn <= f.closed {
		v.Outcome = watch.Overtaken
	}
	return v.Outcome, err
}

// Explain returns the reason why a value is not an event, or nil if it is one.
func Explain(decoder *event.Decoder, value []byte) (why *event.Error, err error) {
	var e event.Event
	if err = decoder.Decode(value, &e); errors.As(err, &why) {
		return why, nil
	}
	return nil, err
}
