package deployfiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
)

type panel struct {
	Title, Type string
	Targets     []struct{ Expr, LegendFormat string }
	Panels      []panel // of a collapsed row
}

// panels returns the panels of the dashboard, those of collapsed rows included.
func panels(t *testing.T) []panel {
	t.Helper()
	var d panel
	ok(t, json.Unmarshal(file(t, "monitoring/dashboard.json"), &d))
	all := slices.Clone(d.Panels)
	for _, p := range d.Panels {
		all = append(all, p.Panels...)
	}
	if len(all) < 20 {
		t.Errorf("only %d panels", len(all))
	}
	return all
}

// asked is a query as Grafana sends it, with all runs, and a scrape every two seconds.
func asked(expr string) string {
	return strings.NewReplacer("$instance", ".*", "$__rate_interval", "8s").Replace(expr)
}

// Every panel shows something of a run and its page that Prometheus has scraped, and nothing of
// either is named after what events brought.
func TestEveryPanelShowsARunThatWasScraped(t *testing.T) {
	p := scrapedRun(t)
	for _, panel := range panels(t) {
		for _, q := range panel.Targets {
			series := p.await(t, asked(q.Expr))
			for _, s := range series {
				if legend := legendOf(q.LegendFormat, s); strings.Contains(legend, "{{") {
					t.Errorf("%s: no label for %s: %v", panel.Title, q.LegendFormat, s.Metric)
				}
			}
		}
	}
	for _, rule := range alerts(t) {
		if firing := p.query(t, rule.Expr); len(firing) != 0 {
			t.Errorf("%s would fire for a run that is well: %v", rule.Alert, firing)
		}
	}
	for _, s := range p.query(t, `{__name__=~".+"}`) {
		if text := s.Metric.String(); strings.Contains(text, "user-") || strings.Contains(text, "/home") {
			t.Errorf("a series has a user or a key: %s", text)
		}
	}
}

func legendOf(format string, s promql.Sample) string {
	for name, value := range s.Metric.Map() {
		format = strings.ReplaceAll(format, "{{"+name+"}}", value)
	}
	return format
}

// visits are events of the two minutes before a time, and one record that is no event.
func visits(now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, `{"who": 7}`)
	for i := range 12000 {
		at := now.Add(-2*time.Minute + time.Duration(i)*10*time.Millisecond)
		fmt.Fprintf(&b, "{\"who\": \"user-%d\", \"page\": %q, \"at\": %d}\n", i, []string{"/cart", "/home", "/search"}[i%3], at.UnixMilli())
	}
	return b.Bytes()
}
