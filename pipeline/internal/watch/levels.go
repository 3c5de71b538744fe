package watch

import (
	"maps"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Level is how many of the records are lost for a reason: coarse, and for the trusted side.
type Level int

// A loss needs at least ten records, and one in a hundred. "Most" means more than half.
const (
	LostNone Level = iota
	LostSome
	LostMost
)

// DeadLevel is how many of the records are dead letters: coarse, and for the trusted side.
type DeadLevel string

// DeadNone is fewer than ten dead letters. A few are fewer than one in a hundred records, most are
// more than half.
const (
	DeadNone DeadLevel = "none"
	DeadFew  DeadLevel = "few"
	DeadSome DeadLevel = "some"
	DeadMost DeadLevel = "most"
)

// DeadLetterLevel returns the level of n dead letters among all records.
func DeadLetterLevel(n, all uint64) DeadLevel {
	switch {
	case n < leastRecords:
		return DeadNone
	case 2*n > all:
		return DeadMost
	case n*someOf >= all:
		return DeadSome
	}
	return DeadFew
}

// DeadLetters returns the level of dead letters in the last hour.
func (l *Losses) DeadLetters(now time.Time) DeadLevel {
	if l == nil {
		return DeadNone
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hour := l.hour.sum(now)
	return DeadLetterLevel(hour.n[DeadLettered], hour.read())
}

// badValueOf is the part of the values that may be unreadable; with more, the readable ones do not
// represent all.
const badValueOf = 50

// BadValues reports whether too many values of the last hour cannot be read.
func (l *Losses) BadValues(now time.Time) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hour := l.hour.sum(now)
	bad := hour.classes[event.ClassBadValue]
	return bad >= leastRecords && badValueOf*bad > hour.read()-hour.n[DeadLettered]+bad
}

// reasons are the ways to lose records, as metrics, alerts and the log name them. Events beyond the
// allowance are lost by design, and not logged.
var reasons = [...]struct {
	name, hint string
	numbers    func(*Outcomes) (lost, all uint64)
}{
	{"late", "they are older than time.lateness allows; check events.fields.time and events.time_unit",
		func(f *Outcomes) (uint64, uint64) { return f.n[Late], f.read() }},
	{"future", "they are ahead by more than time.skew, or have no timestamp of Kafka; check the producers' clocks",
		func(f *Outcomes) (uint64, uint64) { return f.n[Future] + f.n[Unstamped], f.read() }},
	{"before_start", "their times are before the start of the deployment; check events.time_unit",
		func(f *Outcomes) (uint64, uint64) { return f.n[BeforeStart], f.read() }},
	{"overtaken", "they came after their windows were closed; a partition was silent for longer than time.idle_grace",
		func(f *Outcomes) (uint64, uint64) { return f.n[Overtaken], f.read() }},
	{"dead_lettered", "the dead-letter topic has them, with the reason in the header tollgate-class",
		func(f *Outcomes) (uint64, uint64) { return f.n[DeadLettered], f.read() }},
	{"beyond_allowance", "",
		func(f *Outcomes) (uint64, uint64) { return f.beyond, f.beyond + f.counted }},
}

// Totals are those of package pipeline.
type Totals struct {
	Read              uint64
	DeadLetters, Lost map[string]uint64
}

// Totals returns the exact numbers so far.
func (l *Losses) Totals() (t Totals) {
	if l == nil {
		return t
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t = Totals{Read: l.all.read() - l.all.n[DeadLettered], DeadLetters: maps.Clone(l.all.classes),
		Lost: map[string]uint64{}}
	for _, r := range reasons {
		t.Lost[r.name], _ = r.numbers(&l.all)
	}
	return t
}

// Levels returns, by reason, how many of the records of the last minute are lost, or of the last
// hour if the minute has too few; some reasons always use the last hour. Records beyond the
// allowance are known only once a turn is settled: their level covers the hour before the last
// settlement.
func (l *Losses) Levels(now time.Time) map[string]Level {
	levels := map[string]Level{}
	if l == nil {
		return levels
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	minute, hour, before := l.minute.sum(now), l.hour.sum(now), l.pairs.sum(l.settled)
	for _, r := range reasons {
		recent, long, least := &minute, &hour, uint64(leastRecords)
		if r.name == "beyond_allowance" { // a record counts in every window that it is in
			recent, long, least = &before, &before, leastRecords*max(1, l.windows)
		}
		levels[r.name] = levelOf(r.numbers, recent, long, least)
	}
	return levels
}

func levelOf(count func(*Outcomes) (lost, all uint64), recent, long *Outcomes, least uint64) Level {
	n, all := count(long)
	many := n >= least && n*someOf >= all
	if m, few := count(recent); few >= least {
		n, all = m, few
	}
	switch {
	case all >= least && 2*n > all:
		return LostMost
	case many:
		return LostSome
	}
	return LostNone
}
