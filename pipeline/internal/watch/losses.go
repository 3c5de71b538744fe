package watch

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const (
	// leastRecords is of how many records something is said: of fewer, a line would tell of single
	// ones. One user with many records can bring about a line all the same: it is coarse, not
	// protected, and for the trusted side only.
	leastRecords = 10
	// someOf is the part of the records from which dead letters are "some".
	someOf = 100
	// namedOf is the part of the records from which a fate is named where several together lose
	// more than half.
	namedOf = 10
)

// LossRules are what a deployment says about the times of its events, for texts.
type LossRules struct {
	Topic, DeadLetter                string
	TimeField, TimeUnit              string
	Start                            time.Time
	Trust                            string // of deployment.Time
	Lateness, Skew, Slack, IdleGrace time.Duration
	Windows                          uint64 // in which a record is, over all metrics
}

// LossRulesOf returns the rules of a deployment that starts at a time.
func LossRulesOf(d *deployment.Deployment, start time.Time) LossRules {
	t, e := &d.Config.Time, &d.Config.Events
	var windows uint64
	for _, m := range d.Config.Metrics {
		windows += uint64(m.Window / m.Slide)
	}
	return LossRules{
		Topic: e.Topic, DeadLetter: d.Config.Outputs.DeadLetter, TimeField: e.Format.Time, TimeUnit: e.Format.TimeUnit,
		Start: start, Trust: t.Trust, Lateness: t.Lateness, Skew: t.Skew, Slack: t.Slack, IdleGrace: t.IdleGrace, Windows: windows,
	}
}

// Losses says coarsely what is wrong with the records while they are read: that more than half of
// those of the last minute (of the last hour, where the minute has too few) have met a fate, or
// that some are dead-lettered; at once, again at growing intervals, and when it is over. No user
// id, no key, no count. It has no clock: its callers pass the time. Safe for concurrent use; a nil
// Losses takes everything and says nothing.
type Losses struct {
	rules LossRules
	log   *slog.Logger

	mu           sync.Mutex
	minute, hour recent
	pairs        recent    // the last hour before settled
	settled      time.Time // when a turn was settled last
	all          Fates
	told         map[string]*toldLoss // by the words of the finding
}

// toldLoss is a finding that was told.
type toldLoss struct {
	Repeat
	since time.Time
}

// NewLosses returns Losses that tell log. Look is to be called about once a second.
func NewLosses(rules LossRules, log *slog.Logger) *Losses {
	l := &Losses{rules: rules, log: log, told: map[string]*toldLoss{}}
	l.minute.slot, l.hour.slot, l.pairs.slot = time.Minute/12, time.Hour/12, time.Hour/12
	return l
}

// See takes over what became of records that were read now for the first time, and empties f.
func (l *Losses) See(now time.Time, f *Fates) {
	if l == nil || f.empty() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.overBudget+f.counted > 0 {
		l.pairs.see(now, f)
		l.settled = now
	}
	l.minute.see(now, f)
	l.hour.see(now, f)
	l.all.add(f)
	*f = Fates{}
}

// Look tells what there is to tell now.
func (l *Losses) Look(now time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hour, recent, span := l.hour.sum(now), l.minute.sum(now), "minute"
	if hour.read() < leastRecords || recent.read() == 0 {
		return // there is nothing new to say, nor that anything is over
	}
	fresh := recent.n[DeadLettered] > 0
	if recent.read() < leastRecords {
		recent, span = hour, "hour"
	}
	l.some(now, &hour, fresh, l.most(now, &recent, span))
}

// most tells of what more than half of the records have met, and says whether that names dead
// letters.
func (l *Losses) most(now time.Time, f *Fates, span string) (dead bool) {
	all, single := f.read(), false
	of := " of the records read in the last " + span + " "
	for _, loss := range l.losses() {
		var n uint64
		for _, fate := range loss.fates {
			n += f.n[fate]
		}
		switch {
		case 2*n > all:
			single, dead = true, loss.fates[0] == DeadLettered
			l.tell(now, loss.words, "more than half"+of+loss.words+l.where(f, loss, n))
		case 4*n < all:
			l.over(now, loss.words, "less than a quarter"+of+loss.words)
		}
	}
	const several = "are lost before counting"
	switch lost, shares := f.lost(), l.shares(f); {
	case 2*lost > all && !single && shares != "":
		dead = named(f, f.n[DeadLettered])
		l.tell(now, several, "more than half"+of+several+": "+shares)
	case 4*lost < all:
		l.over(now, several, "less than a quarter"+of+several)
	}
	return dead
}

// loss is a way to lose records, and where to look for its cause.
type loss struct {
	words string
	fates []Fate
	hint  string
}

// losses returns every way to lose records.
func (l *Losses) losses() []loss {
	r := &l.rules
	unit := fmt.Sprintf("events.fields.time (%s) or events.time_unit (%s) is wrong", r.TimeField, cmp.Or(r.TimeUnit, "as the schema says"))
	late := fmt.Sprintf("their times are behind their append times. Possible causes: events come later than time.lateness (%v) allows; old events are written only now (with append times they are never counted); %s", r.Lateness, unit)
	if r.Trust == deployment.TrustProducer {
		late = fmt.Sprintf("their times are behind the times of their records, or an earlier record in their partition has a later time. Possible causes: events come later than time.lateness (%v) allows; %s", r.Lateness, unit)
	}
	overtaken := fmt.Sprintf("possible causes: a partition was silent for longer than time.idle_grace (%v); a clock was set", r.IdleGrace)
	if r.Trust == deployment.TrustProducer {
		overtaken = fmt.Sprintf("possible cause: a partition whose records are behind the clock was silent for longer than time.idle_grace (%v): set it above the longest silence of such a partition. Closed windows stay closed: their records are lost until the stream has caught up with the clock", r.IdleGrace)
	}
	return []loss{
		{"are late", []Fate{Late, Disordered}, late},
		{"are of the future", []Fate{Future}, fmt.Sprintf("possible causes: a producer's clock is ahead by more than time.skew (%v); %s", r.Skew, unit)},
		{
			"are before the start of the deployment", []Fate{BeforeStart},
			fmt.Sprintf("tollgate init --start has set it to %s. Possible causes: these events are older; %s", clockTime(r.Start), unit),
		},
		{"came after their turn was closed", []Fate{Overtaken}, overtaken},
		{"are dead-lettered", []Fate{DeadLettered}, ""},
	}
}

// where says where to look for the cause of a loss of n records.
func (l *Losses) where(f *Fates, loss loss, n uint64) string {
	if loss.fates[0] == DeadLettered {
		return l.classes(f)
	}
	text := ""
	for i, d := range distances {
		var far uint64
		for _, fate := range loss.fates {
			far += f.far[fate][i]
		}
		if 2*far > n {
			text = fmt.Sprintf(", most of these by more than %s", d.text)
			break
		}
	}
	if loss.fates[0] == Late && 2*f.n[Disordered] > n {
		return text + ": " + l.disorder() + tallies
	}
	return text + ": " + loss.hint + tallies
}

// disorder says what makes records late that are not so by their own times.
func (l *Losses) disorder() string {
	const what = "an earlier record in their partition has a time that is later by more than "
	if l.rules.Trust == deployment.TrustProducer {
		return what + fmt.Sprintf("time.lateness (%v), as in a file that was not sorted before it was replayed", l.rules.Lateness)
	}
	return what + fmt.Sprintf("time.slack (%v), as after a broker's clock was set", l.rules.Slack)
}

// tallies says where the exact numbers are.
const tallies = "; exact tallies: --trusted-report"

// classes names the classes of dead letters, and where the records are.
func (l *Losses) classes(f *Fates) string {
	var names []string
	for _, class := range slices.Sorted(maps.Keys(f.classes)) {
		if n := f.classes[class]; n >= leastRecords || 2*n > f.n[DeadLettered] {
			names = append(names, class)
		}
	}
	text := ""
	if len(names) > 0 {
		text = ": " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s (topic %s has them, with the reason in the header tollgate-class)", text, l.rules.DeadLetter)
}

// named says whether a loss of n records is named beside others.
func named(f *Fates, n uint64) bool { return n >= leastRecords && n*namedOf >= f.read() }

// shares names the fates of which records are lost, with where to look.
func (l *Losses) shares(f *Fates) string {
	var parts []string
	for _, loss := range l.losses() {
		var n uint64
		for _, fate := range loss.fates {
			n += f.n[fate]
		}
		if named(f, n) {
			parts = append(parts, "some "+loss.words+l.where(f, loss, n))
		}
	}
	return strings.Join(parts, "; ")
}

// some tells that there are dead letters, where they are few. fresh says that some were read
// lately, more that more was said of them.
func (l *Losses) some(now time.Time, f *Fates, fresh, more bool) {
	const words = "some are dead-lettered"
	n := f.n[DeadLettered]
	switch {
	case more:
		delete(l.told, words)
	case fresh && n >= leastRecords && n*someOf >= f.read():
		l.tell(now, words, "some records are dead-lettered"+l.classes(f))
	case 2*n*someOf < f.read():
		l.over(now, words, "hardly any record is dead-lettered now")
	}
}

func (l *Losses) tell(now time.Time, words, text string) {
	t := l.told[words]
	if t == nil {
		t = &toldLoss{since: now}
		l.told[words] = t
	}
	if t.Due(now) {
		l.log.Warn(text)
	}
}

// over tells the end of what was told.
func (l *Losses) over(now time.Time, words, text string) {
	if t := l.told[words]; t != nil {
		delete(l.told, words)
		l.log.Warn("resolved after " + now.Sub(t.since).Round(time.Second).String() + ": " + text)
	}
}
