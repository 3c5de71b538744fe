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

// feed brings published values to a server. Reading never waits until a page is made.
type feed struct {
	s         *server
	pause     time.Duration // minimum time between two pages
	changed   chan struct{} // capacity 1
	responded atomic.Bool   // Kafka has responded since follow last began to read
	after     func(time.Duration) <-chan time.Time
	read      func(context.Context, *deployment.Deployment, published.Options, func(published.Turn) error) error

	mu        sync.Mutex
	kept      values
	turn      uint64 // last turn
	settled   report.Settled
	published time.Time // publication time of the last turn
	current   bool      // everything settled at the start has been read
}

// together limits how many values of old turns are read at once.
const together = 10_000

func newFeed(s *server, limit int) *feed {
	return &feed{s: s, pause: time.Second, changed: make(chan struct{}, 1), after: time.After, read: published.Follow,
		kept: values{keep: s.options.Keep, limit: limit, clock: wallclock.Of(s.deployment.Config.Time.WindowZone)}}
}

// follow reads published values until ctx ends. It logs each failure once and retries after pauses
// that grow to a minute and are reset by a success.
func (f *feed) follow(ctx context.Context) error {
	logged, pause := "", firstPause
	for {
		f.responded.Store(false)
		err := f.read(ctx, f.s.deployment, published.Options{
			From: &published.Position{Turn: f.turn}, Together: together, OnResponse: f.onResponse,
			Logger: f.s.options.Logger,
		}, f.add)
		var wrong *deployment.ConfigError
		if ctx.Err() != nil || errors.As(err, &wrong) {
			return err
		}
		if f.responded.Load() {
			logged, pause = "", firstPause // a new failure
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
		pause = min(2*pause, mostPause)
	}
}

// Pauses between attempts to read published values.
const (
	firstPause = time.Second
	mostPause  = time.Minute
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

// clockMargin is how far this machine's clock may be behind the clock of a run.
const clockMargin = time.Minute

// trustedEnd returns the end of a turn. Whoever can write to the turns topic can forge any time.
// Instead of a future time, which only made-up event times can cause, trustedEnd returns the last
// window end of the turn's values, or zero if it has no values.
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
	if f.kept.dropped { // a window without values may have lost them
		f.s.settled.Since = f.settled.End
	}
	f.mu.Unlock()
	return f.s.show(rows, current)
}

// show makes a page after each change, with at most a fifth of a core.
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
