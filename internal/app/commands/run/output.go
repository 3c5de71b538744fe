package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/handout"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// runOutput prints releases during a run. Settlements are recorded as they happen; one goroutine
// follows the counts topic and prints, as quickly as stdout accepts it. No lock is held during
// writes to stdout. Only that goroutine may call print.
type runOutput struct {
	*turnText
	a       *app
	certain bool             // some keys are public, so every window has a result
	handout *handout.Handout // nil before the run begins
	failed  chan struct{}    // closed when printing first fails
	printed atomic.Int64     // number of printed values

	pageMu sync.Mutex
	page   *command.Page

	mu        sync.Mutex
	first     uint64    // first turn that this run settled; 0: none yet
	settled   uint64    // last turn that this run settled
	end       time.Time // end of that turn
	published int       // number of values in this run's turns
}

func newRunOutput(a *app, f cli.Format, d *pipeline.Deployment, progress *terminal.Progress,
	page *command.Page) *runOutput {
	_, width := terminal.Terminal(a.Stdout)
	return &runOutput{
		turnText: newTurnText(d, f, min(width, 120), progress), a: a, page: page,
		certain: slices.ContainsFunc(d.Metrics, func(m deployment.CompiledMetric) bool {
			return m.Spec.KeyMode == schemas.KeysPublic
		}),
		failed: make(chan struct{}),
	}
}

// settle records a settlement. It never waits for printing.
func (o *runOutput) settle(s pipeline.Settlement) {
	o.mu.Lock()
	o.first = cmp.Or(o.first, s.Turn)
	o.settled, o.end = s.Turn, s.WindowEnd
	o.published += s.Keys
	turns := int(s.Turn - o.first + 1)
	o.mu.Unlock()
	o.progress.Settled(turns, s.Keys)
}

// followFunc calls a function for everything published, as pipeline.FollowReleases does.
type followFunc func(context.Context, func(pipeline.Published) error) error

// begin starts printing everything published after a turn, until ctx ends or printing fails. If the
// topics cannot be read, neither printing nor the run ends: the run waits for the same brokers, and
// reports that.
func (o *runOutput) begin(ctx context.Context, after uint64, pause time.Duration, follow followFunc) {
	o.handout = handout.New(after)
	o.handout.Start(ctx, handout.Options{
		Follow: follow, Pause: pause,
		OnTurn: func(p pipeline.Published) error { return o.print(ctx, p) },
		OnUnread: func(err error) {
			o.progress.Mention("cannot read topics %s and %s, so printing waits for them; the run continues: %v",
				o.outputs().Counts, o.outputs().Turns, err)
		},
		OnError: func(error) { close(o.failed) },
	})
}

// print prints one or more turns, and adds them to the page.
func (o *runOutput) print(ctx context.Context, p pipeline.Published) error {
	if err := o.chart(&p); err != nil {
		return err
	}
	text, err := o.text(&p)
	if err != nil {
		return err
	}
	return o.write(ctx, text, len(p.Releases))
}

// atomicWrite is the most bytes that a pipe takes whole or not at all (PIPE_BUF on Linux).
const atomicWrite = 4096

// write writes whole lines to stdout, so that no line is cut if the process ends while nobody reads
// stdout. It writes at most atomicWrite bytes at a time, unless a single line is longer.
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
		o.printed.Add(int64(out))
		o.handout.Moved()
	}
	return nil
}

const (
	// followLimit is how long a run that has ended waits for a stdout that accepts nothing.
	followLimit = 30 * time.Second
	// pageLimit is how long a run waits after a signal for a page to be written: even a large one
	// takes only a second or two.
	pageLimit = 10 * time.Second
)

// wait waits until every settled turn is printed, as long as stdout keeps accepting output. Once
// hurry is closed, it waits only some seconds.
func (o *runOutput) wait(hurry <-chan struct{}) {
	o.mu.Lock()
	settled := o.settled
	o.mu.Unlock()
	o.handout.Wait(settled, followLimit, hurry) //nolint:errcheck // finish reports what was not printed
}

// errUnprinted is the error of a run whose stdout accepted nothing, or accepted values only after
// the topic had dropped them.
var errUnprinted = errors.New("stdout did not take all of them in time")

// finish reports how many values were not printed, and writes the page for the last time. err is
// the error of the run.
func (o *runOutput) finish(result pipeline.RunResult, err error, signalled bool) error {
	if o.handout != nil {
		switch failed := o.handout.Err(); {
		case err == nil: // otherwise the run's own error comes first, as printing fails for the same reason
			err = failed
		case failed != nil && !signalled && errors.Is(err, pipeline.ErrNoBroker):
			// The run was drained only because printing failed.
			err = fmt.Errorf("%w, and while the run was ending, %w: the next run repeats the unfinished work",
				failed, pipeline.ErrNoBroker)
		}
	}
	if left := o.unprinted(); left > 0 {
		o.progress.Note("published but not printed: %s; read topic %s, which keeps values until its retention ends",
			terminal.Count(left, "value"), o.outputs().Counts)
		if err == nil && !signalled && !result.Superseded {
			err = fmt.Errorf("printing the published values: %w. The counts topic has all of them",
				cmp.Or(o.handout.Unread(), errUnprinted))
		}
	}
	limit := followLimit
	if signalled {
		limit = pageLimit
	}
	if closed := o.endPage(limit); err == nil {
		err = closed
	}
	return err
}

// unprinted returns how many values this run has published but not printed.
func (o *runOutput) unprinted() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(0, o.published-int(o.printed.Load()))
}

// chart adds a turn to the page, and saves the page if it is due.
func (o *runOutput) chart(p *pipeline.Published) error {
	o.pageMu.Lock()
	defer o.pageMu.Unlock()
	o.page.Add(p.Generation, p.End, p.Releases)
	if o.page.Due(time.Now()) {
		return o.page.Save()
	}
	return nil
}

// endPage saves the page. Its file may be a pipe without a reader: endPage waits at most for limit.
func (o *runOutput) endPage(limit time.Duration) error {
	saved := make(chan error, 1)
	go func() {
		o.pageMu.Lock()
		defer o.pageMu.Unlock()
		saved <- o.page.Save()
	}()
	select {
	case err := <-saved:
		return err
	case <-time.After(limit):
		return fmt.Errorf("writing --report %s: nothing has read it for %v; is it a pipe without a reader?",
			o.page.Path, limit)
	}
}

// expect shows what the run is waiting for, unless it has settled that in the meantime.
func (o *runOutput) expect(p pipeline.Progress) {
	o.mu.Lock()
	first := o.published == 0 && (o.certain || o.first == 0)
	settled := o.first > 0 && !p.WindowEnd.After(o.end)
	o.mu.Unlock()
	if !settled {
		o.progress.Status(expecting(p, time.Now(), first, o.certain))
	}
}

// expecting describes when the next counts can appear, and how far reading lags. certain reports
// whether there are public keys: without them, a window may have no counts.
func expecting(p pipeline.Progress, now time.Time, first, certain bool) string {
	what, when := "next ", ""
	if first {
		what = "first "
	}
	if what += "result"; !certain {
		what, when = strings.Replace(what, "result", "window", 1), " closes"
	}
	lag := ""
	if p.Lag >= lagFrom {
		lag = "reading " + p.Lag.Round(time.Second).String() + " behind the clock"
	}
	switch soon := now.Before(p.Earliest); {
	case p.Closed:
		return what + " is being released"
	case soon && lag != "":
		return what + when + " at " + command.Moment(p.Earliest, now) + ", " + lag
	case soon:
		return what + when + " at " + command.Moment(p.Earliest, now)
	case lag != "":
		return lag
	case now.Before(p.Latest):
		return what + when + " by " + command.Moment(p.Latest, now)
	}
	return what + " is due"
}

// lagFrom is the smallest lag that is reported: records always take some time to arrive.
const lagFrom = 5 * time.Second
