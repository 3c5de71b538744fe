package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/published"
)

// feed passes published values from Kafka to a server. Reading does not wait while a page is made.
type feed struct {
	s         *server
	pause     time.Duration // minimum time between two pages
	changed   chan struct{} // capacity 1
	responded atomic.Bool   // Kafka has responded since the last call of read began
	after     func(time.Duration) <-chan time.Time
	read      func(context.Context, *deployment.Deployment, published.Options, func(published.Turn) error) error

	mu        sync.Mutex
	kept      values
	turn      uint64 // the last turn that was read
	settled   report.Settled
	published time.Time // publication time of the last turn
	current   bool      // all values that were settled at the start have been read
}

// together limits the number of values of old turns that are read at once.
const together = 10_000

func newFeed(s *server, limit int) *feed {
	return &feed{s: s, pause: time.Second, changed: make(chan struct{}, 1), after: time.After, read: published.Follow,
		kept: values{keep: s.options.Keep, limit: limit, clock: wallclock.Of(s.deployment.Config.Time.WindowZone)}}
}

// follow reads published values until ctx ends. It logs each failure once and tries again after a
// pause. Pauses grow up to a minute; a response from Kafka resets them.
func (f *feed) follow(ctx context.Context) error {
	logged, pause := "", firstPause
	for {
		f.responded.Store(false)
		err := f.read(ctx, f.s.deployment, published.Options{
			From: &published.Position{Turn: f.turn}, Together: together, OnResponse: f.onResponse,
			Logger: f.s.options.Logger,
		}, f.add)
		var invalid *deployment.ConfigError
		if ctx.Err() != nil || errors.As(err, &invalid) {
			return err
		}
		if f.responded.Load() {
			logged, pause = "", firstPause // err is a new failure
		}
		if err != nil && err.Error() != logged {
			logged = err.Error()
			f.s.options.Logger.Warn("cannot read the published values, trying again: " + logged)
		}
		select {
		case <-f.after(pause):
		case <-ctx.Done():
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// Pauses between attempts to read published values.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

func (f *feed) add(p published.Turn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept.add(p.Releases)
	f.turn, f.published = p.Turn, p.Published
	end := f.trustedEnd(&p, time.Now())
	if !end.IsZero() {
		f.settled.Add(p.Generation, p.Since, end)
		f.s.metrics.turn.Set(float64(end.Unix()))
	}
	if !end.Equal(p.End) {
		f.s.options.Logger.Warn(fmt.Sprintf("topic %s says that turn %d is settled, but it ends in the future (%s): "+
			"if another program wrote that, turns up to it will not be shown; delete the records of the topic with "+
			"kafka-delete-records.sh and start serve again (docs/runbook.md: A forged end of a turn)",
			f.s.deployment.Config.Outputs.Turns, p.Turn, p.End.UTC().Format(time.RFC3339)))
	}
	f.change()
	return nil
}

// clockMargin is the time by which this machine's clock may be behind the clock of a run.
const clockMargin = time.Minute

// trustedEnd returns the end of a turn. Anyone who can write to the turns topic can forge that
// time. If it lies in the future, which only forged times can cause, trustedEnd returns the latest
// window end among the turn's values instead, or the zero time if the turn has no values.
func (f *feed) trustedEnd(p *published.Turn, now time.Time) (end time.Time) {
	if !p.End.After(now.Add(f.s.deployment.Config.Time.Skew + clockMargin)) {
		return p.End
	}
	for i := range p.Releases {
		if windowEnd := time.UnixMilli(p.Releases[i].WindowEnd); windowEnd.After(end) {
			end = windowEnd
		}
	}
	return end
}

func (f *feed) onResponse(current bool) {
	f.responded.Store(true)
	f.s.responded.Store(time.Now().UnixMilli())
	f.mu.Lock()
	defer f.mu.Unlock()
	if current && !f.current {
		f.current = true
		f.s.options.Logger.Info(fmt.Sprintf("read all published values, up to turn %d", f.turn))
		f.change()
	}
}

// change requests another page.
func (f *feed) change() {
	select {
	case f.changed <- struct{}{}:
	default: // already requested
	}
}

// update makes a page of the kept values.
func (f *feed) update() error {
	f.mu.Lock()
	rows, current := f.kept.rows(), f.current
	f.s.settled, f.s.published = f.settled, f.published
	if f.kept.dropped { // a settled window without values may be one whose values were dropped
		f.s.settled.Since = f.settled.End
	}
	f.mu.Unlock()
	return f.s.show(rows, current)
}

// show makes a page after each change. Its pauses keep it to at most a fifth of a core.
func (f *feed) show(ctx context.Context) error {
	for {
		select {
		case <-f.changed:
		case <-ctx.Done():
			return nil
		}
		began := time.Now()
		if err := f.update(); err != nil {
			return fmt.Errorf("making the page: %w", err)
		}
		select {
		case <-time.After(max(f.pause, 4*time.Since(began))):
		case <-ctx.Done():
			return nil
		}
	}
}
