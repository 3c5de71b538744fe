package demo

import (
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Traits are what the pipeline must know about a source.
type Traits struct {
	Format         event.Format
	Lateness, Skew time.Duration
	NoFuture       bool // times of the future are believed
	Partitions     int  // partitions of the events topic
}

// Source hands out the records of a demo. Not for concurrent use.
type Source interface {
	Traits() Traits
	// Range returns the range of the windows to be released, [from, to): both are ends of windows
	// in UTC. Both are zero if there is nothing to release.
	Range() (from, to time.Time)
	// Each calls fn with every record in the order in which they reach the
	// topic: timestamps never fall.
	Each(fn func(kafkalog.Message) error) error
	// Unreadable returns the numbers of broken records by class, of a source without a
	// range.
	Unreadable() map[string]uint64
}
