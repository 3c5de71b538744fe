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
	"github.com/tollgate-dp/tollgate/schemas/event"
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

// Losses says coarsely what is wrong with the records while they are read: that more than half, or
// at least one in a hundred, of those of the last minute (of the last hour, where the minute has
// too few) have met an outcome; at once, again at growing intervals, and when it is over. No user
// id, no key, no count. It has no clock: its callers pass the time. Safe for concurrent use; a nil
// Losses takes everything and says nothing.
type Losses struct {
	rules LossRules
	log   *slog.Logger

	mu sync.Mutex
	stretch
	partitions map[int32]*stretch // those that this process reads
	pairs      recent             // the last hour before settled
	settled    time.Time          // when a turn was settled last
	all        Outcomes
	reported   map[string]*lasting // by the words of the finding
}

// NewLosses returns Losses that write to log. Check is to be called about once a second.
func NewLosses(rules LossRules, log *slog.Logger) *Losses {
	l := &Losses{rules: rules, log: log, stretch: newStretch(), partitions: map[int32]*stretch{}, reported: map[string]*lasting{}}
	l.pairs.slot = l.hour.slot
	return l
}

// EveryPartition is the partition of outcomes that are not of a single one.
const EveryPartition = -1

// Observe takes over what became of records of a partition that were read now for the first time,
// and empties f.
func (l *Losses) Observe(now time.Time, partition int32, f *Outcomes) {
	if l == nil || f.empty() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.beyond+f.counted > 0 {
		l.pairs.add(now, f)
		l.settled = now
	}
	l.stretch.add(now, f)
	l.all.add(f)
	if partition != EveryPartition {
		if l.partitions[partition] == nil {
			one := newStretch()
			l.partitions[partition] = &one
		}
		l.partitions[partition].add(now, f)
	}
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
	recent, span := l.last(now)
	l.some(now, &hour, minute.n[DeadLettered] > 0, l.most(now, &recent, span))
	l.ofPartitions(now)
}

// most logs the losses that more than half of the records, or one in a hundred, have met, and says
// whether one that more than half have met names dead letters.
func (l *Losses) most(now time.Time, f *Outcomes, span string) (dead bool) {
	all := f.read()
	of := " of the records read in the last " + span + " "
	for _, loss := range l.losses() {
		n := loss.of(f)
		switch {
		case 2*n > all:
			dead = loss.outcomes[0] == DeadLettered
			l.report(now, loss.words, "more than half"+of+loss.words+l.where(f, loss, n))
			delete(l.reported, "some "+loss.words)
			continue
		case 4*n < all:
			l.reportEnd(now, loss.words, "less than a quarter"+of+loss.words)
		}
		switch some := "some " + loss.words; {
		case loss.outcomes[0] == DeadLettered: // method some
		case n >= leastRecords && n*someOf >= all:
			l.report(now, some, "at least one in a hundred"+of+loss.words+l.where(f, loss, n))
		case 2*n*someOf < all:
			l.reportEnd(now, some, "hardly any"+of+loss.words)
		}
	}
	return dead
}

// ofPartitions logs the losses that one in a hundred records of a partition have met, unless the
// same is said of all partitions.
func (l *Losses) ofPartitions(now time.Time) {
	latest := map[int32]*Outcomes{}
	for id, s := range l.partitions {
		f, _ := s.last(now)
		latest[id] = &f
	}
	for _, loss := range l.losses() {
		var all Outcomes
		var lossy []string
		over, words := true, "partition "+loss.words
		for _, id := range slices.Sorted(maps.Keys(latest)) {
			f := latest[id]
			n := loss.of(f)
			over = over && 2*n*someOf < f.read()
			if n >= leastRecords && n*someOf >= f.read() {
				all.add(f)
				lossy = append(lossy, fmt.Sprint(id))
			}
		}
		switch {
		case l.reported[loss.words] != nil || l.reported["some "+loss.words] != nil || loss.outcomes[0] == DeadLettered:
		case len(lossy) > 0:
			l.report(now, words, "at least one in a hundred of the latest records of partition "+strings.Join(lossy, ", ")+" "+loss.words+l.where(&all, loss, loss.of(&all)))
		case over:
			l.reportEnd(now, words, "hardly any of the latest records of a partition "+loss.words)
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
	unit := fmt.Sprintf("events.fields.time (%s) or events.time_unit (%s) is wrong", r.TimeField, cmp.Or(r.TimeUnit, "as the schema says"))
	late := fmt.Sprintf("their times are behind their append times. Possible causes: events come later than time.lateness (%v) allows; old events are written only now (with append times they are never counted); %s", r.Lateness, unit)
	if r.Trust == deployment.TrustProducer {
		late = fmt.Sprintf("their times are behind the times of their records, or an earlier record in their partition has a later time. Possible causes: events come later than time.lateness (%v) allows; %s", r.Lateness, unit)
	}
	overtaken := fmt.Sprintf("possible causes: a partition was silent for longer than time.idle_grace (%v); a clock was set", r.IdleGrace)
	if r.Trust == deployment.TrustProducer {
		overtaken = fmt.Sprintf("possible causes: the delay of records grew by more than time.skew (%v) + time.idle_grace (%v), or they are more than a day old. Closed windows stay closed, so records are lost until the stream has caught up with the clock", r.Skew, r.IdleGrace)
	}
	return []loss{
		{"are late", []Outcome{Late, Disordered}, late},
		{
			"have no timestamp of Kafka (-1)", []Outcome{Unstamped},
			"time.trust: producer needs it. Have the producers write it, or begin a deployment with time.trust: broker",
		},
		{"are of the future", []Outcome{Future}, fmt.Sprintf("possible causes: a producer's clock is ahead by more than time.skew (%v); %s", r.Skew, unit)},
		{
			"are before the start of the deployment", []Outcome{BeforeStart},
			fmt.Sprintf("tollgate init --start has set it to %s. Possible causes: these events are older; %s", clockTime(r.Start), unit),
		},
		{"came after their turn was closed", []Outcome{Overtaken}, overtaken},
		{"are dead-lettered", []Outcome{DeadLettered}, ""},
	}
}

// where says where to look for the cause of a loss of n records.
func (l *Losses) where(f *Outcomes, loss loss, n uint64) string {
	if loss.outcomes[0] == DeadLettered {
		return l.classes(f)
	}
	text := ""
	for i, d := range distances {
		var far uint64
		for _, outcome := range loss.outcomes {
			far += f.far[outcome][i]
		}
		if 2*far > n {
			text = fmt.Sprintf(", most of these by more than %s", d.text)
			break
		}
	}
	if loss.outcomes[0] == Late && 2*f.n[Disordered] > n {
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
func (l *Losses) classes(f *Outcomes) string {
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
	text = fmt.Sprintf("%s (topic %s has them, with the reason in the header tollgate-class)", text, l.rules.DeadLetter)
	if slices.Contains(names, event.ClassBadValue) {
		text += "; statistics are only of the values that can be read"
	}
	return text
}

// some logs dead letters that are not more than half of the records: some again and again, a few
// once. fresh says that some were read lately, more that more was said of them.
func (l *Losses) some(now time.Time, f *Outcomes, fresh, more bool) {
	const some, few = "some are dead-lettered", "a few are dead-lettered"
	n := f.n[DeadLettered]
	if more {
		delete(l.reported, some)
		delete(l.reported, few)
		return
	}
	switch level := DeadLetterLevel(n, f.read()); {
	case fresh && level == DeadSome:
		delete(l.reported, few)
		l.report(now, some, "some records are dead-lettered"+l.classes(f))
	case l.reported[some] != nil && 2*n*someOf >= f.read():
	case l.reported[some] != nil && level == DeadFew:
		l.reportEnd(now, some, "a few records are dead-lettered now, fewer than one in a hundred")
		l.reported[few] = &lasting{since: now}
	case l.reported[some] != nil:
		l.reportEnd(now, some, "hardly any record is dead-lettered now")
	case fresh && level == DeadFew && l.reported[few] == nil:
		l.report(now, few, "a few records are dead-lettered, fewer than one in a hundred"+l.classes(f))
	case 4*n < leastRecords:
		l.reportEnd(now, few, "hardly any record is dead-lettered now")
	}
}

func (l *Losses) report(now time.Time, words, text string) {
	t := l.reported[words]
	if t == nil {
		t = &lasting{since: now}
		l.reported[words] = t
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
