package watch

import (
	"log/slog"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const (
	// leastRecords is the least number of lost records that is logged, because with fewer a message
	// would describe single records. One user with many records can still cause a message: messages
	// are coarse, not protected, and for the trusted side only.
	leastRecords = 10
	// someOf is the reciprocal of the least share of lost records that is logged.
	someOf = 100
)

// Losses logs lost records coarsely, by reason: at once, again at growing intervals, and when the
// loss is over. It logs no user id, key or count. Callers pass the current time. Safe for
// concurrent use; a nil Losses ignores everything.
type Losses struct {
	windows uint64 // greatest number of windows that contain a record, over all metrics
	log     *slog.Logger

	mu           sync.Mutex
	minute, hour recent
	pairs        recent    // the last hour before settled
	settled      time.Time // time of the last settlement
	all          Outcomes
	reported     map[string]*lasting // by reason
}

// NewLosses returns the Losses of a deployment. Call Check about once a second.
func NewLosses(d *deployment.Deployment, log *slog.Logger) *Losses {
	l := &Losses{
		log: log, reported: map[string]*lasting{},
		minute: recent{slot: time.Minute / 12}, hour: recent{slot: time.Hour / 12}, pairs: recent{slot: time.Hour / 12},
	}
	for _, m := range d.Config.Metrics {
		l.windows += uint64(m.Window / m.Slide)
	}
	return l
}

// Observe adds new outcomes, and empties f.
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

// Check logs the losses that are due.
func (l *Losses) Check(now time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hour, minute := l.hour.sum(now), l.minute.sum(now)
	if minute.read() == 0 {
		return // without records, no loss is over
	}
	for _, r := range reasons {
		lost, all := r.numbers(&hour)
		switch level := levelOf(r.numbers, &minute, &hour, leastRecords); {
		case r.hint == "":
		case level != LostNone:
			l.report(now, r.name, level, r.hint)
		case 2*lost*someOf < all:
			l.reportEnd(now, r.name)
		}
	}
}

func (l *Losses) report(now time.Time, reason string, level Level, hint string) {
	t := l.reported[reason]
	if t == nil {
		t = &lasting{since: now}
		l.reported[reason] = t
	}
	share := "at least one in a hundred"
	if level == LostMost {
		share = "more than half"
		if !t.most {
			t.Repeat, t.most = Repeat{}, true
		}
	}
	if t.Due(now) {
		l.log.Warn(share+" of the records are lost: "+hint, "reason", reason)
	}
}

// reportEnd logs the end of a logged loss.
func (l *Losses) reportEnd(now time.Time, reason string) {
	if t := l.reported[reason]; t != nil {
		delete(l.reported, reason)
		l.log.Warn("resolved after "+now.Sub(t.since).Round(time.Second).String()+": hardly any record is lost",
			"reason", reason)
	}
}
