package report

import (
	"bufio"
	"errors"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// MaxPoints is how many released values a page holds at most, over all metrics:
// about 9 MB of HTML.
const MaxPoints = 250_000

// ErrConflict is returned when two releases of one metric, window and key
// differ. The counts topic never has two: it has been tampered with.
var ErrConflict = errors.New("two different values for one metric, window and key")

// Options are what a page says about itself.
type Options struct {
	Title     string    // default "Tollgate report"
	Generated time.Time // when the page was made; zero: the page does not say it
	Source    string    // where the releases come from; "": the page does not say it
	Zone      string    // by whose clock the times of releases are, where these do not tell; "": the deployment's
	Of        string    // whose events the promise is about, as "in this file"; "": all of a user, for ever
	Mark      string    // what has to be known before any value is read, as that all is made up
	Error     string    // how far values typically are from the real counts, of a page whose events are no secret
	Notes     []string  // what else is not covered, beside what follows from the deployment
	nothing   string    // said of a metric without values; default: nothing was published, and why
	// Settled says which windows are settled: those without values are shown as well.
	Settled Settled
}

// Collector gathers releases for one page or for many, as they come. Not safe
// for concurrent use.
type Collector struct {
	promise promise
	points  *points
}

// NewCollector returns an empty collector for a deployment's releases.
func NewCollector(d *deployment.Deployment) *Collector { return newCollector(promiseOf(d), MaxPoints) }

func newCollector(p promise, limit int) *Collector {
	return &Collector{promise: p, points: newPoints(limit, wallclock.Of(p.zone))}
}

// Add takes a release, in any order. A release that was there before changes
// nothing.
func (c *Collector) Add(r schemas.Release) { c.points.add(r) }

// Write writes a page of the releases that were added so far. More may be added afterwards.
// Errors: ErrConflict, and those of w.
func (c *Collector) Write(w io.Writer, o Options) error {
	_, err := c.write(w, o, nil)
	return err
}

// write writes a page; l is nil for a file.
func (c *Collector) write(w io.Writer, o Options, l *live) (Served, error) {
	load, asks := fileAssets, ""
	if l != nil {
		load, asks = liveAssets, "; connect-src 'self'"
	}
	a, err := load()
	if err != nil {
		return Served{}, fmt.Errorf("writing report: %w", err)
	}
	view, err := c.page(o)
	if err != nil {
		return Served{}, fmt.Errorf("writing report: %w", err)
	}
	view.Policy, view.Script, view.Style, view.Live = a.policy()+asks, template.JS(a.script), template.CSS(a.style), l
	served := Served{Policy: view.Policy}
	if l != nil {
		if served.Version, err = view.version(); err != nil {
			return Served{}, fmt.Errorf("writing report: %w", err)
		}
		l.Version = served.Version
	}
	b := bufio.NewWriterSize(w, 1<<16)
	if err = a.page.Execute(b, view); err == nil {
		err = b.Flush()
	}
	if err != nil {
		return Served{}, fmt.Errorf("writing report: %w", err)
	}
	return served, nil
}

// page returns a page of the releases that were added so far.
func (c *Collector) page(o Options) (*page, error) {
	released, err := c.points.settle()
	if err != nil {
		return nil, err
	}
	return newPage(c.promise, released, o)
}
