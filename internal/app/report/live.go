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
	Every time.Duration // approximate interval between an open page's requests for a newer page
	Kept  string        // sentence that states which published values are on the page
	Due   *Due          // schedule of the next values; nil: the page shows no schedule
}

// Due is the schedule of values. A window ends at a multiple of Slide, by a clock that is Shift
// ahead of UTC. The values are published at the first multiple of Grid that is at least Wait after
// the end of the window. The schedule begins with the first values that are due after Since.
type Due struct {
	Slide, Wait, Grid, Shift time.Duration
	Since                    time.Time
}

// Past reports whether the newest windows were published much later than they ended, because their
// events were old. The clock then cannot predict the next values.
func (d *Due) Past(s Settled, published time.Time) bool {
	return !s.End.IsZero() && published.Sub(s.End) > d.Wait+d.Grid+d.Slide
}

// DueOf returns the schedule of the most frequent windows of a deployment, as of the time now.
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

// Served holds the header values for a served page.
type Served struct {
	// Version changes whenever anything on the page changes. An open page requests its own address
	// with the header If-None-Match: W/"Version".
	Version string
	Policy  string // content security policy; the page contains the same policy
}

// live holds the data of a served page for the template.
type live struct {
	Live
	Version string
}

// WriteLive is like Write, but the page is for a server: while it is open, it polls its address for
// newer values and shows them.
func (c *Collector) WriteLive(w io.Writer, o Options, l Live) (Served, error) {
	o.nothing = "No value is published yet."
	return c.write(w, o, &live{Live: l})
}

// version returns a hash of the contents of a page.
func (p *page) version() (string, error) {
	sum := sha256.New()
	err := json.NewEncoder(sum).Encode(p)
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:16]), err
}
