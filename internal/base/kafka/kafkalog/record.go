package kafkalog

import (
	"github.com/twmb/franz-go/pkg/kgo"
)

// Header is a Kafka record header, with Key string and Value []byte.
type Header = kgo.RecordHeader

// Record is one committed record. Its bytes may be shared with other records, so they must not be
// changed. They stay valid unless Fetcher.Reuse is set. A nil Value is a tombstone.
type Record struct {
	Partition   int32
	Offset      int64
	Timestamp   int64 // Unix ms; the append time if the batch has one, else the producer's time
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

// Stamp is the time of a message: a given time (At) or the time of appending (Now). The zero value
// is Now, so a message without a time is not dated 1970.
type Stamp struct {
	millis int64
	given  bool
}

// At returns the Stamp of a time in Unix ms.
func At(millis int64) Stamp { return Stamp{millis, true} }

// Now returns the Stamp for the time of appending, by the clock of this process.
func Now() Stamp { return Stamp{} }

func (s Stamp) or(now int64) int64 {
	if s.given {
		return s.millis
	}
	return now
}
