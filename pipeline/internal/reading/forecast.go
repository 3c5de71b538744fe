package reading

import (
	"context"
	"errors"
	"log/slog"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
	"github.com/tollgate-dp/tollgate/pipeline/internal/watch"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Forecast foretells the outcomes of records that are appended to the events topic now.
type Forecast struct {
	classifier classifier
	closed     uint64 // the last closed turn
}

// NewForecast returns the forecast for a deployment in which closed is the last closed turn.
func NewForecast(ctx context.Context, d *deployment.Deployment, h *schemas.Header, closed uint64,
	log *slog.Logger) (*Forecast, error) {
	decoder, err := NewDecoder(ctx, d, log)
	if err != nil {
		return nil, err
	}
	return &Forecast{classifier{decoder: decoder, asked: isAsked(d), clock: clockOf(d),
		turns: calendar.New(h, d.Config.Privacy.Period)}, closed}, nil
}

// Of returns the outcome of a record in a partition whose newest timestamp so far is newest. now is
// the time of this machine's clock in Unix milliseconds.
func (f *Forecast) Of(r *kafkalog.Record, newest, now int64) (watch.Outcome, error) {
	v, err := f.classifier.classify(&partition{id: r.Partition, appendTime: newest}, r, now)
	if v.Outcome == watch.Accepted && v.turn <= f.closed {
		v.Outcome = watch.Overtaken
	}
	return v.Outcome, err
}

// Explain returns why a value is not an event; nil if it is one.
func Explain(decoder *event.Decoder, value []byte) (why *event.Error, err error) {
	var e event.Event
	if err = decoder.Decode(value, &e); errors.As(err, &why) {
		return why, nil
	}
	return nil, err
}
