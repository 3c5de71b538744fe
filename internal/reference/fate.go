package reference

import (
	"errors"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Fate says what became of a record before users and keys are looked at.
type Fate string

// The fates, in the order in which they are tested. A dead-lettered record also has a class.
const (
	DeadLettered Fate = "dead_lettered"
	BeforeStart  Fate = "before_start"
	Late         Fate = "late"
	Future       Fate = "future"
	Overtaken    Fate = "overtaken"
	Accepted     Fate = "accepted"
)

// event is an accepted record.
type event struct {
	user, key string
	millis    int64
}

// Judged is a record's fate and, where it was dead-lettered, the class of its error.
type Judged struct {
	Fate  Fate
	Class string
}

// judge decides the fate of all records of one partition. ends are the ends of the turns that were closed.
func (c Config) judge(partition int32, records []Record, cuts Cuts, ends []int64) ([]Judged, []event, error) {
	decoder, err := schemas.NewEventDecoder(c.Format)
	if err != nil {
		return nil, nil, fmt.Errorf("building the event decoder: %w", err)
	}
	var fates []Judged
	var events []event
	largest := int64(math.MinInt64)
	for _, r := range records {
		// The largest append time up to and including this record, broken records included: they were appended, too. A
		// producer's stamp from beyond the reader's clock says nothing about the time.
		ahead := c.Clock != 0 && !c.NoFuture && r.Timestamp > c.Clock+c.Skew
		if !ahead {
			largest = max(largest, r.Timestamp)
		}
		var decoded schemas.Event
		err := decoder.Decode(r.Value, &decoded)
		if err != nil {
			var broken *schemas.EventError
			if !errors.As(err, &broken) {
				return nil, nil, fmt.Errorf("decoding partition %d offset %d: %w", partition, r.Offset, err)
			}
			fates = append(fates, Judged{DeadLettered, broken.Class})
			continue
		}
		fate := c.fate(decoded.Millis, r.Timestamp, largest)
		if ahead && fate != BeforeStart {
			fate = Future
		}
		if fate == Accepted && overtaken(partition, r.Offset, decoded.Millis, cuts, ends) {
			fate = Overtaken
		}
		fates = append(fates, Judged{Fate: fate})
		if fate == Accepted {
			events = append(events, event{string(decoded.User), string(decoded.Key), decoded.Millis})
		}
	}
	return fates, events, nil
}

// fate applies the tests that look at the record and its partition's past only.
func (c Config) fate(millis, appended, largest int64) Fate {
	switch {
	case millis < c.Start:
		return BeforeStart
	case millis < max(appended, largest-c.Slack)-c.Lateness:
		return Late
	case !c.NoFuture && millis > appended+c.Skew:
		return Future
	}
	return Accepted
}

// overtaken tells whether the turn that ends an event's slice was closed before the record could be read.
func overtaken(partition int32, offset, millis int64, cuts Cuts, ends []int64) bool {
	turn, closed := turnOf(millis, ends)
	if !closed {
		return false
	}
	cut, known := cuts[turn][partition]
	return known && cut <= offset
}
