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
	Every time.Duration // approximate interval at which an open page requests a newer one
	Kept  string        // sentence that describes which published values are on the page
	Due   *Due          // schedule of the next values; nil: not shown
}

// Due is the schedule of values. A window ends at a multiple of Slide, by a clock that is Shift
// ahead of UTC. Its values are published Wait later, at the next multiple of Grid. The schedule
// begins with the first values that are due after Since.
type Due struct {
	Slide, Wait, Grid, Shift time.Duration
	Since                    time.Time
}

// Past reports whether the newest windows were published so late that the clock cannot predict the
// next values, because their events were old.
func (d *Due) Past(s Settled, published time.Time) bool {
	return !s.End.IsZero() && published.Sub(s.End) > d.Wait+d.Grid+d.Slide
}

// DueOf returns the schedule, at time now, of the values of a deployment's shortest windows.
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

// Served holds the contents of headers for a served page.
type Served struct {
	// Version changes whenever anything on the page changes. An open page requests its own address
	// with If-None-Match: W/"Version".
	Version string
	Policy  string // content security policy, which the page also contains
}

// live holds the data of a served page for the template.
type live struct {
	Live
	Version string
}

// WriteLive is Write for a server: an open page polls its address for newer values and shows them.
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
