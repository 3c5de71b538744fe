package watch

import (
	"maps"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Level is the level of records lost for one reason: see pipeline.LossLevel.
type Level int

// LostSome means at least ten records and one in a hundred, LostMost more than half.
const (
	LostNone Level = iota
	LostSome
	LostMost
)

// DeadLevel is the level of dead letters among records: see pipeline.DeadLetterLevel.
type DeadLevel string

// DeadNone is fewer than ten, DeadFew fewer than one in a hundred, DeadMost more than half.
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

// badValueOf is the reciprocal of the share of values that may be unreadable: with more, the
// readable values do not represent all values.
const badValueOf = 50

// BadValues reports whether too many values of the last hour are unreadable.
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

// reasons are the reasons why records are lost, with their names in metrics, alerts and the log.
// Events beyond the allowance are lost by design, and not logged.
var reasons = [...]struct {
	name, hint string
	numbers    func(*Outcomes) (lost, all uint64)
}{
	{"late", "they are older than time.lateness allows; check events.fields.time and events.time_unit",
		func(f *Outcomes) (uint64, uint64) { return f.n[Late], f.read() }},
	{"future", "they are ahead by more than time.skew, or have no Kafka timestamp; check the producers' clocks",
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

// Totals are pipeline.Totals.
type Totals struct {
	Read              uint64
	DeadLetters, Lost map[string]uint64
}

// Totals returns exact numbers since the start.
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

// Levels returns the levels of lost records by reason: in the last minute, or in the last hour if
// there were too few records in the minute. Records beyond the allowance are known only once a turn
// is settled, so their level covers the hour before the last settlement.
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
		if r.name == "beyond_allowance" { // a record counts once for each of its windows
			recent, long, least = &before, &before, leastRecords*max(1, l.windows)
		}
		levels[r.name] = levelOf(r.numbers, recent, long, least)
	}
	return levels
}

func levelOf(count func(*Outcomes) (lost, all uint64), recent, long *Outcomes, least uint64) Level {
	n, all := count(long)
	many := n >= least && n*someOf >= all
	if lost, total := count(recent); total >= least {
		n, all = lost, total
	}
	switch {
	case all >= least && 2*n > all:
		return LostMost
	case many:
		return LostSome
	}
	return LostNone
}
