package demo

import (
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/generate"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Generated is a generated stream as a source.
type Generated struct{ config generate.Config }

// NewGenerated checks the stream's configuration (generate.ErrConfig).
func NewGenerated(c generate.Config) (*Generated, error) {
	if _, err := generate.New(c); err != nil {
		return nil, err
	}
	return &Generated{config: c}, nil
}

// Traits returns the format and the settings of a generated stream.
func (g *Generated) Traits() Traits {
	return Traits{
		Format: event.Format{
			Format: event.JSONL, User: generate.UserField, Key: generate.KeyField, Time: generate.TimeField,
			TimeUnit:       "ms",
			MaxRecordBytes: g.config.MaxRecordBytes,
		},
		Lateness: g.config.Lateness, Skew: g.config.Skew, Partitions: 2,
	}
}

// Range returns the range of the configuration's windows.
func (g *Generated) Range() (from, to time.Time) { return g.config.Start, g.config.End() }

// Each generates the stream anew.
func (g *Generated) Each(fn func(kafkalog.Message) error) error {
	stream, err := generate.New(g.config)
	if err != nil {
		return err
	}
	for e, ok := stream.Next(); ok; e, ok = stream.Next() {
		if err := fn(kafkalog.Message{Value: e.Value, Timestamp: kafkalog.At(e.Arrival)}); err != nil {
			return err
		}
	}
	return nil
}
