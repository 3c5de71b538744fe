package demo

import (
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Traits are the properties of a source that the pipeline needs.
type Traits struct {
	Format         event.Format
	Lateness, Skew time.Duration
	AcceptFuture   bool // whether events from the future are accepted
	Partitions     int  // partitions of the events topic
}

// Source provides the records of a demo. Not for concurrent use.
type Source interface {
	Traits() Traits
	// Range returns the range of the windows to release, [from, to), both at ends of windows in
	// UTC. Both are zero if there is nothing to release.
	Range() (from, to time.Time)
	// Each calls fn with every record in the order of the topic: timestamps never fall.
	Each(fn func(kafkalog.Message) error) error
}
