package watch

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
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
	// stallFresh is how old READ's knowledge may be to be judged by: READ polls
	// several times a second unless it waits for something else, which is logged
	// instead.
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

// stallKind is a reason not to move.
type stallKind int

const (
	stallNone stallKind = iota
	stallCluster
	stallTransaction
	stallSilent
	stallOpen
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
	since      time.Time
	partitions []int32 // stalled partitions
	most       bool    // more than half of the records were lost
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
func (s *Stalls) ObserveWork(at time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.After(s.worked) {
		s.worked = at
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
		s.report(now, stallCluster, troubles[0].Since, nil, s.clusterText(troubles))
		return // nothing else can be known
	case len(troubles) > 0 && s.reported[stallCluster] != nil:
		return // a trouble is over, but Kafka has not answered all requests since it was logged
	}
	s.reportEnd(now, stallCluster, "Kafka answers properly again")
	if s.seenAt.IsZero() {
		return
	}
	s.updateOpen(now)
	if now.Sub(s.seenAt) < stallFresh {
		s.updatePartitions(now)
	}
}

func (s *Stalls) updateOpen(now time.Time) {
	if at := s.seen.OpenedAt; s.seen.Open > 0 && now.Sub(at) >= s.rules.after+s.rules.publishEvery &&
		now.Sub(s.worked) >= s.rules.after {
		s.report(now, stallOpen, at, nil,
			fmt.Sprintf("turn %d was opened at %s and is not settled: check whether this machine, a worker or a "+
				"broker is overloaded or full", s.seen.Open, clockTime(at)))
		return
	}
	if s.seen.Open > 0 {
		s.reportEnd(now, stallOpen, fmt.Sprintf("the run is working on turn %d again", s.seen.Open))
		return
	}
	s.reportEnd(now, stallOpen, "turns are settled again")
}

func (s *Stalls) updatePartitions(now time.Time) {
	// Until then the turn may just be filling up.
	overdue := s.seen.End < calendar.Forever && now.UnixMilli() >=
		s.seen.End+(s.rules.lateness+s.rules.slack).Milliseconds()
	long := map[stallKind][]int32{}
	since := map[stallKind]time.Time{}
	present := map[int32]bool{}
	for _, p := range s.seen.Partitions {
		kind, mark := p.why()
		if kind == stallNone || !overdue {
			continue
		}
		present[p.ID] = true
		was := s.held[p.ID]
		if was.kind != kind || was.mark != mark {
			was = heldPartition{kind: kind, mark: mark, since: now}
			s.held[p.ID] = was
		}
		if now.Sub(was.since) >= s.rules.after {
			long[kind] = append(long[kind], p.ID)
			if at, ok := since[kind]; !ok || was.since.Before(at) {
				since[kind] = was.since
			}
		}
	}
	for id := range s.held {
		if !present[id] {
			delete(s.held, id)
		}
	}
	for _, kind := range []stallKind{stallTransaction, stallSilent} {
		if len(long[kind]) > 0 {
			s.report(now, kind, since[kind], long[kind], s.waitingText(kind, long[kind]))
		} else if t := s.reported[kind]; t != nil {
			s.reportEnd(now, kind, partitionsText(t.partitions, s.rules.topic)+" no longer waited for")
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

// report warns of a stall that is new, concerns more partitions than before, or was not logged for
// long.
func (s *Stalls) report(now time.Time, kind stallKind, since time.Time, partitions []int32, text string) {
	t := s.reported[kind]
	more := t != nil && slices.ContainsFunc(partitions, func(id int32) bool {
		return !slices.Contains(t.partitions, id)
	})
	if t == nil {
		t = &lasting{since: since}
		s.reported[kind] = t
	}
	if !t.Due(now) && !more {
		return
	}
	for _, id := range partitions {
		if !slices.Contains(t.partitions, id) {
			t.partitions = append(t.partitions, id)
		}
	}
	slices.Sort(t.partitions)
	s.log.Warn("no progress for " + now.Sub(since).Round(time.Second).String() + ": " + text)
}

// reportEnd logs the end of a stall that was logged.
func (s *Stalls) reportEnd(now time.Time, kind stallKind, text string) {
	t := s.reported[kind]
	if t == nil {
		return
	}
	delete(s.reported, kind)
	s.log.Warn(text + ", after " + now.Sub(t.since).Round(time.Second).String())
}

func (s *Stalls) clusterText(troubles []kafkalog.Trouble) string {
	text := fmt.Sprintf("Kafka has not answered properly since %s: %s: %v", clockTime(troubles[0].Since),
		troubles[0].Doing, troubles[0].Cause)
	// A retry inside a call has a newer trouble of its own: an append to a dead leader first looks
	// for its records, and the new leader may fail for another reason.
	causes := map[string]bool{fmt.Sprint(troubles[0].Cause): true}
	for _, t := range troubles[1:] {
		if cause := fmt.Sprint(t.Cause); t.Cause != nil && !causes[cause] && len(causes) < 3 {
			causes[cause] = true
			text += fmt.Sprintf("; %s: %v", t.Doing, t.Cause)
		}
	}
	if len(troubles) > len(causes) {
		text += "; other calls are also waiting"
	}
	return text
}

func (s *Stalls) waitingText(kind stallKind, ids []int32) string {
	who, end := partitionsText(ids, s.rules.topic), clockTime(time.UnixMilli(s.seen.End))
	if kind == stallTransaction {
		return fmt.Sprintf("%s blocked by an open transaction, so the windows that ended at %s wait: if its producer "+
			"does not return, abort it with kafka-transactions.sh", who, end)
	}
	until := "it has records again"
	if s.rules.idle {
		until = clockTime(time.UnixMilli(s.rules.closesByClock(&s.seen))) +
			", when time.idle_grace ends and the clock decides"
	}
	return fmt.Sprintf("%s silent, so the windows that ended at %s wait until %s: check that the producers are up", who,
		end, until)
}

// closesByClock returns when the clock will have closed the next turn for all partitions that hold
// it back, should they stay silent. Unix milliseconds.
func (r *Rules) closesByClock(seen *Progress) int64 {
	clock := seen.End + (r.lateness + r.skew + r.grace).Milliseconds() + seen.Delay.Milliseconds()
	at := clock
	for _, p := range seen.Partitions {
		if p.HeldBack && p.SilentFrom != calendar.Never {
			at = max(at, p.SilentFrom+r.grace.Milliseconds(), clock+p.Delay.Milliseconds())
		}
	}
	return at
}

// partitionsText names partitions, with the verb that follows.
func partitionsText(ids []int32, topic string) string {
	const most = 10
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, fmt.Sprint(id))
	}
	list := strings.Join(names, ", ")
	switch {
	case len(ids) == 1:
		return fmt.Sprintf("partition %s of topic %s is", list, topic)
	case len(ids) > most:
		list += " and others"
	}
	return fmt.Sprintf("partitions %s of topic %s are", list, topic)
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
