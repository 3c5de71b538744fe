package watch

import (
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Outcome is the result of reading a record.
type Outcome int

// The outcomes of records. An Unstamped record has no timestamp and is tallied as Future. A Skipped
// record is not an event by design, so it does not count as lost.
const (
	Accepted Outcome = iota
	Late
	Future
	Unstamped
	BeforeStart
	Overtaken
	DeadLettered
	Skipped
	outcomeCount
)

// Outcomes counts records by outcome. The exact numbers stay in this process: Losses logs only
// "some" and "more than half". The zero value is empty.
type Outcomes struct {
	n       [outcomeCount]uint64
	classes map[string]uint64 // dead letters by class
	// (accepted record, metric window) pairs, by outcome
	beyond, counted uint64
}

// OutcomesOf returns the outcomes of accepted records in settled turns. It leaves out shares of
// counted events, because their records are already counted under the base metric.
func OutcomesOf(metrics []schemas.MetricSpec, settled []schemas.MetricTally) (f Outcomes) {
	for _, t := range settled {
		if int(t.Metric) < len(metrics) && metrickind.Of(metrics[t.Metric].Kind).Share {
			continue
		}
		f.beyond += t.Beyond
		f.counted += t.Counted
	}
	return f
}

// AddRead adds the record tallies of a CLOSE that another process wrote.
func (f *Outcomes) AddRead(t schemas.ReadTallies) {
	o := Outcomes{classes: t.DeadLettered}
	o.n[Skipped] = t.Skipped
	o.n[Accepted], o.n[Late], o.n[Future], o.n[BeforeStart], o.n[Overtaken] = t.Accepted, t.Late, t.Future,
		t.BeforeStart, t.Overtaken
	for _, n := range t.DeadLettered {
		o.n[DeadLettered] += n
	}
	f.add(&o)
}

// empty reports whether f counts nothing, apart from skipped records.
func (f *Outcomes) empty() bool { return f.read() == 0 && f.beyond == 0 && f.counted == 0 }

// Count adds a record with an outcome. class is the class of a dead letter, and otherwise ignored.
func (f *Outcomes) Count(outcome Outcome, class string) {
	f.n[outcome]++
	if outcome == DeadLettered {
		if f.classes == nil {
			f.classes = map[string]uint64{}
		}
		f.classes[class]++
	}
}

func (f *Outcomes) add(o *Outcomes) {
	f.beyond += o.beyond
	f.counted += o.counted
	for outcome := range f.n {
		f.n[outcome] += o.n[outcome]
	}
	for class, n := range o.classes {
		if f.classes == nil {
			f.classes = map[string]uint64{}
		}
		f.classes[class] += n
	}
}

// read returns the number of records, not counting skipped ones.
func (f *Outcomes) read() (all uint64) {
	for _, n := range f.n[:Skipped] {
		all += n
	}
	return all
}

// recent holds the outcomes of the last twelve time slots.
type recent struct {
	slot  time.Duration
	slots [12]struct {
		number   int64
		outcomes Outcomes
	}
}

func (r *recent) slotOf(now time.Time) int64 { return now.UnixNano() / int64(r.slot) }

func (r *recent) add(now time.Time, f *Outcomes) {
	number := r.slotOf(now)
	s := &r.slots[number%int64(len(r.slots))]
	if s.number != number {
		s.number, s.outcomes = number, Outcomes{}
	}
	s.outcomes.add(f)
}

func (r *recent) sum(now time.Time) (all Outcomes) {
	newest := r.slotOf(now)
	for i := range r.slots {
		if s := &r.slots[i]; s.number > newest-int64(len(r.slots)) && s.number <= newest {
			all.add(&s.outcomes)
		}
	}
	return all
}
