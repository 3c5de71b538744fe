package reference

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Outcome is the result of those tests of a record that depend on neither its user nor its key.
type Outcome int

// The outcomes, in the order of the tests.
const (
	Skipped Outcome = iota
	DeadLettered
	BeforeStart
	Late
	Future
	Overtaken
	Accepted
)

type acceptedEvent struct {
	owner  Owner
	millis int64
	passes uint64 // bit i: the event passes filter i of the generation that decides its turn
	visit  Visit
}

// Reader decides the outcomes of one partition's records.
type Reader struct {
	r         *Replay
	partition int32
	decoders  []*event.Decoder // by generation
	hashers   []*schemas.Hasher
	decoded   event.Event
	keys      map[string]string
	largest   int64                        // the largest append time so far
	pending   map[uint64][][]acceptedEvent // by turn and group of individuals
	tallies   Tallies
	outcomes  [Accepted + 1]uint64
}

func (r *Replay) newReader(partition int32) (*Reader, error) {
	reader := &Reader{r: r, partition: partition, hashers: r.hashers(), keys: map[string]string{},
		largest: math.MinInt64, pending: map[uint64][][]acceptedEvent{},
		tallies: Tallies{Records: schemas.ReadTallies{DeadLettered: map[string]uint64{}}}}
	for i := range r.generations {
		decoder, err := event.NewDecoder(r.generations[i].Format, r.generations[i].Decoding...)
		if err != nil {
			return nil, fmt.Errorf("building the event decoder: %w", err)
		}
		reader.decoders = append(reader.decoders, decoder)
	}
	return reader, nil
}

// Resume prepares the reader to begin partway through the partition. appendTime is the largest
// append time of the records before that point.
func (p *Reader) Resume(appendTime int64) { p.largest = appendTime }

// Read decides the outcome of the partition's next record, and keeps it if it is accepted.
func (p *Reader) Read(offset, appendTime int64, value []byte) (Outcome, error) {
	generations := p.r.generations
	judge := judgeOf(generations, p.partition, offset)
	outcome, err := p.judge(&generations[judge], judge, offset, appendTime, value)
	if err != nil {
		return outcome, err
	}
	if p.outcomes[outcome]++; outcome != Accepted {
		return outcome, nil
	}
	local := generations[0].Zone.Reading(p.decoded.Millis)
	turn, _ := turnOf(local, p.r.ends)
	decider := deciderOf(generations, turn)
	if decider != judge {
		if err := p.decoders[decider].Decode(value, &p.decoded); err != nil {
			return outcome, fmt.Errorf("decoding partition %d offset %d for turn %d: %w", p.partition, offset, turn,
				err)
		}
	}
	key, known := p.keys[string(p.decoded.Key)]
	if !known {
		if len(p.keys) >= maxSharedKeys {
			clear(p.keys)
		}
		key = string(p.decoded.Key)
		p.keys[key] = key
	}
	id := p.hashers[decider].Unnamed(p.partition, offset)
	if len(p.decoded.User) > 0 {
		id = p.hashers[decider].Account(p.decoded.User)
	}
	e := acceptedEvent{
		owner: Owner{id, generations[judge].periodOf(local)}, millis: local, passes: p.decoded.Passes,
		visit: Visit{key, p.decoded.Value, p.hashers[decider].Record(value)},
	}
	if p.pending[turn] == nil {
		p.pending[turn] = make([][]acceptedEvent, len(p.r.people))
	}
	group := p.r.groupOf(e.owner)
	p.pending[turn][group] = append(p.pending[turn][group], e)
	p.tallyWindows(decider, local)
	return outcome, nil
}

// maxSharedKeys limits the number of keys that a reader keeps so that equal keys share memory.
const maxSharedKeys = 1 << 16

// judge decides the outcome of a record. If it is Accepted, p.decoded holds the event.
func (p *Reader) judge(c *Config, judge int, offset, appendTime int64, value []byte) (Outcome, error) {
	// The append times of broken records count toward the largest append time. A producer's
	// timestamp ahead of the reader's clock does not.
	ahead := !c.AllowFuture && (c.Ahead[p.partition][offset] || c.Latest != 0 && earlier(c.Latest, appendTime, c.Skew))
	if !ahead {
		p.largest = max(p.largest, appendTime)
	}
	if err := p.decoders[judge].Decode(value, &p.decoded); err != nil {
		var broken *event.Error
		if !errors.As(err, &broken) {
			return 0, fmt.Errorf("decoding partition %d offset %d: %w", p.partition, offset, err)
		}
		if broken.Class == event.ClassSkipped || c.allFiltered() && p.decoded.Passes == 0 {
			return Skipped, nil
		}
		p.tallies.Records.DeadLettered[broken.Class]++
		return DeadLettered, nil
	}
	outcome := c.outcome(p.decoded.Millis, appendTime, p.largest)
	if ahead && outcome != BeforeStart {
		outcome = Future
	}
	if outcome == Accepted && overtaken(p.partition, offset, c.Zone.Reading(p.decoded.Millis), p.r.cuts, p.r.ends) {
		outcome = Overtaken
	}
	return outcome, nil
}

// allFiltered reports whether every metric has a filter.
func (c *Config) allFiltered() bool {
	return !slices.ContainsFunc(c.Metrics, func(m schemas.MetricSpec) bool { return m.Of == "" && m.Filter == "" })
}

// outcome applies the tests that need only the record and its partition's past.
func (c *Config) outcome(millis, appendTime, largest int64) Outcome {
	switch {
	case millis < c.Start:
		return BeforeStart
	case earlier(millis, appendTime, c.Lateness), earlier(millis, largest, c.Slack+c.Lateness):
		return Late
	case !c.AllowFuture && earlier(appendTime, millis, c.Skew):
		return Future
	}
	return Accepted
}

// earlier reports whether a < b − d, for d ≥ 0. The time of a record may be any int64. If a + d
// overflows, it is later than every time.
func earlier(a, b, d int64) bool { return a+d >= a && a+d < b }

// overtaken reports whether the turn that covers an event's time was closed before the record could
// be read. Such a record does not count, even in windows that end with a later turn.
func overtaken(partition int32, offset, millis int64, cuts Cuts, ends []int64) bool {
	turn, closed := turnOf(millis, ends)
	if !closed {
		return false
	}
	cut, known := cuts[turn][partition]
	return known && cut <= offset
}
