package reference

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
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

// accepted is an accepted record.
type accepted struct {
	owner  Owner
	millis int64
	passes []uint64 // by generation, bit i: it passes the format's filter i
	visit  Visit
}

// Judged is a record's fate and, where it was dead-lettered, the class of its error.
type Judged struct {
	Fate  Fate
	Class string
}

// judge decides the fate of all records of one partition. ends are the ends of the turns that were
// closed.
func judge(all []Config, partition int32, records []Record, cuts Cuts, ends []int64) ([]Judged, []accepted, error) {
	decoders := make([]*event.Decoder, len(all))
	for i := range all {
		var err error
		if decoders[i], err = event.NewDecoder(all[i].Format); err != nil {
			return nil, nil, fmt.Errorf("building the event decoder: %w", err)
		}
	}
	hasher := schemas.NewHasher(all[0].UserHash)
	var fates []Judged
	var events []accepted
	largest := int64(math.MinInt64)
	for _, r := range records {
		by := judges(all, partition, r.Offset)
		c := all[by]
		// The largest append time up to and including this record, broken records included: they
		// were appended, too. A producer's stamp from beyond the reader's clock says nothing about
		// the time.
		ahead := c.Clock != 0 && !c.NoFuture && earlier(c.Clock, r.Timestamp, c.Skew)
		if !ahead {
			largest = max(largest, r.Timestamp)
		}
		var decoded event.Event
		err := decoders[by].Decode(r.Value, &decoded)
		if err != nil {
			var broken *event.Error
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
			passes, err := passesOf(decoders, r.Value)
			if err != nil {
				return nil, nil, err
			}
			events = append(events, accepted{
				owner:  Owner{hasher.Account(decoded.User), c.periodOf(decoded.Millis)},
				millis: decoded.Millis, passes: passes,
				visit: Visit{string(decoded.Key), decoded.Value, hasher.Record(r.Value)},
			})
		}
	}
	return fates, events, nil
}

// passesOf tells which filters of every generation a record passes.
func passesOf(decoders []*event.Decoder, value []byte) ([]uint64, error) {
	passes := make([]uint64, len(decoders))
	for i, decoder := range decoders {
		var decoded event.Event
		if err := decoder.Decode(value, &decoded); err != nil {
			return nil, fmt.Errorf("decoding a record for generation %d: %w", i+1, err)
		}
		passes[i] = decoded.Passes
	}
	return passes, nil
}

// fate applies the tests that look at the record and its partition's past only.
func (c Config) fate(millis, appended, largest int64) Fate {
	switch {
	case millis < c.Start:
		return BeforeStart
	case earlier(millis, appended, c.Lateness), earlier(millis, largest, c.Slack+c.Lateness):
		return Late
	case !c.NoFuture && earlier(appended, millis, c.Skew):
		return Future
	}
	return Accepted
}

// earlier tells whether a < b − d. Records may have any int64 as their time: what does not fit is
// compared exactly.
func earlier(a, b, d int64) bool {
	return new(big.Int).Add(big.NewInt(a), big.NewInt(d)).Cmp(big.NewInt(b)) < 0
}

// overtaken tells whether the turn that covers an event's time was closed before the record could
// be read. Then it is lost to every window, also to those that end later.
func overtaken(partition int32, offset, millis int64, cuts Cuts, ends []int64) bool {
	turn, closed := turnOf(millis, ends)
	if !closed {
		return false
	}
	cut, known := cuts[turn][partition]
	return known && cut <= offset
}
