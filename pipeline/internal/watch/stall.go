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
	// StallAfter is how long a stall must last before it is logged. StallMost is the maximum
	// interval between two messages about the same stall.
	StallAfter = 30 * time.Second
	StallMost  = 10 * time.Minute
	// stallFresh is how long a progress report by READ is useful. READ polls several times a
	// second, unless it waits for something else; that wait is logged instead.
	stallFresh = 5 * time.Second
)

// Partition is READ's progress on one partition. It explains why no turn closes.
type Partition struct {
	ID int32
	// Next is the next offset to read. High is the end of the partition. LastStable is the start of
	// the first open transaction, or High if there is none.
	Next, High, LastStable int64
	// RequestedAt is when the request of the last response was sent, in Unix milliseconds.
	RequestedAt int64
	HeldBack    bool // the next turn cannot close until READ advances on this partition
	// AppendTime is the append time of the last record read, in Unix milliseconds. It is
	// calendar.Never if no record was read or the topic does not have append times.
	AppendTime int64
	// SilentFrom is when READ received the last record that stops the clock from closing windows
	// for the partition, in Unix milliseconds; calendar.Never: none. Delay is how far the clock is
	// set back for the partition.
	SilentFrom int64
	Delay      time.Duration
}

// Progress is READ's progress at one moment.
type Progress struct {
	Partitions []Partition // those of which a fetch has returned a response
	End        int64       // of the next turn to close, in Unix milliseconds; calendar.Forever: none
	// Delay is how far the records were behind the clock when the last turn was closed. It is used
	// for partitions whose own delay is unknown.
	Delay    time.Duration
	Open     uint64    // turn that was opened and is not settled; 0: none
	OpenedAt time.Time // when turn Open was opened
	Worked   time.Time // when a stage last worked on an open turn
	Result   int64     // end of the first metric window without released counts, in Unix milliseconds
	Closed   bool      // the turn that ends at Result is closed
	// Behind is the earliest append time of a last record read, over the partitions that READ has
	// not read to their ends or that delay the turn, in Unix milliseconds; calendar.Forever: none.
	Behind int64
}

// Rules are the waits that a deployment's time settings cause, which are not stalls.
type Rules struct {
	topic                        string
	lateness, slack, skew, grace time.Duration
	idle                         bool // the clock closes windows if a partition is silent
	publishEvery                 time.Duration
	stallAfter                   time.Duration // how long a stall must last before it is logged; 0: StallAfter
}

// WithStallAfter returns the rules with d in place of StallAfter, unless d is 0.
func (r Rules) WithStallAfter(d time.Duration) Rules {
	r.stallAfter = d
	return r
}

// RulesOf returns a deployment's rules for a run. In a bounded run the clock closes no windows.
func RulesOf(d *deployment.Deployment, bounded bool) Rules {
	t := &d.Config.Time
	return Rules{
		topic:    d.Config.Events.Topic,
		lateness: t.Lateness, slack: t.Slack, skew: t.Skew, grace: t.IdleGrace, idle: !bounded,
		publishEvery: d.Config.Outputs.PublishEvery,
	}
}

// stallKind is a cause of stalls. Its value is the message that is logged when the stall is over.
type stallKind string

const (
	stallNone        stallKind = ""
	stallCluster     stallKind = "Kafka answers properly again"
	stallTransaction stallKind = "an open transaction no longer blocks turns"
	stallSilent      stallKind = "a silent partition no longer delays turns"
	stallOpen        stallKind = "the run is working on its turns again"
)

// Stalls logs stalls with their causes and remedies: after half a minute, again at growing
// intervals, and when they are over. It finds them from READ's progress and from calls that the
// client cannot complete. Callers pass the current time. Stalls is safe for concurrent use. On a
// nil Stalls, Due and ObserveWork do nothing.
type Stalls struct {
	rules Rules
	log   *slog.Logger

	mu       sync.Mutex
	seen     Progress
	seenAt   time.Time
	worked   time.Time
	held     map[int32]heldPartition
	reported map[stallKind]*condition
	away     brokers
}

// heldPartition is a partition that a turn waits for. It holds the cause, READ's position, and when
// either of them last changed.
type heldPartition struct {
	kind  stallKind
	mark  int64
	since time.Time
}

// lasting is a condition that lasts, a stall or a loss, and when it began.
type condition struct {
	Repeat
	since    time.Time
	overHalf bool // the loss was logged as more than half of the records
}

// New returns a Stalls. Start updates it about once a second.
func New(rules Rules, log *slog.Logger) *Stalls {
	rules.stallAfter = cmp.Or(rules.stallAfter, StallAfter)
	return &Stalls{rules: rules, log: log, held: map[int32]heldPartition{}, reported: map[stallKind]*condition{},
		away: newBrokers(log)}
}

// Due reports whether a second has passed since the last call of Observe.
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

// ObserveWork records that a stage worked on the open turn at now. Such work may take long without
// being stalled.
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

// Observed returns READ's last progress and when Observe recorded it.
func (s *Stalls) Observed() (Progress, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.seen
	p.Worked = s.worked
	return p, s.seenAt
}

// Check logs each stall for which a message is due, except those that brokers cause.
func (s *Stalls) Check(now time.Time) { s.update(now, nil, nil) }

// update logs each stall for which a message is due. troubles are the client's, with the longest
// first. away are the brokers that the client cannot reach.
func (s *Stalls) update(now time.Time, troubles []kafkalog.Trouble, away []kafkalog.Away) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// While the cluster stalls, repeated messages about it name its brokers.
	s.away.update(now, away, s.reported[stallCluster] != nil)
	switch {
	case len(troubles) > 0 && now.Sub(troubles[0].Since) >= s.rules.stallAfter:
		t := troubles[0]
		text := fmt.Sprintf("%s: %v", t.Doing, t.Cause)
		// A newer call may have failed for another reason, at the leader that replaced a dead one.
		for _, newer := range troubles[1:] {
			if newer.Cause != nil && !strings.Contains(text, newer.Cause.Error()) {
				text += fmt.Sprintf("; %s: %v", newer.Doing, newer.Cause)
			}
		}
		s.report(now, stallCluster, t.Since, "Kafka has not answered properly since %s: %s", clockTime(t.Since), text)
		return // other stalls cannot be detected now
	case len(troubles) > 0 && s.reported[stallCluster] != nil:
		return // the logged trouble is over, but another one is not
	}
	s.reportEnd(now, stallCluster)
	if s.seenAt.IsZero() {
		return
	}
	if opened := s.seen.OpenedAt; s.seen.Open > 0 && now.Sub(opened) >= s.rules.stallAfter+s.rules.publishEvery &&
		now.Sub(s.worked) >= s.rules.stallAfter {
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
	// Until then, records of the turn may still arrive.
	overdue := s.seen.End < calendar.Forever && now.UnixMilli() >=
		s.seen.End+(s.rules.lateness+s.rules.slack).Milliseconds()
	held, stalled := map[int32]heldPartition{}, map[stallKind]bool{}
	end := clockTime(time.UnixMilli(s.seen.End))
	for _, p := range s.seen.Partitions {
		kind, mark := p.stallCause()
		if kind == stallNone || !overdue {
			continue
		}
		h := s.held[p.ID]
		if h.kind != kind || h.mark != mark {
			h = heldPartition{kind: kind, mark: mark, since: now}
		}
		held[p.ID] = h
		if now.Sub(h.since) < s.rules.stallAfter || stalled[kind] {
			continue
		}
		stalled[kind] = true // one message covers all partitions with the same cause
		subject := fmt.Sprintf("partition %d of topic %s is", p.ID, s.rules.topic)
		if kind == stallTransaction {
			s.report(now, kind, h.since, "%s blocked by an open transaction, so the windows that ended at %s wait: if "+
				"its producer does not return, abort it with kafka-transactions.sh", subject, end)
			continue
		}
		until := "it has records again"
		if s.rules.idle {
			until = clockTime(time.UnixMilli(s.rules.closesByClock(&s.seen)))
		}
		s.report(now, kind, h.since, "%s silent, so the windows that ended at %s wait until %s: check that the "+
			"producers are up", subject, end, until)
	}
	s.held = held
	for _, kind := range []stallKind{stallTransaction, stallSilent} {
		if !stalled[kind] {
			s.reportEnd(now, kind)
		}
	}
}

// stallCause returns why the next turn waits for a partition, and READ's position there. The turn
// is stalled while that position does not change.
func (p *Partition) stallCause() (stallKind, int64) {
	switch {
	case !p.HeldBack:
		return stallNone, 0
	case p.LastStable < p.High && p.Next >= p.LastStable:
		return stallTransaction, p.LastStable
	case p.Next >= p.High:
		return stallSilent, p.Next
	}
	return stallNone, 0 // READ has records to read
}

// report logs a stall if a message about it is due.
func (s *Stalls) report(now time.Time, kind stallKind, since time.Time, format string, args ...any) {
	t := s.reported[kind]
	if t == nil {
		t = &condition{since: since}
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

// closesByClock returns when the clock will close the next turn if all partitions that hold the
// turn back stay silent, in Unix milliseconds.
func (r *Rules) closesByClock(seen *Progress) int64 {
	byClock := seen.End + (r.lateness + r.skew + r.grace).Milliseconds() + seen.Delay.Milliseconds()
	due := byClock
	for _, p := range seen.Partitions {
		if p.HeldBack && p.SilentFrom != calendar.Never {
			due = max(due, p.SilentFrom+r.grace.Milliseconds(), byClock+p.Delay.Milliseconds())
		}
	}
	return due
}

func clockTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
