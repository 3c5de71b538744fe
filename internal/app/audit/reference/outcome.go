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

// Reader decides the outcomes of one partition's records.
type Reader struct {
	r         *Replay
	partition int32
	decoders  []*event.Decoder // by generation
	hashers   []*schemas.Hasher
	decoded   event.Event
	keys      map[string]string
	largest   int64                   // append time
	pending   map[uint64][][]accepted // events by turn and part of the individuals
	tallies   Tallies
}

func (r *Replay) newReader(partition int32) (*Reader, error) {
	reader := &Reader{r: r, partition: partition, hashers: r.hashers(),
		keys:    map[string]string{},
		largest: math.MinInt64, pending: map[uint64][][]accepted{}, tallies: newTallies(r.names)}
	for i := range r.all {
		decoder, err := event.NewDecoder(r.all[i].Format, r.all[i].Decoding...)
		if err != nil {
			return nil, fmt.Errorf("building the event decoder: %w", err)
		}
		reader.decoders = append(reader.decoders, decoder)
	}
	return reader, nil
}

// Resume has the reader begin after records of which the largest append time is known.
func (p *Reader) Resume(appendTime int64) { p.largest = appendTime }

// Read decides the outcome of the partition's next record, and keeps it if it is accepted.
func (p *Reader) Read(offset, timestamp int64, value []byte) (Judged, error) {
	all := p.r.all
	by := judges(all, p.partition, offset)
	j, err := p.judge(&all[by], by, offset, timestamp, value)
	if err == nil {
		p.tallies.Records.add(j)
	}
	if j.Outcome != Accepted || err != nil {
		return j, err
	}
	reading := all[0].Zone.Reading(p.decoded.Millis)
	turn, _ := turnOf(reading, p.r.ends)
	decider := decides(all, turn)
	if decider != by {
		if err := p.decoders[decider].Decode(value, &p.decoded); err != nil {
			return j, fmt.Errorf("decoding partition %d offset %d for turn %d: %w", p.partition, offset, turn, err)
		}
	}
	key, known := p.keys[string(p.decoded.Key)]
	if !known {
		if len(p.keys) >= manyKeys {
			clear(p.keys)
		}
		key = string(p.decoded.Key)
		p.keys[key] = key
	}
	e := accepted{
		owner: Owner{all[decider].accountOf(p.hashers[decider], p.decoded.User, p.partition, offset),
			all[by].periodOf(reading)},
		millis: reading, passes: p.decoded.Passes, visit: Visit{key, p.decoded.Value, p.hashers[decider].Record(value)},
	}
	if p.pending[turn] == nil {
		p.pending[turn] = make([][]accepted, len(p.r.people))
	}
	part := p.r.partOf(e.owner)
	p.pending[turn][part] = append(p.pending[turn][part], e)
	p.tallyWindows(decider, reading)
	return j, nil
}

// manyKeys is how many keys a reader keeps, so that equal ones share their memory.
const manyKeys = 1 << 16

// judge decides the outcome of a record, and decodes it if it is accepted.
func (p *Reader) judge(c *Config, by int, offset, timestamp int64, value []byte) (Judged, error) {
	// The largest append time up to and including this record, broken records included: they were
	// appended, too. A producer's stamp from beyond the reader's clock says nothing about the time.
	ahead := !c.NoFuture && (c.Ahead[p.partition][offset] || c.Clock != 0 && earlier(c.Clock, timestamp, c.Skew))
	if !ahead {
		p.largest = max(p.largest, timestamp)
	}
	if err := p.decoders[by].Decode(value, &p.decoded); err != nil {
		var broken *event.Error
		if !errors.As(err, &broken) {
			return Judged{}, fmt.Errorf("decoding partition %d offset %d: %w", p.partition, offset, err)
		}
		if broken.Class == event.ClassSkipped || c.asked() && p.decoded.Passes == 0 {
			return Judged{Outcome: Skipped}, nil
		}
		return Judged{DeadLettered, broken.Class}, nil
	}
	outcome := c.outcome(p.decoded.Millis, timestamp, p.largest)
	if ahead && outcome != BeforeStart {
		outcome = Future
	}
	if outcome == Accepted && overtaken(p.partition, offset, c.Zone.Reading(p.decoded.Millis), p.r.cuts, p.r.ends) {
		outcome = Overtaken
	}
	return Judged{Outcome: outcome}, nil
}

// asked tells whether every metric has a filter.
func (c *Config) asked() bool {
	return !slices.ContainsFunc(c.Metrics, func(m schemas.MetricSpec) bool { return m.Of == "" && m.Filter == "" })
}

// accountOf returns who an event is of: a record without a user is an individual of its own, by
// where it stands.
func (c *Config) accountOf(hasher *schemas.Hasher, user []byte, partition int32, offset int64) (id accounts.ID) {
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
func (c *Config) outcome(millis, appended, largest int64) Outcome {
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
