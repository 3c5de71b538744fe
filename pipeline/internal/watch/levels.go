package watch

import (
	"maps"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Level says how many records are lost for one reason: see pipeline.LossLevel.
type Level int

// LostSome means at least ten records and at least one in a hundred. LostMost means more than half.
const (
	LostNone Level = iota
	LostSome
	LostMost
)

// DeadLevel says how many records are dead letters: see pipeline.DeadLetterLevel.
type DeadLevel string

// DeadNone means fewer than ten dead letters, DeadFew less than one record in a hundred, DeadSome
// at least that, and DeadMost more than half of the records.
const (
	DeadNone DeadLevel = "none"
	DeadFew  DeadLevel = "few"
	DeadSome DeadLevel = "some"
	DeadMost DeadLevel = "most"
)

// DeadLetterLevel returns the level of n dead letters in a total of all records.
func DeadLetterLevel(n, all uint64) DeadLevel {
	switch {
	case n < minRecords:
		return DeadNone
	case 2*n > all:
		return DeadMost
	case n*lossOneIn >= all:
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

// badValueOneIn limits the unreadable values to one in this many: with more, the readable values do
// not represent all values.
const badValueOneIn = 50

// BadValues reports whether too many values of the last hour are unreadable.
func (l *Losses) BadValues(now time.Time) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hour := l.hour.sum(now)
	bad := hour.classes[event.ClassBadValue]
	return bad >= minRecords && badValueOneIn*bad > hour.read()-hour.n[DeadLettered]+bad
}

// reasons are the reasons why records are lost, with their names in metrics, alerts and the log. A
// reason without a hint is not logged: events beyond the allowance are lost by design.
var reasons = [...]struct {
	name, hint string
	numbers    func(*Outcomes) (lost, all uint64)
}{
	{"late", "they are older than time.lateness allows; check events.fields.time and events.time_unit",
		func(f *Outcomes) (uint64, uint64) { return f.n[Late], f.read() }},
	{"future", "their times are later than time.skew allows, or have no Kafka timestamp; check the producers' clocks",
		func(f *Outcomes) (uint64, uint64) { return f.n[Future] + f.n[Unstamped], f.read() }},
	{"before_start", "their times are before the start of the deployment; check events.time_unit",
		func(f *Outcomes) (uint64, uint64) { return f.n[BeforeStart], f.read() }},
	{"overtaken", "they came after their windows were closed; a partition was silent for longer than time.idle_grace",
		func(f *Outcomes) (uint64, uint64) { return f.n[Overtaken], f.read() }},
	{"dead_lettered", "the dead-letter topic contains them, with the reason in the header tollgate-class",
		func(f *Outcomes) (uint64, uint64) { return f.n[DeadLettered], f.read() }},
	{"beyond_allowance", "",
		func(f *Outcomes) (uint64, uint64) { return f.beyond, f.beyond + f.counted }},
}

// Totals holds the record counts of pipeline.Totals.
type Totals struct {
	Read              uint64
	DeadLetters, Lost map[string]uint64
}

// Totals returns the exact numbers of records since the start of the run.
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

// Levels returns the level of lost records for each reason. It covers the last minute, or the last
// hour if the minute has too few records. Records beyond the allowance are known only once a turn
// is settled, so their level covers the hour before the last settlement.
func (l *Losses) Levels(now time.Time) map[string]Level {
	levels := map[string]Level{}
	if l == nil {
		return levels
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	minute, hour, settledHour := l.minute.sum(now), l.hour.sum(now), l.pairs.sum(l.settled)
	for _, r := range reasons {
		recent, wide, least := &minute, &hour, uint64(minRecords)
		if r.name == "beyond_allowance" { // each record counts once per window that contains it
			recent, wide, least = &settledHour, &settledHour, minRecords*max(1, l.windows)
		}
		levels[r.name] = levelOf(r.numbers, recent, wide, least)
	}
	return levels
}

func levelOf(count func(*Outcomes) (lost, all uint64), recent, long *Outcomes, least uint64) Level {
	n, all := count(long)
	many := n >= least && n*lossOneIn >= all
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
