package reference

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Outcome says what became of a record before users and keys are looked at.
type Outcome string

// The outcomes, in the order in which they are tested. A dead-lettered record also has a class.
const (
	Skipped      Outcome = "skipped"
	DeadLettered Outcome = "dead_lettered"
	BeforeStart  Outcome = "before_start"
	Late         Outcome = "late"
	Future       Outcome = "future"
	Overtaken    Outcome = "overtaken"
	Accepted     Outcome = "accepted"
)

type accepted struct {
	owner  Owner
	millis int64
	passes uint64 // bit i: it passes filter i of the generation that decides its turn
	visit  Visit
}

// Judged is a record's outcome and, where it was dead-lettered, the class of its error.
type Judged struct {
	Outcome Outcome
	Class   string
}

// judge decides the outcome of all records of one partition. ends are the ends of the turns that
// were closed.
func judge(all []Config, partition int32, records []Record, cuts Cuts, ends []int64) ([]Judged, []accepted, error) {
	decoders, hashers := make([]*event.Decoder, len(all)), make([]*schemas.Hasher, len(all))
	for i := range all {
		var err error
		if decoders[i], err = event.NewDecoder(all[i].Format); err != nil {
			return nil, nil, fmt.Errorf("building the event decoder: %w", err)
		}
		hashers[i] = schemas.NewHasher(all[i].UserHash)
	}
	var outcomes []Judged
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
			if broken.Class == event.ClassSkipped || c.asked() && decoded.Passes == 0 {
				outcomes = append(outcomes, Judged{Outcome: Skipped})
				continue
			}
			outcomes = append(outcomes, Judged{DeadLettered, broken.Class})
			continue
		}
		outcome := c.outcome(decoded.Millis, r.Timestamp, largest)
		if ahead && outcome != BeforeStart {
			outcome = Future
		}
		if outcome == Accepted && overtaken(partition, r.Offset, decoded.Millis, cuts, ends) {
			outcome = Overtaken
		}
		outcomes = append(outcomes, Judged{Outcome: outcome})
		if outcome == Accepted {
			turn, _ := turnOf(decoded.Millis, ends)
			decider := decides(all, turn)
			if err := decoders[decider].Decode(r.Value, &decoded); err != nil {
				return nil, nil, fmt.Errorf("decoding partition %d offset %d for turn %d: %w", partition, r.Offset,
					turn, err)
			}
			events = append(events, accepted{
				owner: Owner{all[decider].accountOf(hashers[decider], decoded.User, partition, r.Offset),
					c.periodOf(decoded.Millis)},
				millis: decoded.Millis, passes: decoded.Passes,
				visit: Visit{string(decoded.Key), decoded.Value, hashers[decider].Record(r.Value)},
			})
		}
	}
	return outcomes, events, nil
}

// asked tells whether every metric has a filter.
func (c Config) asked() bool {
	return !slices.ContainsFunc(c.Metrics, func(m schemas.MetricSpec) bool { return m.Of == "" && m.Filter == "" })
}

// accountOf returns who an event is of: a record without a user is an individual of its own, by
// where it stands.
func (c Config) accountOf(hasher *schemas.Hasher, user []byte, partition int32, offset int64) (id accounts.ID) {
	if len(user) > 0 {
		return hasher.Account(user)
	}
	where := []byte{6}
	for shift := 24; shift >= 0; shift -= 8 {
		where = append(where, byte(partition>>shift))
	}
	for shift := 56; shift >= 0; shift -= 8 {
		where = append(where, byte(offset>>shift))
	}
	mac := hmac.New(sha256.New, c.UserHash[:])
	mac.Write(where)
	copy(id[:], mac.Sum(nil))
	return id
}

// outcome applies the tests that look at the record and its partition's past only.
func (c Config) outcome(millis, appended, largest int64) Outcome {
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
