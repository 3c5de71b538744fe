package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Live configures the updates of a served page.
type Live struct {
	Every time.Duration // how often a page that is open asks for a newer one, about
	Kept  string        // a sentence about the part of the published values that is on the page
	Due   *Due          // when the next values are due; nil: not shown
}

// Due is the schedule of values: the window that ends at a multiple of Slide, by a clock that is
// Shift ahead of UTC, is published Wait later, at a multiple of Grid. The first ones are those that
// are due next at Since.
type Due struct {
	Slide, Wait, Grid, Shift time.Duration
	Since                    time.Time
}

// Past reports whether the newest windows were published so late that the clock does not predict
// the next values: their events were old.
func (d *Due) Past(s Settled, published time.Time) bool {
	return !s.End.IsZero() && published.Sub(s.End) > d.Wait+d.Grid+d.Slide
}

// DueOf returns when the clock has the values of a deployment's shortest windows published, as seen
// at a time.
func DueOf(d *deployment.Deployment, since, now time.Time) *Due {
	c := &d.Config
	due := &Due{Since: since, Wait: c.Time.Lateness + c.Time.Skew + c.Time.IdleGrace, Grid: max(c.Outputs.PublishEvery,
		time.Second)}
	for i, m := range d.Metrics {
		if slide := time.Duration(m.Spec.WindowSlide) * time.Millisecond; i == 0 || slide < due.Slide {
			due.Slide = slide
		}
	}
	millis := now.UnixMilli()
	due.Shift = time.Duration(wallclock.Of(c.Time.WindowZone).Reading(millis)-millis) * time.Millisecond
	return due
}

// Served has a server's facts about a page.
type Served struct {
	// Version is another one whenever anything on the page is. A page that is open asks for its own
	// address with If-None-Match: W/"Version".
	Version string
	Policy  string // the content security policy, for a header; the page has it as well
}

// live has what the template shows of a page that is served.
type live struct {
	Live
	Version string
}

// WriteLive writes a page as Write does, for a server: while it is open it polls its address for
// newer values, and shows them. Errors are as for Write.
func (c *Collector) WriteLive(w io.Writer, o Options, l Live) (Served, error) {
	o.nothing = "No value is published yet."
	return c.write(w, o, &live{Live: l})
}

// version returns the hash of what is on a page.
func (p *page) version() (string, error) {
	sum := sha256.New()
	err := json.NewEncoder(sum).Encode(p)
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:16]), err
}
