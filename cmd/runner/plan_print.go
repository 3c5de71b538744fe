package main

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/tollgate-dp/tollgate/internal/plan"
	"github.com/tollgate-dp/tollgate/internal/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// writePromise writes what users are promised: first what it means, then the exact terms.
func writePromise(b *strings.Builder, p *plan.Plan) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	what := "all of their events, for ever"
	if p.Period != "" {
		what = "all of their events in one period of " + p.Period
	}
	line("privacy", "what is released would be almost as likely without any one user and")
	line("", "%s: (%s, %s)-differential privacy, accountant %s", what, number(p.Epsilon), number(p.Delta), p.Accountant)
	if p.Trust == pipeline.TrustProducer {
		line("", "if the times in the records are right (producer-time promise)")
	} else {
		line("", "the brokers' clocks decide about times, whatever producers write (append-time promise)")
	}
	for i, n := range p.Periods {
		if n.Periods > 1 {
			name := ""
			if i == 1 {
				name = "periods"
			}
			line(name, "a user who is active in %d periods, all together: (%s, %s)", n.Periods, number(n.Epsilon), number(n.Delta))
		}
	}
	line("budget", "each user can pay a privacy loss μ of %s (that of one release with Gaussian noise)", number(p.Mu))
	switch {
	case p.DeltaKeys > 0 && p.HasPrivate():
		line("", "δ: %s of the %s is for hiding which private keys exist", number(p.DeltaKeys), number(p.Delta))
	case p.DeltaKeys > 0:
		line("", "δ: %s of the %s is reserved for metrics with private keys that may be added later", number(p.DeltaKeys), number(p.Delta))
	}
	for _, text := range p.Notes {
		line("note", "%s", text)
	}
}

// writeMetrics writes a table of the metrics.
func writeMetrics(b *strings.Builder, p *plan.Plan) {
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(b)
	fmt.Fprintln(w, "metric\tkind\twindow\tkeys\tfirst noise σ\tleast noise σ\treleased\ttarget\tmet by counts\twindows for every user\tlasting")
	for i := range p.Metrics {
		m := &p.Metrics[i]
		window := m.Window
		if m.Slide != "" {
			window += " every " + m.Slide
		}
		keys, released := m.Keys, "in every window"
		switch {
		case m.KeysFrom != "":
			keys, released = "those of "+m.KeysFrom, "where those are"
		case m.PublicKeys > 0:
			keys = fmt.Sprintf("%s %s", terminal.Number(float64(m.PublicKeys), 0), m.Keys)
		}
		if m.Threshold != nil {
			released = "above " + ceiling(*m.Threshold)
		}
		windows, lasts := terminal.Number(float64(m.Windows), 0), m.Lasts
		if m.Alone && m.Windows > 0 {
			windows = "up to " + windows
			if p.Period == "" {
				lasts = "up to " + lasts
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", terminal.Key(m.Name, 40), m.Kind, window, terminal.Key(keys, 40),
			rounded(m.FirstSigma), rounded(m.TopSigma), released, targetOf(m), meetableFrom(m), windows, lasts)
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
}

func targetOf(m *plan.Metric) string {
	var parts []string
	if m.Relative > 0 {
		parts = append(parts, "± "+number(m.Relative*100)+" %")
	}
	if m.Absolute > 0 {
		parts = append(parts, "± "+number(m.Absolute))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " or ") + " at " + number(m.Confidence*100) + " %"
}

func meetableFrom(m *plan.Metric) string {
	switch {
	case m.Relative == 0 && m.Absolute == 0:
		return "no target"
	case m.MeetableFrom == nil:
		return "none"
	case *m.MeetableFrom == 0:
		return "all"
	}
	return "from " + ceiling(*m.MeetableFrom)
}

func ceiling(v float64) string { return terminal.Number(math.Ceil(v), 0) }

// rounded writes a standard deviation to three digits.
func rounded(v float64) string {
	if v >= 100 {
		return terminal.Number(v, 0)
	}
	return fmt.Sprintf("%.3g", v)
}

// writeLimits writes what is not protected.
func writeLimits(b *strings.Builder, p *plan.Plan) {
	b.WriteString("\nnot protected:\n")
	for _, text := range p.Limits {
		fmt.Fprintf(b, "- %s\n", text)
	}
}
