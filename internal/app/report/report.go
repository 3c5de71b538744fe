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

// MaxPoints is the maximum number of released values on a page, in all metrics together. A page
// with that many values has about 9 MB.
const MaxPoints = 250_000

// ErrConflict means that two releases for the same metric, window and key differ. Somebody has then
// tampered with the counts topic.
var ErrConflict = errors.New("two different values for one metric, window and key")

// Options holds texts for a page and facts about its releases.
type Options struct {
	Title     string    // default "Tollgate report"
	Generated time.Time // time when the page was made; zero: the page does not show it
	Source    string    // source of the releases; "": the page does not show it
	Zone      string    // time zone of windows; "": the time zone of the deployment
	Scope     string    // events that the promise covers, such as "in this file"; "": all events
	Mark      string    // warning above all values, for example that they are made up
	Error     string    // typical error of the values, for a page whose events are not secret
	Notes     []string  // additional limits of the promise
	Settled   Settled   // the settled windows, including those without values
	nothing   string    // text for a metric without values; default: a sentence with the possible reasons
}

// Collector collects releases for one page or several. It must not be used concurrently.
type Collector struct {
	promise promise
	points  *points
}

// NewCollector returns an empty collector for a deployment's releases.
func NewCollector(d *deployment.Deployment) *Collector { return newCollector(promiseOf(d), MaxPoints) }

func newCollector(p promise, limit int) *Collector {
	return &Collector{promise: p, points: newPoints(limit, wallclock.Of(p.zone))}
}

// Add adds a release. Releases can be added in any order, and copies of a release change nothing.
func (c *Collector) Add(r schemas.Release) { c.points.add(r) }

// Write writes a page of the releases added so far. More releases can be added later. Errors:
// ErrConflict, and the errors of w.
func (c *Collector) Write(w io.Writer, o Options) error {
	_, err := c.write(w, o, nil)
	return err
}

// write writes a page. l is nil if the page is a file.
func (c *Collector) write(w io.Writer, o Options, l *live) (Served, error) {
	load, extra := fileAssets, ""
	if l != nil {
		load, extra = liveAssets, "; connect-src 'self'"
	}
	a, err := load()
	if err != nil {
		return Served{}, fmt.Errorf("writing report: %w", err)
	}
	view, err := c.page(o)
	if err != nil {
		return Served{}, fmt.Errorf("writing report: %w", err)
	}
	view.Policy, view.Script, view.Style, view.Live = a.policy()+extra, template.JS(a.script), template.CSS(a.style), l
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

// page returns a page of the releases added so far.
func (c *Collector) page(o Options) (*page, error) {
	released, err := c.points.settle()
	if err != nil {
		return nil, err
	}
	return newPage(c.promise, released, o)
}
