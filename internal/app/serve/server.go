package serve

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tollgate-dp/tollgate/docs"
	"github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// server has what the handlers share.
type server struct {
	deployment *deployment.Deployment
	options    Options
	metrics    *metrics
	configured map[string]bool // names of metrics

	view     atomic.Pointer[view]
	complete atomic.Bool  // the view has all that was settled once
	answered atomic.Int64 // when Kafka last answered, in Unix milliseconds
	ending   atomic.Bool
	warned   bool             // of another configuration; for show alone
	began    map[string]int64 // the newest window of each metric when all was read first; for show alone
}

func newServer(d *deployment.Deployment, o Options) (*server, error) {
	s := &server{deployment: d, options: o, configured: map[string]bool{}}
	s.metrics = newMetrics(func() float64 { return float64(s.answered.Load()) / 1000 })
	for _, m := range d.Metrics {
		s.configured[m.Spec.Name] = true
	}
	s.answered.Store(time.Now().UnixMilli())
	return s, s.show(nil, false)
}

// show serves other values from now on: those that are kept, and whether all that was settled once
// is among what was read. Calls come one after the other.
func (s *server) show(rows []schemas.Release, complete bool) error {
	text := "Values are still being read."
	if complete {
		text = fmt.Sprintf("Live: the newest windows of each metric, at most %s.", terminal.Number(float64(s.options.Keep), 0))
	}
	title := s.options.Title
	if title == "" {
		title = s.deployment.Config.Deployment
	}
	mark := ""
	if complete {
		all, behind := s.otherwise(rows)
		if len(all) > 0 {
			mark = "The newest values were released under another configuration than the one described here."
		}
		if len(behind) > 0 && !s.warned {
			s.options.Logger.Warn("the newest values were released under another configuration: start tollgate serve again with the configuration in force", "metrics", behind)
		}
		s.warned = len(behind) > 0
	}
	v, err := newView(s.deployment, rows, report.Options{Title: title, Mark: mark}, report.Live{Every: s.options.Refresh, Kept: text})
	if err != nil {
		return err
	}
	s.view.Store(v)
	s.complete.Store(complete)
	s.metrics.values.Set(float64(len(v.rows)))
	return nil
}

// otherwise returns the names of metrics whose newest values were released under another definition
// than the configured one: bounds, ladder, filter, target. Of some of them the configuration is
// behind: values were released under it before these, or these came while this process was
// running. Of the others it may be newer: right after a change, no value was released under it yet.
func (s *server) otherwise(rows []schemas.Release) (all, behind []string) {
	newest, known := map[string]*schemas.Release{}, map[[32]byte]bool{}
	for i := range rows {
		newest[rows[i].Metric], known[rows[i].MetricDigest] = &rows[i], true
	}
	if s.began == nil {
		s.began = map[string]int64{}
		for metric, r := range newest {
			s.began[metric] = r.WindowEnd
		}
	}
	for _, m := range s.deployment.Metrics {
		name := m.Spec.Name
		r := newest[name]
		if r == nil || r.MetricDigest == m.Digest {
			continue
		}
		all = append(all, name)
		if since, ok := s.began[name]; known[m.Digest] || !ok || r.WindowEnd > since {
			behind = append(behind, name)
		}
	}
	return all, behind
}

// patience is how long Kafka may not answer before /-/ready says so.
const patience = 30 * time.Second

// silent returns how long Kafka has not answered; 0 if that is within patience.
func (s *server) silent(now time.Time) time.Duration {
	if silent := now.Sub(time.UnixMilli(s.answered.Load())); silent > patience {
		return silent.Round(time.Second)
	}
	return 0
}

// unready says why this process is not ready; "" if it is. The text is public. A process that has
// values to show is ready, whatever Kafka does: a proxy that left it out would show nothing.
func (s *server) unready(now time.Time) string {
	switch {
	case s.ending.Load():
		return "this process is ending"
	case s.complete.Load():
		return ""
	case s.silent(now) > 0:
		return "serve cannot read the published values: its log says why"
	}
	return "values are still being read"
}

func (s *server) ready(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	why, silent := s.unready(now), s.silent(now)
	switch {
	case why != "":
		writeLine(w, http.StatusServiceUnavailable, why)
	case silent > 0:
		writeLine(w, http.StatusOK, fmt.Sprintf("ready; Kafka has not answered for %v, newer values may be missing", silent))
	default:
		writeLine(w, http.StatusOK, "ready")
	}
}

func writeLine(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	w.Write([]byte(text + "\n")) //nolint:errcheck // a client that has gone away misses it
}

// page answers with the live page.
func (s *server) page(w http.ResponseWriter, r *http.Request) {
	v := s.view.Load()
	h := w.Header()
	h.Set("Content-Security-Policy", v.policy+"; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	v.page.write(w, r, "text/html; charset=utf-8", v.tag)
}

// fixed answers with what stays the same while the process lives.
func fixed(text []byte, contentType string) (http.HandlerFunc, error) {
	b, err := newBody(text)
	tag := tagOf(versionOf(text))
	return func(w http.ResponseWriter, r *http.Request) { b.write(w, r, contentType, tag) }, err
}

// maxURL is how long the path and the query of a request may be: a metric and a key, encoded, and
// a cursor with both.
const maxURL = 8 << 10

// handler routes requests. Every path that it knows is in docs/openapi.yaml.
func (s *server) handler() (http.Handler, error) {
	described, err := describe(s.deployment)
	if err != nil {
		return nil, fmt.Errorf("describing the metrics: %w", err)
	}
	names, err := fixed(described, "application/json")
	if err != nil {
		return nil, err
	}
	api, err := fixed(docs.OpenAPI, "application/yaml")
	if err != nil {
		return nil, err
	}
	metrics := s.metrics.handler()
	routes := map[string]http.Handler{
		"/": http.HandlerFunc(s.page), "/v1/releases": public(s.releases), "/v1/metrics": public(names), "/openapi.yaml": public(api),
		"/-/healthy": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeLine(w, http.StatusOK, "healthy") }),
		"/-/ready":   http.HandlerFunc(s.ready),
		"/metrics": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			metrics.ServeHTTP(w, r)
		}),
	}
	for path, h := range routes {
		routes[path] = s.metrics.counted(path, h)
	}
	unknown := s.metrics.counted("other", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, errorAnswer{Error: "nothing is at this address: /openapi.yaml lists all addresses"})
	}))
	refused := func(code int, text string) http.Handler {
		return s.metrics.counted("other", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close") // with what is left of the request
			fail(w, code, errorAnswer{Error: text})
		}))
	}
	method := refused(http.StatusMethodNotAllowed, "only GET and HEAD are answered")
	long := refused(http.StatusRequestURITooLong, fmt.Sprintf("the address is longer than %d bytes", maxURL))
	withBody := refused(http.StatusBadRequest, "a request must not have a body: put parameters into the query")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		h := routes[r.URL.Path]
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			h = method
		case len(r.RequestURI) > maxURL:
			h = long
		case r.ContentLength != 0:
			h = withBody
		case h == nil:
			h = unknown
		}
		h.ServeHTTP(w, r)
	}), nil
}

// secure sets what every answer has. The page has a policy of its own.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// public lets the scripts of any page read an answer: it is the same for all.
func public(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Expose-Headers", "ETag")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		h(w, r)
	})
}

// quiet drops what net/http has to say of clients, who could fill a log with it, and passes on
// what it says of itself.
type quiet struct{ say func(string) }

// Write implements io.Writer.
func (q quiet) Write(b []byte) (int, error) {
	if text := string(b); strings.HasPrefix(text, "http: Accept error") || strings.HasPrefix(text, "http: panic") {
		line, _, _ := strings.Cut(text, "\n")
		q.say(line)
	}
	return len(b), nil
}
