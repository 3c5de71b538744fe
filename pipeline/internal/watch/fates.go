package watch

import (
	"time"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Fate is what becomes of a record.
type Fate int

// The fates of records. Disordered is late as well, but not by the record's own times: other
// records of its partition have later ones, by more than time.slack.
const (
	Accepted Fate = iota
	Late
	Disordered
	Future
	BeforeStart
	Overtaken
	DeadLettered
	fateCount
)

// distances are the steps by which it is said how far a record's time breaks a rule.
var distances = [...]struct {
	above uint64 // milliseconds
	text  string
}{
	{uint64(365 * 24 * time.Hour / time.Millisecond), "a year"},
	{uint64(24 * time.Hour / time.Millisecond), "a day"},
	{uint64(time.Hour / time.Millisecond), "an hour"},
	{uint64(time.Minute / time.Millisecond), "a minute"},
}

// Fates counts records by what became of them. The numbers are exact: they stay in this process,
// and Losses says nothing finer of them than "some" and "more than half". The zero value is empty.
type Fates struct {
	n       [fateCount]uint64
	far     [fateCount][len(distances)]uint64 // farther than distances[i].above
	classes map[string]uint64                 // of dead letters
	// Pairs of an accepted record and a window of a metric: of users who could not pay, and
	// counted ones.
	overBudget, counted uint64
}

// FatesOf returns what became of the accepted records of settled turns.
func FatesOf(settled []schemas.MetricTally) (f Fates) {
	for _, t := range settled {
		f.overBudget += t.OverBudget
		f.counted += t.Counted
	}
	return f
}

// AddRead adds what another process has read, as a CLOSE says it.
func (f *Fates) AddRead(t schemas.ReadTallies) {
	o := Fates{classes: t.DeadLettered}
	o.n[Accepted], o.n[Late], o.n[Future], o.n[BeforeStart], o.n[Overtaken] = t.Accepted, t.Late, t.Future, t.BeforeStart, t.Overtaken
	for _, n := range t.DeadLettered {
		o.n[DeadLettered] += n
	}
	f.add(&o)
}

// empty says whether there is nothing in f.
func (f *Fates) empty() bool { return f.read() == 0 && f.overBudget == 0 && f.counted == 0 }

// Count counts a record: the class of a dead letter, and by how many milliseconds its time breaks
// the rule.
func (f *Fates) Count(fate Fate, class string, off uint64) {
	f.n[fate]++
	for i := range distances {
		if off > distances[i].above {
			f.far[fate][i]++
		}
	}
	if fate == DeadLettered {
		if f.classes == nil {
			f.classes = map[string]uint64{}
		}
		f.classes[class]++
	}
}

func (f *Fates) add(o *Fates) {
	f.overBudget += o.overBudget
	f.counted += o.counted
	for fate := range f.n {
		f.n[fate] += o.n[fate]
		for i := range distances {
			f.far[fate][i] += o.far[fate][i]
		}
	}
	for class, n := range o.classes {
		if f.classes == nil {
			f.classes = map[string]uint64{}
		}
		f.classes[class] += n
	}
}

// read is how many records were counted.
func (f *Fates) read() (all uint64) {
	for _, n := range f.n {
		all += n
	}
	return all
}

// lost is how many of them were lost before counting.
func (f *Fates) lost() uint64 { return f.read() - f.n[Accepted] }

// recent holds the fates of a stretch of time that ends now, in slots.
type recent struct {
	slot  time.Duration
	slots [12]struct {
		number int64
		fates  Fates
	}
}

func (r *recent) at(now time.Time) int64 { return now.UnixNano() / int64(r.slot) }

func (r *recent) see(now time.Time, f *Fates) {
	number := r.at(now)
	s := &r.slots[number%int64(len(r.slots))]
	if s.number != number {
		s.number, s.fates = number, Fates{}
	}
	s.fates.add(f)
}

func (r *recent) sum(now time.Time) (all Fates) {
	newest := r.at(now)
	for i := range r.slots {
		if s := &r.slots[i]; s.number > newest-int64(len(r.slots)) && s.number <= newest {
			all.add(&s.fates)
		}
	}
	return all
}
