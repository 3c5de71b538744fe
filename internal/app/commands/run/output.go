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

// runOutput prints what is published while a run goes on. Settlements are noted as they happen;
// one goroutine follows the counts topic and prints, as quickly as stdout accepts it. No lock is
// held while stdout is written to. print is for that goroutine.
type runOutput struct {
	*turnText
	a       *app
	certain bool             // some keys are public: every window has a result
	handout *handout.Handout // nil before the run begins
	failed  chan struct{}    // closed at the first error of printing
	printed atomic.Int64     // values

	pageMu sync.Mutex
	page   *command.Page

	mu        sync.Mutex
	first     uint64    // turn that this run has settled, 0 none yet
	settled   uint64    // the last one
	end       time.Time // of it
	published int       // values of this run's turns
}

func newRunOutput(a *app, f cli.Format, top int, d *pipeline.Deployment, progress *terminal.Progress,
	page *command.Page) *runOutput {
	_, width := terminal.Terminal(a.Stdout)
	return &runOutput{
		turnText: newTurnText(d, f, top, min(width, 120), progress), a: a, page: page,
		certain: slices.ContainsFunc(d.Metrics, func(m deployment.CompiledMetric) bool {
			return m.Spec.KeyMode == schemas.KeysPublic
		}),
		failed: make(chan struct{}),
	}
}

// settle records a settlement. It never waits for the printing.
func (o *runOutput) settle(s pipeline.Settlement) {
	o.mu.Lock()
	o.first = cmp.Or(o.first, s.Turn)
	o.settled, o.end = s.Turn, s.WindowEnd
	o.published += s.Keys
	turns := int(s.Turn - o.first + 1)
	o.mu.Unlock()
	o.progress.Settled(turns, s.Keys)
}

// following reads what is published, as pipeline.FollowReleases does.
type following func(context.Context, func(pipeline.Published) error) error

// begin prints what is published after a turn, until ctx ends or printing fails. An error of
// reading the topics ends neither the printing nor the run, which waits for the same brokers and
// says so.
func (o *runOutput) begin(ctx context.Context, after uint64, pause time.Duration, follow following) {
	o.handout = handout.New(after)
	o.handout.Start(ctx, handout.Options{
		Follow: follow, Pause: pause,
		Take: func(p pipeline.Published) error { return o.print(ctx, p) },
		OnUnread: func(err error) {
			o.progress.Mention("cannot read topics %s and %s, so printing waits for them; the run goes on: %v",
				o.outputs().Counts, o.outputs().Turns, err)
		},
		OnError: func(error) { close(o.failed) },
	})
}

// print prints a turn, or several together, and adds it to the page.
func (o *runOutput) print(ctx context.Context, p pipeline.Published) error {
	if err := o.chart(&p); err != nil {
		return err
	}
	text, err := o.text(&p)
	if err != nil {
		return err
	}
	return o.progress.Interrupt(o.a.Stdout, func() error { return o.write(ctx, text, len(p.Releases)) })
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
		o.printed.Add(int64(out))
		o.handout.Moved()
	}
	return nil
}

const (
	// followLimit is how long stdout may accept nothing when the run has ended.
	followLimit = 30 * time.Second
	// pageLimit is how long the reader of a page may take nothing after a signal: a page of this
	// size is written in a second or two.
	pageLimit = 10 * time.Second
)

// wait waits until every turn that was settled is printed, for as long as stdout takes something;
// once hurry is closed it waits for some seconds.
func (o *runOutput) wait(hurry <-chan struct{}) {
	o.mu.Lock()
	settled := o.settled
	o.mu.Unlock()
	o.handout.Wait(settled, followLimit, hurry) //nolint:errcheck // finish says what is not printed
}

// errUnprinted is the error of a run whose stdout accepted nothing, or accepted values so late that
// the topic had dropped them.
var errUnprinted = errors.New("stdout did not take all of them in time")

// finish says how much was not printed, and writes the last page; err is the error of the
// run.
func (o *runOutput) finish(result pipeline.RunResult, err error, signalled bool) error {
	if o.handout != nil {
		switch failed := o.handout.Err(); {
		case err == nil: // else the run's own error comes first: what follows it fails for the same reason
			err = failed
		case failed != nil && !signalled && errors.Is(err, pipeline.ErrNoBroker):
			// The run was to be drained because printing failed, and for no other reason.
			err = fmt.Errorf("%w, and while the run was ending for that, %w: the next run repeats the unfinished work",
				failed, pipeline.ErrNoBroker)
		}
	}
	if left := o.unprinted(); left > 0 {
		o.progress.Note("%s published but not printed: read topic %s, which keeps values until its retention ends",
			were(left), o.outputs().Counts)
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

// unprinted returns how many values this run has published and not printed.
func (o *runOutput) unprinted() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(0, o.published-int(o.printed.Load()))
}

// openPageFor opens the page of --report; nil without one.
func openPageFor(f *runFlags, d *command.Loaded) (*command.Page, error) {
	if f.report == "" {
		return nil, nil
	}
	page, err := command.OpenPage(f.report, d.Deployment)
	if err != nil {
		return nil, err
	}
	cfg := d.Config
	page.Describe(cfg.Deployment, "counts topic "+cfg.Outputs.Counts+", what this run published")
	return page, nil
}

// chart adds a turn to the page, and writes it every htmlEvery.
func (o *runOutput) chart(p *pipeline.Published) error {
	if o.page == nil {
		return nil
	}
	o.pageMu.Lock()
	defer o.pageMu.Unlock()
	o.page.Add(p.Generation, p.End, p.Releases)
	if o.page.Due(time.Now()) {
		return o.page.Save()
	}
	return nil
}

// endPage finishes the page. A page that is not an ordinary file may be a pipe without
// a reader: limit is how long endPage waits for one.
func (o *runOutput) endPage(limit time.Duration) error {
	if o.page == nil {
		return nil
	}
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

// expect shows what the run waits for; not what it has settled since that was looked at.
func (o *runOutput) expect(p pipeline.Progress) {
	o.mu.Lock()
	first := o.published == 0 && (o.certain || o.first == 0)
	over := o.first > 0 && !p.WindowEnd.After(o.end)
	o.mu.Unlock()
	if !over {
		o.progress.Status(expecting(p, time.Now(), first, o.certain))
	}
}

// expecting says when the next counts can appear, and how far behind reading is. certain says that
// there are public keys: private ones may all lack users, so that a window gives no count.
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

// lagFrom is how far reading may be behind the clock without a word: records are under way for a
// while.
const lagFrom = 5 * time.Second
