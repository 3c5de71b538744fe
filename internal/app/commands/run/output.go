package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// runOutput prints the turns that this run settles. Two sides meet in it: settlements
// are noted as they happen, and the printing follows the counts topic, as quickly as
// stdout accepts what is printed. The topic is the queue between them: no lock is held
// while stdout is written to, and only the printing ever waits. Safe for
// concurrent use; print is for one goroutine.
type runOutput struct {
	*turnText
	a       *app
	certain bool // some keys are public: every window has a result
	// closed at the first error of printing; an error of reading what is to be printed does not
	// close it
	failed chan struct{}

	pageMu sync.Mutex // not held while stdout is written to
	page   *command.Page

	mu        sync.Mutex
	changed   chan struct{} // closed and made anew at every change of the fields below
	first     uint64        // turn that this run has settled, 0 none yet
	settled   uint64        // the last one
	end       time.Time     // of it
	done      uint64        // the last turn that was printed
	published int           // values of this run's turns
	printed   int           // of them
	moved     time.Time     // when stdout took something, or nothing was waiting
	warned    time.Time     // when it was last said that stdout takes nothing
	lost      error         // why counts cannot be read at the moment
	err       error
}

func newRunOutput(a *app, f cli.Format, top int, d *pipeline.Deployment, progress *terminal.Progress,
	page *command.Page) *runOutput {
	now := time.Now()
	_, width := terminal.Terminal(a.Stdout)
	return &runOutput{
		turnText: newTurnText(d, f, top, min(width, 120), progress), a: a, page: page,
		certain: slices.ContainsFunc(d.Metrics, func(m deployment.CompiledMetric) bool {
			return m.Spec.KeyMode == schemas.KeysPublic
		}),
		failed: make(chan struct{}), changed: make(chan struct{}), moved: now, warned: now,
	}
}

// update changes the fields below mu, and wakes the goroutines that wait for a change.
func (o *runOutput) update(fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fn()
	close(o.changed)
	o.changed = make(chan struct{})
}

// settle records a settlement. It never waits for the printing.
func (o *runOutput) settle(s pipeline.Settlement) {
	now := time.Now()
	stuck, begun := 0, uint64(0)
	o.update(func() {
		if o.first == 0 {
			o.first = cmp.Or(s.First, s.Turn)
		}
		begun = o.first
		if o.printed == o.published {
			o.moved = now
		}
		o.settled, o.end = s.Turn, s.WindowEnd
		o.published += s.Keys
		if now.Sub(o.warned) >= stuckEvery && now.Sub(o.moved) >= stuckEvery {
			o.warned, stuck = now, o.published-o.printed
		}
	})
	o.progress.Settled(int(s.Turn-begun+1), s.Keys)
	if stuck > 0 {
		o.progress.Mention("nothing was printed for %v: check that something reads stdout. Not printed yet: %s, which "+
			"topic %s has; the run goes on", stuckEvery, terminal.Count(stuck, "value"), o.outputs().Counts)
	}
}

// stuckEvery is how long stdout may accept nothing before a warning, and between two warnings.
const stuckEvery = 30 * time.Second

// print prints a turn, or a span, once this run has settled it. What earlier runs have
// settled is not printed, and nothing is printed twice: following that began anew hands out all
// turns whose ends are missing with the next one.
func (o *runOutput) print(ctx context.Context, p pipeline.Published) error {
	mine, err := o.await(ctx, p.Turn)
	if err != nil || !mine {
		return err
	}
	o.mu.Lock()
	after := max(o.done, o.first-1)
	o.mu.Unlock()
	p.Releases = slices.DeleteFunc(slices.Clone(p.Releases), func(r schemas.Release) bool { return r.Turn <= after })
	if err := o.chart(&p); err != nil {
		return err
	}
	text, err := o.text(&p)
	if err != nil {
		return err
	}
	err = o.progress.Interrupt(o.a.Stdout, func() error { return o.write(ctx, text, len(p.Releases)) })
	if err != nil {
		return err
	}
	o.update(func() { o.done, o.lost = p.Turn, nil })
	return nil
}

// follow prints what following the counts topic hands out, until ctx ends or printing
// fails. An error of reading the topic ends neither the printing nor the run, which waits
// for the same brokers and says so. The topic is followed again, after pauses that grow
// from the given one to a minute, and begin again once something was printed.
func (o *runOutput) follow(ctx context.Context, pause time.Duration, following func(context.Context,
	func(pipeline.Published) error) error) {
	for least := pause; ; pause = min(2*pause, time.Minute) {
		var failed error
		err := following(ctx, func(p pipeline.Published) error {
			failed = o.print(ctx, p)
			return failed
		})
		switch {
		case ctx.Err() != nil || err == nil:
			return
		case failed != nil:
			o.fail(failed)
			return
		}
		first := false
		o.update(func() { first, o.lost = o.lost == nil, err })
		if first {
			pause = least
			o.progress.Mention("cannot read topics %s and %s, so printing waits for them; the run goes on: %v",
				o.outputs().Counts, o.outputs().Turns, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// unread returns the reason why values were not printed.
func (o *runOutput) unread() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost != nil {
		return fmt.Errorf("printing the published values: %w. The counts topic has all of them", o.lost)
	}
	return errUnprinted
}

// await waits until a turn is settled, and reports whether this run has settled it and it is
// not printed yet.
func (o *runOutput) await(ctx context.Context, turn uint64) (bool, error) {
	for {
		o.mu.Lock()
		first, settled, done, err, changed := o.first, o.settled, o.done, o.err, o.changed
		o.mu.Unlock()
		switch {
		case err != nil:
			return false, err
		case first > 0 && (turn < first || turn <= done):
			return false, nil
		case first > 0 && turn <= settled:
			return true, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// atomicWrite is how many bytes a pipe takes whole or not at all (PIPE_BUF of Linux).
const atomicWrite = 4096

// write hands stdout whole lines, so that no line is cut in two when the process ends while
// stdout is not read: no more at a time than a pipe takes as one, unless a single line is
// longer.
func (o *runOutput) write(ctx context.Context, text []byte, values int) error {
	for len(text) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := bytes.IndexByte(text, '\n') + 1
		if len(text) <= atomicWrite {
			n = len(text)
		} else if last := bytes.LastIndexByte(text[:atomicWrite], '\n') + 1; last > 0 {
			n = last
		}
		if _, err := o.a.Stdout.Write(text[:n]); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
		out := min(values, bytes.Count(text[:n], []byte{'\n'}))
		if text = text[n:]; len(text) == 0 {
			out = values
		}
		values -= out
		o.update(func() {
			o.printed += out
			o.moved = time.Now()
		})
	}
	return nil
}

// wait returns true when every settled turn is printed or printing has failed, and false
// when stdout accepts nothing for followLimit. Once hurry is closed it waits for hurryLimit
// only, and for followLimit altogether.
func (o *runOutput) wait(hurry <-chan struct{}) bool {
	limit := followLimit
	var deadline <-chan time.Time
	o.mu.Lock()
	o.moved = time.Now()
	o.mu.Unlock()
	for {
		o.mu.Lock()
		over, changed := o.err != nil || o.done >= o.settled, o.changed
		left := limit - time.Since(o.moved)
		o.mu.Unlock()
		if over {
			return true
		}
		if left <= 0 {
			return false
		}
		select {
		case <-changed:
		case <-time.After(left):
		case <-hurry:
			hurry, limit, deadline = nil, hurryLimit, time.After(followLimit)
		case <-deadline:
			return false
		}
	}
}

const (
	// followLimit is how long stdout may accept nothing when the run has ended.
	followLimit = 30 * time.Second
	// hurryLimit is the same if a signal ended the run, or if it failed.
	hurryLimit = 3 * time.Second
)

// unprinted returns how many values this run has published and not printed.
func (o *runOutput) unprinted() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.published - o.printed
}

// errUnprinted: stdout accepted nothing, or accepted values so late that the topic had
// dropped them.
var errUnprinted = errors.New("printing the published values: stdout did not take all of them in time. The counts " +
	"topic has all of them")

// fail ends the printing, and with it the run; the first error counts.
func (o *runOutput) fail(err error) {
	if err == nil {
		return
	}
	o.update(func() {
		if o.err == nil {
			o.err = err
			close(o.failed)
		}
	})
}

func (o *runOutput) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
