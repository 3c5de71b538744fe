package pipeline

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/klog"
)

const (
	// stallAfter is how long something may not move before it is told, and
	// stallMost how long at the most until it is told again.
	stallAfter = 30 * time.Second
	stallMost  = 10 * time.Minute
	// stallFresh is how old READ's knowledge may be to be judged by: it polls
	// several times a second unless it waits for something else, which is told
	// instead.
	stallFresh = 5 * time.Second
)

// lane is what READ knows of a partition, to tell why no turn closes.
type lane struct {
	id                     int32
	next, high, lastStable int64
	behind                 bool // the turn that is to be closed next waits for it
}

// progress is what READ knows at a time.
type progress struct {
	lanes    []lane // of which something was fetched
	end      int64  // of the turn that is to be closed next; forever when none is
	open     uint64 // the turn that was opened and is not settled; 0 none
	openedAt time.Time
}

// stallRules are what a deployment expects of time, to tell waiting that belongs
// to it from a stall.
type stallRules struct {
	topic                        string
	broker                       string // for commands in texts
	lateness, slack, skew, grace time.Duration
	idle                         bool // the clock can stand in for a silent partition
	publishEvery                 time.Duration
	limit                        time.Duration // RunOptions.StallLimit
}

func stallRulesOf(d *Deployment, o RunOptions) stallRules {
	t := &d.Config.Time
	return stallRules{
		topic: d.Config.Events.Topic, broker: d.Config.Kafka.Brokers[0],
		lateness: t.Lateness, slack: t.Slack, skew: t.Skew, grace: t.IdleGrace, idle: !o.Bounded,
		publishEvery: d.Config.Outputs.PublishEvery, limit: o.StallLimit,
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

// stalls tells, by what READ knows and by what the client cannot get done, that
// nothing moves, why, and what to do: after half a minute, again at growing
// intervals, and when it is over. It has no clock: whoever calls it has. Safe for
// concurrent use; a nil one tells nothing.
type stalls struct {
	rules stallRules
	log   *slog.Logger

	mu     sync.Mutex
	seen   progress
	seenAt time.Time
	held   map[int32]heldLane
	told   map[stallKind]*told
}

// heldLane is a partition that is waited for: why, where it stands, since when.
type heldLane struct {
	kind  stallKind
	mark  int64
	since time.Time
}

// told is a stall that was told.
type told struct {
	since, next time.Time
	pause       time.Duration
	lanes       []int32
}

func newStalls(rules stallRules, log *slog.Logger) *stalls {
	return &stalls{rules: rules, log: log, held: map[int32]heldLane{}, told: map[stallKind]*told{}}
}

// wants says whether READ's knowledge is to be heard again.
func (s *stalls) wants(now time.Time) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Sub(s.seenAt) >= time.Second
}

// see hears what READ knows now.
func (s *stalls) see(now time.Time, p progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.seenAt = p, now
}

// tick tells what there is to tell now. troubles are the client's, the longest first.
func (s *stalls) tick(now time.Time, troubles []klog.Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(troubles) > 0 && now.Sub(troubles[0].Since) >= stallAfter:
		s.tell(now, stallCluster, troubles[0].Since, nil, s.clusterText(troubles))
		return // nothing else can be known
	case len(troubles) > 0 && s.told[stallCluster] != nil:
		return // something is over, but Kafka has not answered all since that was told
	}
	s.over(now, stallCluster, "Kafka lets this run go on again")
	if s.seenAt.IsZero() {
		return
	}
	s.tickOpen(now)
	if now.Sub(s.seenAt) < stallFresh {
		s.tickLanes(now)
	}
}

func (s *stalls) tickOpen(now time.Time) {
	if at := s.seen.openedAt; s.seen.open > 0 && now.Sub(at) >= stallAfter+s.rules.publishEvery {
		s.tell(now, stallOpen, at, nil, fmt.Sprintf("turn %d was opened at %s and is not settled: is this machine or a broker too slow or too full? After %s without settlement the run takes a new epoch by itself",
			s.seen.open, clockTime(at), s.rules.limit))
		return
	}
	s.over(now, stallOpen, "turns are settled again")
}

func (s *stalls) tickLanes(now time.Time) {
	// Until then the turn may just be filling up.
	overdue := s.seen.end < forever && now.UnixMilli() >= s.seen.end+(s.rules.lateness+s.rules.slack).Milliseconds()
	long := map[stallKind][]int32{}
	since := map[stallKind]time.Time{}
	present := map[int32]bool{}
	for _, l := range s.seen.lanes {
		kind, mark := l.why()
		if kind == stallNone || !overdue {
			continue
		}
		present[l.id] = true
		was := s.held[l.id]
		if was.kind != kind || was.mark != mark {
			was = heldLane{kind: kind, mark: mark, since: now}
			s.held[l.id] = was
		}
		if now.Sub(was.since) >= stallAfter {
			long[kind] = append(long[kind], l.id)
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
			s.tell(now, kind, since[kind], long[kind], s.laneText(kind, long[kind]))
		} else if t := s.told[kind]; t != nil {
			s.over(now, kind, partitionsText(t.lanes, s.rules.topic)+" no longer waited for")
		}
	}
}

// why says why the turn that is to be closed next waits for a partition, and
// where it stands: as long as that does not move, it is stuck.
func (l *lane) why() (stallKind, int64) {
	switch {
	case !l.behind:
		return stallNone, 0
	case l.lastStable < l.high && l.next >= l.lastStable:
		return stallTransaction, l.lastStable
	case l.next >= l.high:
		return stallSilent, l.next
	}
	return stallNone, 0 // it is being read
}

// tell warns of a stall that is new, has got more partitions, or was not told for
// long.
func (s *stalls) tell(now time.Time, kind stallKind, since time.Time, lanes []int32, text string) {
	t := s.told[kind]
	more := t != nil && slices.ContainsFunc(lanes, func(id int32) bool { return !slices.Contains(t.lanes, id) })
	switch {
	case t == nil:
		t = &told{since: since, pause: stallAfter}
		s.told[kind] = t
	case now.Before(t.next) && !more:
		return
	}
	if t.next.IsZero() || !now.Before(t.next) {
		t.pause = min(2*t.pause, stallMost)
		t.next = now.Add(t.pause)
	}
	for _, id := range lanes {
		if !slices.Contains(t.lanes, id) {
			t.lanes = append(t.lanes, id)
		}
	}
	slices.Sort(t.lanes)
	s.log.Warn("no progress for " + now.Sub(since).Round(time.Second).String() + ": " + text)
}

// over tells the end of a stall that was told.
func (s *stalls) over(now time.Time, kind stallKind, text string) {
	t := s.told[kind]
	if t == nil {
		return
	}
	delete(s.told, kind)
	s.log.Warn(text + ", after " + now.Sub(t.since).Round(time.Second).String())
}

func (s *stalls) clusterText(troubles []klog.Trouble) string {
	text := fmt.Sprintf("Kafka does not answer as it should since %s: %s: %v", clockTime(troubles[0].Since), troubles[0].Doing, troubles[0].Cause)
	if len(troubles) > 1 {
		text += "; other calls wait, too"
	}
	return text
}

func (s *stalls) laneText(kind stallKind, ids []int32) string {
	who, end := partitionsText(ids, s.rules.topic), clockTime(time.UnixMilli(s.seen.end))
	if kind == stallTransaction {
		return fmt.Sprintf("%s held back by an open transaction, and the windows that ended at %s wait for it: a producer has neither committed nor aborted; "+
			"kafka-transactions.sh --bootstrap-server %s list shows it, abort ends it", who, end, s.rules.broker)
	}
	until := "it has a record again"
	if s.rules.idle {
		closes := s.seen.end + (s.rules.lateness + s.rules.skew + s.rules.grace).Milliseconds()
		until = clockTime(time.UnixMilli(closes)) + ", when time.idle_grace lets the clock stand in"
	}
	return fmt.Sprintf("%s silent, and the windows that ended at %s wait until %s: is a producer down? Where silence is usual, lower time.idle_grace", who, end, until)
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

// tellStalls hands over what READ knows, about once a second.
func (r *reader) tellStalls(settled uint64) {
	now := time.Now()
	if !r.stalls.wants(now) {
		return
	}
	p := progress{end: forever}
	next := r.closed + 1
	if !r.lastKnown || next <= r.last {
		p.end = r.fates.turns.end(next)
	}
	if r.opened > settled {
		p.open, p.openedAt = r.opened, r.openedAt
	}
	spec := r.dep.Metrics[0].Spec
	for _, of := range r.partitions {
		if of.fetched {
			p.lanes = append(p.lanes, lane{id: of.id, next: of.next, high: of.high, lastStable: of.lastStable, behind: of.watermark(spec) < p.end})
		}
	}
	r.stalls.see(now, p)
}
