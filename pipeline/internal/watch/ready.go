package watch

import (
	"fmt"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/calendar"
)

// notReadyAfter is how long a run without progress still counts as ready. Together with the
// intervals of checks and probes it is less than half a minute, and a supervisor may rely on that.
const notReadyAfter = 20 * time.Second

// Readiness decides whether a run is ready: a broker responds, READ advances, and turns are settled
// in time. Callers pass the current time. Readiness is not safe for concurrent use.
type Readiness struct {
	rules   Rules
	settled uint64
	since   time.Time // when turn settled was first seen as the last settled turn
	marks   map[int32]heldPartition
}

// NewReadiness returns a Readiness for a deployment with the given rules.
func NewReadiness(rules Rules) *Readiness {
	return &Readiness{rules: rules, marks: map[int32]heldPartition{}}
}

// Check returns the reason why the run is not ready, or "". seen is READ's progress at seenAt, and
// settled is the last settled turn. troubles are the client's, with the longest first.
func (r *Readiness) Check(now time.Time, seen Progress, seenAt time.Time, settled uint64,
	troubles []kafkalog.Trouble) string {
	if r.since.IsZero() || settled != r.settled {
		r.settled, r.since = settled, now
	}
	moving := r.moving(now, &seen) || now.Sub(seen.Worked) < notReadyAfter
	_, latest := r.rules.Closes(seen.Result)
	if due := time.UnixMilli(r.rules.closesByClock(&seen)); due.After(latest) {
		latest = due
	}
	switch {
	case len(troubles) > 0 && now.Sub(troubles[0].Since) >= notReadyAfter:
		return "Kafka has not answered properly since " + clockTime(troubles[0].Since)
	case seenAt.IsZero():
		return "starting: nothing has been read yet"
	case now.Sub(seenAt) >= notReadyAfter:
		return "reading has made no progress since " + clockTime(seenAt)
	case seen.Open > 0 && now.Sub(seen.OpenedAt) >= notReadyAfter+r.rules.publishEvery &&
		now.Sub(r.since) >= notReadyAfter && now.Sub(seen.Worked) >= notReadyAfter:
		return fmt.Sprintf("turn %d was opened at %s and is not settled", seen.Open, clockTime(seen.OpenedAt))
	case r.rules.idle && seen.End < calendar.Forever && now.Sub(latest) >= notReadyAfter &&
		now.Sub(r.since) >= notReadyAfter && !moving:
		return "counts have been due since " + clockTime(latest)
	}
	return ""
}

// moving reports whether READ has recently advanced on a partition that the next turn waits for.
func (r *Readiness) moving(now time.Time, seen *Progress) (moves bool) {
	for _, p := range seen.Partitions {
		if !p.HeldBack {
			continue
		}
		mark, known := r.marks[p.ID]
		if !known || mark.mark != p.Next {
			mark = heldPartition{mark: p.Next, since: now}
			r.marks[p.ID] = mark
		}
		moves = moves || now.Sub(mark.since) < notReadyAfter
	}
	return moves
}
