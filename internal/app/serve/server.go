package serve

import (
	"cmp"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/report"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
)

// server holds the shared state of the handlers.
type server struct {
	deployment *deployment.Deployment
	options    Options
	metrics    *metrics
	configured map[string]bool // names of the configured metrics

	view      atomic.Pointer[view]
	complete  atomic.Bool  // the view contains all values that were settled at the start
	responded atomic.Int64 // time of Kafka's last response, in Unix milliseconds
	ending    atomic.Bool

	// Only show uses the following fields.
	settled   report.Settled
	published time.Time        // publication time of the newest turn
	began     map[string]int64 // by metric: end of its newest window when the view became complete
	since     time.Time        // time when the view became complete
	warned    bool             // the warning about another configuration was logged
}

func newServer(d *deployment.Deployment, o Options) (*server, error) {
	s := &server{deployment: d, options: o, configured: map[string]bool{}}
	s.metrics = newMetrics(func() float64 { return float64(s.responded.Load()) / 1000 })
	for _, m := range d.Metrics {
		s.configured[m.Spec.Name] = true
	}
	s.responded.Store(time.Now().UnixMilli())
	return s, s.show(nil, false)
}

// show replaces the served values with rows. complete reports whether all values that were settled
// at the start have been read. show must not be called concurrently.
func (s *server) show(rows []schemas.Release, complete bool) error {
	text := "Values are still being read."
	if complete {
		text = fmt.Sprintf("The newest windows of each metric, at most %s.", terminal.Number(float64(s.options.Keep),
			0))
	}
	title := cmp.Or(s.options.Title, s.deployment.Config.Deployment)
	mark := ""
	if complete {
		all, behind := s.redefinedMetrics(rows)
		if len(all) > 0 {
			mark = "The newest values were released under a different configuration from the one described here."
		}
		if len(behind) > 0 && !s.warned {
			s.options.Logger.Warn("the newest values were released under another configuration: restart tollgate "+
				"serve with the configuration in force", "metrics", behind)
		}
		s.warned = len(behind) > 0
	}
	live := report.Live{Every: s.options.Refresh, Kept: text}
	if complete {
		now := time.Now()
		s.since = cmp.Or(s.since, now)
		live.Due = report.DueOf(s.deployment, s.since, now)
		if live.Due.Past(s.settled, s.published) {
			live.Due = nil
			live.Kept += " The last ones were published at " + s.published.UTC().Format("2006-01-02 15:04") + " UTC."
		}
	}
	v, err := newView(s.deployment, rows, report.Options{Title: title, Mark: mark, Settled: s.settled}, live)
	if err != nil {
		return err
	}
	s.view.Store(v)
	s.complete.Store(complete)
	s.metrics.values.Set(float64(len(v.rows)))
	return nil
}

// redefined returns in all the names of the metrics whose newest values were released under another
// definition (bounds, ladder, filter, target) than the configured one. behind lists those of them
// whose configured definition is older than the newest values: earlier values were released under
// it, or the newest values appeared while this process was running. For the other metrics, the
// configured definition may be newer: right after a change, no value has been released under it.
func (s *server) redefinedMetrics(rows []schemas.Release) (all, behind []string) {
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

// quiet filters the log of net/http. It drops lines about clients, because clients could fill the
// log, and passes on lines about the server itself.
type quiet struct{ log func(string) }

// Write implements io.Writer.
func (q quiet) Write(b []byte) (int, error) {
	if text := string(b); strings.HasPrefix(text, "http: Accept error") || strings.HasPrefix(text, "http: panic") {
		line, _, _ := strings.Cut(text, "\n")
		q.log(line)
	}
	return len(b), nil
}
