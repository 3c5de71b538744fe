package watch

import (
	"log/slog"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

const (
	// minRecords is the minimum number of lost records that is logged. Messages about fewer would
	// describe single records. Messages are still not protected, because one user with many records
	// can cause one: they are for the trusted side only.
	minRecords = 10
	// lossOneIn is the minimum share of lost records that is logged: one record in this many.
	lossOneIn = 100
)

// Losses logs losses of records coarsely, by reason: at once, again at growing intervals, and when
// a loss is over. It logs no user id, key or count. Callers pass the current time. Losses is safe
// for concurrent use, and a nil Losses ignores everything.
type Losses struct {
	windows uint64 // maximum number of metric windows that contain a record
	log     *slog.Logger

	mu           sync.Mutex
	minute, hour recent
	pairs        recent    // the hour before settled
	settled      time.Time // time of the last settlement
	all          Outcomes
	reported     map[string]*condition // by reason
}

// NewLosses returns the Losses of a deployment. Call Check about once a second.
func NewLosses(d *deployment.Deployment, log *slog.Logger) *Losses {
	l := &Losses{
		log: log, reported: map[string]*condition{},
		minute: recent{slot: time.Minute / 12}, hour: recent{slot: time.Hour / 12}, pairs: recent{slot: time.Hour / 12},
	}
	for _, m := range d.Config.Metrics {
		l.windows += uint64(m.Window / m.Slide)
	}
	return l
}

// Observe adds the outcomes in f, and empties f.
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

// Check logs each loss for which a message is due.
func (l *Losses) Check(now time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hour, minute := l.hour.sum(now), l.minute.sum(now)
	if minute.read() == 0 {
		return // without new records, nothing shows that a loss is over
	}
	for _, r := range reasons {
		lost, all := r.numbers(&hour)
		switch level := levelOf(r.numbers, &minute, &hour, minRecords); {
		case r.hint == "":
		case level != LostNone:
			l.report(now, r.name, level, r.hint)
		case 2*lost*lossOneIn < all:
			l.reportEnd(now, r.name)
		}
	}
}

func (l *Losses) report(now time.Time, reason string, level Level, hint string) {
	t := l.reported[reason]
	if t == nil {
		t = &condition{since: now}
		l.reported[reason] = t
	}
	share := "at least one in a hundred"
	if level == LostMost {
		share = "more than half"
		if !t.overHalf {
			t.Repeat, t.overHalf = Repeat{}, true
		}
	}
	if t.Due(now) {
		l.log.Warn(share+" of the records are lost: "+hint, "reason", reason)
	}
}

// reportEnd logs that a loss is over, if the loss was logged.
func (l *Losses) reportEnd(now time.Time, reason string) {
	if t := l.reported[reason]; t != nil {
		delete(l.reported, reason)
		l.log.Warn("resolved after "+now.Sub(t.since).Round(time.Second).String()+": hardly any record is lost",
			"reason", reason)
	}
}
