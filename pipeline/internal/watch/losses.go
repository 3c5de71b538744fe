package watch

import (
	"cmp"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const (
	// leastRecords is the least number of records that a line is written about: with fewer, it
	// would say something about single ones. One user with many records can still cause a line: it
	// is coarse, not protected, and for the trusted side only.
	leastRecords = 10
	// someOf is the part of the records from which a loss is named.
	someOf = 100
)

// LossRules are what a deployment says about the times of its events, for texts.
type LossRules struct {
	DeadLetter                string
	TimeField, TimeUnit       string
	Start                     time.Time
	Trust                     string // of deployment.Time
	Lateness, Skew, IdleGrace time.Duration
	Windows                   uint64 // in which a record is, over all metrics
}

// LossRulesOf returns the rules of a deployment that starts at a time.
func LossRulesOf(d *deployment.Deployment, start time.Time) LossRules {
	t, e := &d.Config.Time, &d.Config.Events
	var windows uint64
	for _, m := range d.Config.Metrics {
		windows += uint64(m.Window / m.Slide)
	}
	return LossRules{
		DeadLetter: d.Config.Outputs.DeadLetter, TimeField: e.Format.Time, TimeUnit: e.Format.TimeUnit,
		Start: start, Trust: t.Trust, Lateness: t.Lateness, Skew: t.Skew, IdleGrace: t.IdleGrace, Windows: windows,
	}
}

// Losses says coarsely what is wrong with the records while they are read: that more than half, or
// at least one in a hundred, of those of the last minute (of the last hour, where the minute has
// too few) have met an outcome; at once, again at growing intervals, and when it is over. No user
// id, no key, no count. It has no clock: its callers pass the time. Safe for concurrent use; a nil
// Losses takes everything and says nothing.
type Losses struct {
	rules LossRules
	log   *slog.Logger

	mu           sync.Mutex
	minute, hour recent
	pairs        recent    // the last hour before settled
	settled      time.Time // when a turn was settled last
	all          Outcomes
	reported     map[string]*lasting // by the words of the loss
}

// NewLosses returns Losses that write to log. Check is to be called about once a second.
func NewLosses(rules LossRules, log *slog.Logger) *Losses {
	return &Losses{
		rules: rules, log: log, reported: map[string]*lasting{},
		minute: recent{slot: time.Minute / 12}, hour: recent{slot: time.Hour / 12}, pairs: recent{slot: time.Hour / 12},
	}
}

// Observe takes over what became of records that were read now for the first time, and empties f.
func (l *Losses) Observe(now time.Time, f *Outcomes) {
	if l == nil || f.empty() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.beyond+f.counted > 0 {
		l.pairs.add(now, f)
		l.settled = now
	}
	l.minute.add(now, f)
	l.hour.add(now, f)
	l.all.add(f)
	*f = Outcomes{}
}

// Check logs the losses that are due now.
func (l *Losses) Check(now time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hour, minute := l.hour.sum(now), l.minute.sum(now)
	if hour.read() < leastRecords || minute.read() == 0 {
		return // there is nothing new to say, nor that anything is over
	}
	latest, span := &minute, "minute"
	if minute.read() < leastRecords {
		latest, span = &hour, "hour"
	}
	for _, loss := range l.losses() {
		n, all := loss.of(latest), latest.read()
		of := " of the records read in the last " + span + " " + loss.words
		switch {
		case 2*n > all:
			l.report(now, loss.words, true, "more than half"+of+": "+loss.hint)
		case n >= leastRecords && n*someOf >= all:
			l.report(now, loss.words, false, "at least one in a hundred"+of+": "+loss.hint)
		case 2*n*someOf < all:
			l.reportEnd(now, loss.words, "hardly any"+of)
		}
	}
}

// loss is a way to lose records, and where to look for its cause.
type loss struct {
	words    string
	outcomes []Outcome
	hint     string
}

// of returns how many records have met the loss.
func (l *loss) of(f *Outcomes) (n uint64) {
	for _, outcome := range l.outcomes {
		n += f.n[outcome]
	}
	return n
}

// losses returns every way to lose records.
func (l *Losses) losses() []loss {
	r := &l.rules
	unit := fmt.Sprintf("check events.fields.time (%s) and events.time_unit (%s)", r.TimeField,
		cmp.Or(r.TimeUnit, "as the schema says"))
	behind := "their append times"
	if r.Trust == deployment.TrustProducer {
		behind = "the times of their records, or of earlier records of their partition"
	}
	return []loss{
		{"are late", []Outcome{Late},
			fmt.Sprintf("their times are behind %s by more than time.lateness (%v); %s", behind, r.Lateness, unit)},
		{"have no timestamp of Kafka (-1)", []Outcome{Unstamped},
			"time.trust: producer needs it: have the producers write it"},
		{"are of the future", []Outcome{Future},
			fmt.Sprintf("a producer's clock may be ahead by more than time.skew (%v); %s", r.Skew, unit)},
		{"are before the start of the deployment", []Outcome{BeforeStart},
			fmt.Sprintf("it is %s; %s", clockTime(r.Start), unit)},
		{"came after their turn was closed", []Outcome{Overtaken},
			fmt.Sprintf("a partition was silent for longer than time.idle_grace (%v), or its records are further "+
				"behind than before", r.IdleGrace)},
		{"are dead-lettered", []Outcome{DeadLettered},
			fmt.Sprintf("topic %s has them, with the reason in the header tollgate-class", r.DeadLetter)},
	}
}

func (l *Losses) report(now time.Time, words string, most bool, text string) {
	t := l.reported[words]
	if t == nil {
		t = &lasting{since: now}
		l.reported[words] = t
	}
	if most && !t.most {
		t.Repeat, t.most = Repeat{}, true
	}
	if t.Due(now) {
		l.log.Warn(text)
	}
}

// reportEnd logs the end of a loss that was logged.
func (l *Losses) reportEnd(now time.Time, words, text string) {
	if t := l.reported[words]; t != nil {
		delete(l.reported, words)
		l.log.Warn("resolved after " + now.Sub(t.since).Round(time.Second).String() + ": " + text)
	}
}
