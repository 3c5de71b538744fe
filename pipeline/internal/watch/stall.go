package watch

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

const (
	// StallAfter is how long nothing may move before it is logged, and StallMost how
	// long at the most until it is logged again.
	StallAfter = 30 * time.Second
	StallMost  = 10 * time.Minute
	// stallFresh is how old READ's knowledge may be to be judged by: READ polls several times a
	// second unless it waits for something else, which is logged instead.
	stallFresh = 5 * time.Second
)

// Partition is what READ knows of a partition, to explain why no turn closes.
type Partition struct {
	ID int32
	// Next is the next offset to read. High is the partition's end, LastStable the first
	// offset that an open transaction hides, or High.
	Next, High, LastStable int64
	// Asked is when the last response was requested from the broker, Unix milliseconds: later
	// appends are unknown.
	Asked    int64
	HeldBack bool // the turn that is to be closed next waits for the partition
	// AppendTime is the append time of the last record read, Unix milliseconds; calendar.Never if
	// none was read or the topic has no append times.
	AppendTime int64
	// SilentFrom is the time of the last record that keeps the clock from closing windows for the
	// partition, Unix milliseconds; calendar.Never if there is none. Delay is by how much the clock
	// is set back for the partition.
	SilentFrom int64
	Delay      time.Duration
}

// Progress is what READ knows at a time.
type Progress struct {
	Partitions []Partition // those that were fetched from
	End        int64       // end of the turn to be closed next, Unix milliseconds; calendar.Forever if there is none
	// Delay is by how much the records were behind the clock when the last turn was closed: as far
	// as nothing is known of the partitions, the next turn is due so much later.
	Delay    time.Duration
	Open     uint64    // the turn that was opened and is not settled; 0 for none
	OpenedAt time.Time // when Open was opened
	Worked   time.Time // when a stage was last seen at work on an open turn
	Result   int64     // the end of the next metric window whose counts are not released
	Closed   bool      // the turn of that end is closed: its counts are under way
	// earliest append time read on a partition that is not at its end, or whose records are behind
	// the clock; calendar.Forever for none
	Behind int64
}

// Rules are the waits that a deployment's rules of time allow, which are not stalls.
type Rules struct {
	topic                        string
	lateness, slack, skew, grace time.Duration
	idle                         bool // whether the clock closes windows for a silent partition
	publishEvery                 time.Duration
	after                        time.Duration // how long nothing may move before it is logged; 0: StallAfter
}

// After replaces StallAfter, unless it is 0.
func (r Rules) After(d time.Duration) Rules {
	r.after = d
	return r
}

// RulesOf returns the rules of a deployment, for a run that is bounded or not.
func RulesOf(d *deployment.Deployment, bounded bool) Rules {
	t := &d.Config.Time
	return Rules{
		topic:    d.Config.Events.Topic,
		lateness: t.Lateness, slack: t.Slack, skew: t.Skew, grace: t.IdleGrace, idle: !bounded,
		publishEvery: d.Config.Outputs.PublishEvery,
	}
}

// stallKind is a reason not to move: what is logged when it is over.
type stallKind string

const (
	stallNone        stallKind = ""
	stallCluster     stallKind = "Kafka answers properly again"
	stallTransaction stallKind = "no open transaction is waited for"
	stallSilent      stallKind = "no silent partition is waited for"
	stallOpen        stallKind = "the run is working on its turns again"
)

// Stalls logs, from READ's progress and from calls that the client cannot complete, that
// nothing moves, why, and what to do: after half a minute, again at growing
// intervals, and when it is over. It has no clock: its callers pass the time. Safe for
// concurrent use; Due of a nil Stalls is false, so that nothing is logged.
type Stalls struct {
	rules Rules
	log   *slog.Logger

	mu       sync.Mutex
	seen     Progress
	seenAt   time.Time
	worked   time.Time
	held     map[int32]heldPartition
	reported map[stallKind]*lasting
	away     brokers
}

// heldPartition is a partition that a turn waits for: the reason, its position, and since when.
type heldPartition struct {
	kind  stallKind
	mark  int64
	since time.Time
}

// lasting is a stall or loss that was logged, and since when it lasts.
type lasting struct {
	Repeat
	since time.Time
	most  bool // more than half of the records were lost
}

// New returns Stalls that write to log. Start updates them about once a second.
func New(rules Rules, log *slog.Logger) *Stalls {
	rules.after = cmp.Or(rules.after, StallAfter)
	return &Stalls{rules: rules, log: log, held: map[int32]heldPartition{}, reported: map[stallKind]*lasting{},
		away: newBrokers(log)}
}

// Due returns whether Observe is due: a second has passed since the last call.
func (s *Stalls) Due(now time.Time) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.seenAt) >= time.Second
}

// Observe records READ's current progress.
func (s *Stalls) Observe(now time.Time, p Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.seenAt = p, now
}

// ObserveWork records that a stage worked on the open turn: it decided, released or wrote a part of
// it. A large turn takes long, and is not stuck.
func (s *Stalls) ObserveWork(now time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.After(s.worked) {
		s.worked = now
	}
}

// Observed returns what READ knew last, and when that was.
func (s *Stalls) Observed() (Progress, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.seen
	p.Worked = s.worked
	return p, s.seenAt
}

// Check logs the stalls that are due, except those of brokers, which only the client knows.
func (s *Stalls) Check(now time.Time) { s.update(now, nil, nil) }

// update logs the stalls that are due now. troubles are the client's, the longest first; away are
// the brokers that it cannot connect to.
func (s *Stalls) update(now time.Time, troubles []kafkalog.Trouble, away []kafkalog.Away) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// else nothing moves, which is logged again with the broker
	s.away.update(now, away, s.reported[stallCluster] != nil)
	switch {
	case len(troubles) > 0 && now.Sub(troubles[0].Since) >= s.rules.after:
		t := troubles[0]
		text := fmt.Sprintf("%s: %v", t.Doing, t.Cause)
		// The leader after one that has died may have another reason, in a newer call.
		for _, newer := range troubles[1:] {
			if newer.Cause != nil && !strings.Contains(text, newer.Cause.Error()) {
				text += fmt.Sprintf("; %s: %v", newer.Doing, newer.Cause)
			}
		}
		s.report(now, stallCluster, t.Since, "Kafka has not answered properly since %s: %s", clockTime(t.Since), text)
		return // nothing else can be known
	case len(troubles) > 0 && s.reported[stallCluster] != nil:
		return // a trouble is over, but Kafka has not answered all requests since it was logged
	}
	s.reportEnd(now, stallCluster)
	if s.seenAt.IsZero() {
		return
	}
	if opened := s.seen.OpenedAt; s.seen.Open > 0 && now.Sub(opened) >= s.rules.after+s.rules.publishEvery &&
		now.Sub(s.worked) >= s.rules.after {
		s.report(now, stallOpen, opened, "turn %d was opened at %s and is not settled: check whether this machine, "+
			"a worker or a broker is overloaded or full", s.seen.Open, clockTime(opened))
	} else {
		s.reportEnd(now, stallOpen)
	}
	if now.Sub(s.seenAt) < stallFresh {
		s.updatePartitions(now)
	}
}

func (s *Stalls) updatePartitions(now time.Time) {
	// Until then the turn may just be filling up.
	overdue := s.seen.End < calendar.Forever && now.UnixMilli() >=
		s.seen.End+(s.rules.lateness+s.rules.slack).Milliseconds()
	held, stalled := map[int32]heldPartition{}, map[stallKind]bool{}
	end := clockTime(time.UnixMilli(s.seen.End))
	for _, p := range s.seen.Partitions {
		kind, mark := p.why()
		if kind == stallNone || !overdue {
			continue
		}
		h := s.held[p.ID]
		if h.kind != kind || h.mark != mark {
			h = heldPartition{kind: kind, mark: mark, since: now}
		}
		held[p.ID] = h
		if now.Sub(h.since) < s.rules.after || stalled[kind] {
			continue
		}
		stalled[kind] = true // it stands for the others
		who := fmt.Sprintf("partition %d of topic %s is", p.ID, s.rules.topic)
		if kind == stallTransaction {
			s.report(now, kind, h.since, "%s blocked by an open transaction, so the windows that ended at %s wait: if "+
				"its producer does not return, abort it with kafka-transactions.sh", who, end)
			continue
		}
		until := "it has records again"
		if s.rules.idle {
			until = clockTime(time.UnixMilli(s.rules.closesByClock(&s.seen)))
		}
		s.report(now, kind, h.since, "%s silent, so the windows that ended at %s wait until %s: check that the "+
			"producers are up", who, end, until)
	}
	s.held = held
	for _, kind := range []stallKind{stallTransaction, stallSilent} {
		if !stalled[kind] {
			s.reportEnd(now, kind)
		}
	}
}

// why returns why the turn to be closed next waits for a partition, and the position there: as long
// as the position does not move, the turn is stuck.
func (p *Partition) why() (stallKind, int64) {
	switch {
	case !p.HeldBack:
		return stallNone, 0
	case p.LastStable < p.High && p.Next >= p.LastStable:
		return stallTransaction, p.LastStable
	case p.Next >= p.High:
		return stallSilent, p.Next
	}
	return stallNone, 0 // it is being read
}

// report warns of a stall that is new or was not logged for long.
func (s *Stalls) report(now time.Time, kind stallKind, since time.Time, format string, args ...any) {
	t := s.reported[kind]
	if t == nil {
		t = &lasting{since: since}
		s.reported[kind] = t
	}
	if t.Due(now) {
		lasts := now.Sub(since).Round(time.Second)
		s.log.Warn(fmt.Sprintf("no progress for %v: ", lasts) + fmt.Sprintf(format, args...))
	}
}

func (s *Stalls) reportEnd(now time.Time, kind stallKind) {
	if t := s.reported[kind]; t != nil {
		delete(s.reported, kind)
		s.log.Warn(string(kind) + ", after " + now.Sub(t.since).Round(time.Second).String())
	}
}

// closesByClock returns when the clock will have closed the next turn for all partitions that hold
// it back, should they stay silent. Unix milliseconds.
func (r *Rules) closesByClock(seen *Progress) int64 {
	clock := seen.End + (r.lateness + r.skew + r.grace).Milliseconds() + seen.Delay.Milliseconds()
	due := clock
	for _, p := range seen.Partitions {
		if p.HeldBack && p.SilentFrom != calendar.Never {
			due = max(due, p.SilentFrom+r.grace.Milliseconds(), clock+p.Delay.Milliseconds())
		}
	}
	return due
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
