package kafkalog

import (
	"github.com/twmb/franz-go/pkg/kgo"
)

// Header is a Kafka record header: Key string, Value []byte.
type Header = kgo.RecordHeader

// Record is one committed record. Its bytes are shared with other records: do not change them. They
// stay valid unless Fetcher.Reuse is set. A nil Value is a tombstone.
type Record struct {
	Partition   int32
	Offset      int64
	Timestamp   int64 // unix ms: append time if the batch has one, else the producer's
	LeaderEpoch int32 // epoch of the leader that appended the batch
	Key, Value  []byte
	Headers     []Header
}

// Message is a record to append. A nil Value is a tombstone.
type Message struct {
	Key, Value []byte
	Headers    []Header
	Timestamp  Stamp
}

// Stamp is the time of a message: At or Now. The zero value is Now, so that a message without a
// time is not dated 1970.
type Stamp struct {
	millis int64
	given  bool
}

// At returns the stamp of a time in unix ms.
func At(millis int64) Stamp { return Stamp{millis, true} }

// Now returns the stamp of the time of appending, by the clock of this process.
func Now() Stamp { return Stamp{} }

func (s Stamp) or(now int64) int64 {
	if s.given {
		return s.millis
	}
	return now
}
