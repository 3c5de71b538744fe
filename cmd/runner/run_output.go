package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/show"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// runOutput puts together what is known of turns from two sides, releases as
// they come back from the counts topic and settlements that say how many there
// are, and prints whole turns in order. What earlier runs published is not
// printed again. Safe for concurrent use.
type runOutput struct {
	a        *app
	format   format
	progress *show.Progress
	page     *page
	tables   map[string]*show.Table // by metric
	shown    string                 // metric of the last line of the table
	failed   chan struct{}          // closed at the first error of printing

	mu       sync.Mutex
	releases map[uint64][]schemas.Release
	settles  []pipeline.Settlement // not yet printed, in order
	highest  uint64                // turn seen on the counts topic
	begun    bool                  // a settlement has come: releases of its turn and later ones are kept
	idle     *sync.Cond            // settles became empty, or an error came
	err      error
	lagged   time.Time // when the lag was last told
}

func newRunOutput(a *app, f format, d *pipeline.Deployment, progress *show.Progress, page *page) *runOutput {
	o := &runOutput{
		a: a, format: f, progress: progress, page: page, tables: map[string]*show.Table{},
		failed: make(chan struct{}), releases: map[uint64][]schemas.Release{}, lagged: time.Now(),
	}
	o.idle = sync.NewCond(&o.mu)
	_, width := show.Terminal(a.stdout)
	for _, m := range d.Metrics() {
		var keys []string
		for _, k := range m.Spec.PublicKeys {
			keys = append(keys, string(k))
		}
		size := time.Duration(m.Spec.WindowSize) * time.Millisecond
		o.tables[m.Spec.Name] = show.NewTable(a.stdout, min(width, 120), size, m.Spec.Confidence, keys)
	}
	return o
}

// early is how many turns are kept before this run has settled any: until then it
// is not known which ones are its own. A joint is published only after the one
// before it has settled, and its settlement may be told a moment late: two of them
// are enough.
const early = 2 * schemas.MaxJoint

// release takes one release from the counts topic.
func (o *runOutput) release(r schemas.Release) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.highest = max(o.highest, r.Turn)
	if !o.begun {
		for turn := range o.releases {
			if turn+early <= o.highest {
				delete(o.releases, turn)
			}
		}
		if r.Turn+early <= o.highest {
			return o.err
		}
	}
	o.releases[r.Turn] = append(o.releases[r.Turn], r)
	o.advance()
	return o.err
}

// settled takes one settlement.
func (o *runOutput) settled(s pipeline.Settlement) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.begun {
		o.begun = true
		for turn := range o.releases {
			if turn < firstOf(s) {
				delete(o.releases, turn)
			}
		}
	}
	o.settles = append(o.settles, s)
	o.advance()
	if now := time.Now(); now.Sub(o.lagged) >= lagEvery {
		o.lagged = now
		o.progress.Note("windows are settled up to %s, %v behind the clock", s.WindowEnd.UTC().Format(time.RFC3339), now.Sub(s.WindowEnd).Round(time.Second))
	}
}

// lagEvery is how often the lag is told.
const lagEvery = 30 * time.Second

// firstOf is the first turn of those that were settled together.
func firstOf(s pipeline.Settlement) uint64 { return cmp.Or(s.First, s.Turn) }

// advance prints the turns that are complete.
func (o *runOutput) advance() {
	for o.err == nil && len(o.settles) > 0 {
		s := o.settles[0]
		var releases []schemas.Release
		for turn := firstOf(s); turn <= s.Turn; turn++ {
			releases = append(releases, o.releases[turn]...)
		}
		if len(releases) < s.Keys {
			return
		}
		o.settles = o.settles[1:]
		for turn := firstOf(s); turn <= s.Turn; turn++ {
			delete(o.releases, turn)
		}
		o.failLocked(o.turn(s, releases))
	}
	o.idle.Broadcast()
}

// turn prints what was settled together: a turn, or a joint.
func (o *runOutput) turn(s pipeline.Settlement, releases []schemas.Release) error {
	slices.SortFunc(releases, func(a, b schemas.Release) int {
		return cmp.Or(cmp.Compare(a.WindowEnd, b.WindowEnd), cmp.Compare(a.Metric, b.Metric),
			cmp.Compare(a.WindowStart, b.WindowStart), cmp.Compare(a.Key, b.Key))
	})
	defer o.progress.Settled(int(s.Turn), len(releases))
	if err := o.chart(releases); err != nil {
		return err
	}
	var b bytes.Buffer
	if o.format == formatJSON {
		for _, r := range releases {
			line, err := r.MarshalJSON()
			if err != nil {
				return err
			}
			b.Write(append(line, '\n'))
		}
	}
	return o.progress.Interrupt(o.a.stdout, func() error {
		err := o.write(&b, releases)
		if err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
		return nil
	})
}

func (o *runOutput) write(json *bytes.Buffer, releases []schemas.Release) error {
	if o.format == formatJSON {
		_, err := json.WriteTo(o.a.stdout)
		return err
	}
	for len(releases) > 0 {
		metric := releases[0].Metric
		end := slices.IndexFunc(releases, func(r schemas.Release) bool { return r.Metric != metric })
		if end < 0 {
			end = len(releases)
		}
		rows := make([]show.Row, end)
		for i, r := range releases[:end] {
			rows[i] = row(r)
		}
		releases = releases[end:]
		table := o.tables[metric]
		if table == nil {
			return fmt.Errorf("a release names the metric %s, which the deployment does not have", show.Key(metric, 60))
		}
		if len(o.tables) > 1 && o.shown != metric {
			if _, err := io.WriteString(o.a.stdout, "metric "+show.Key(metric, 60)+"\n"); err != nil {
				return err
			}
			o.shown = metric
		}
		if err := table.Rows(rows); err != nil {
			return err
		}
	}
	return nil
}

// wait returns when every settled turn is printed, or printing failed; false
// when that takes too long.
func (o *runOutput) wait(limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	timer := time.AfterFunc(limit, func() {
		o.mu.Lock() // else nobody may be waiting yet
		defer o.mu.Unlock()
		o.idle.Broadcast()
	})
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.settles) > 0 && o.err == nil {
		if !time.Now().Before(deadline) {
			return false
		}
		o.idle.Wait()
	}
	return true
}

// fail ends the printing; the first error counts.
func (o *runOutput) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(err)
}

func (o *runOutput) failLocked(err error) {
	if err == nil || o.err != nil {
		return
	}
	o.err = err
	close(o.failed)
	o.idle.Broadcast()
}

func (o *runOutput) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
