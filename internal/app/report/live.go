package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Live says how a page that is served keeps up with what is published.
type Live struct {
	Every time.Duration // how often a page that is open asks for a newer one, about
	Kept  string        // a sentence that says how much of what was published is on the page
}

// Served has what a server says of a page beside the page.
type Served struct {
	// Version is another one whenever anything on the page is. A page that is open asks for its own
	// address with If-None-Match: W/"Version".
	Version string
	Policy  string // the content security policy, for a header; the page has it as well
}

// live has what the template shows of Live.
type live struct {
	Every         int64 // in milliseconds
	Version, Kept string
}

var liveAssets = sync.OnceValues(func() (*assets, error) {
	a, err := pageAssets(append(scripts[:], "live.js")...)
	if err == nil {
		a.asks = "; connect-src 'self'"
	}
	return a, err
})

// WriteLive writes a page as Write does, for a server: while it is open it asks the address that
// it came from for newer values, and takes them in. Errors are those of Write.
func (c *Collector) WriteLive(w io.Writer, o Options, l Live) (Served, error) {
	a, err := liveAssets()
	if err != nil {
		return Served{}, fmt.Errorf("writing live page: %w", err)
	}
	view, err := c.page(o, a)
	if err != nil {
		return Served{}, fmt.Errorf("writing live page: %w", err)
	}
	view.Live = &live{Every: l.Every.Milliseconds(), Kept: l.Kept}
	sum := sha256.New()
	if err = json.NewEncoder(sum).Encode(view); err == nil {
		view.Live.Version = base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:16])
		err = view.write(w, a)
	}
	if err != nil {
		return Served{}, fmt.Errorf("writing live page: %w", err)
	}
	return Served{Version: view.Live.Version, Policy: view.Policy}, nil
}
