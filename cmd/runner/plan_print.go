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

// writePromise says what users are promised.
func writePromise(b *strings.Builder, p *plan.Plan) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	whom := "for each user with all of their events, for ever"
	if p.Period != "" {
		whom = "for each user in each period of " + p.Period
	}
	line("privacy", "(%s, %s)-differential privacy, accountant %s,", number(p.Epsilon), number(p.Delta), p.Accountant)
	line("", "%s", whom)
	if p.Trust == pipeline.TrustProducer {
		line("", "producer-time promise: the times in the records must be right")
	} else {
		line("", "append-time promise: the brokers' clocks decide, whatever producers say")
	}
	for i, n := range p.Periods {
		if n.Periods > 1 {
			name := ""
			if i == 1 {
				name = "periods"
			}
			line(name, "a user of %d periods, all together: (%s, %s)", n.Periods, number(n.Epsilon), number(n.Delta))
		}
	}
	line("budget", "μ up to %s per user", number(p.Mu))
	switch {
	case p.DeltaKeys > 0 && p.HasPrivate():
		line("", "%s of δ for protecting which keys there are", number(p.DeltaKeys))
	case p.DeltaKeys > 0:
		line("", "%s of δ reserved for metrics with private keys that may come later", number(p.DeltaKeys))
	}
	for _, text := range p.Notes {
		line("note", "%s", text)
	}
}

// writeMetrics is a table of the metrics.
func writeMetrics(b *strings.Builder, p *plan.Plan) {
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(b)
	fmt.Fprintln(w, "metric\tkind\twindow\tkeys\tσ first\tσ top\treleased above\ttarget\tmet from\tevery user's windows\tlasts")
	for i := range p.Metrics {
		m := &p.Metrics[i]
		window := m.Window
		if m.Slide != "" {
			window += " every " + m.Slide
		}
		keys, always := m.Keys, "every window"
		switch {
		case m.KeysFrom != "":
			keys, always = "those of "+m.KeysFrom, "where they are"
		case m.PublicKeys > 0:
			keys = fmt.Sprintf("%s %s", terminal.Number(float64(m.PublicKeys), 0), m.Keys)
		}
		windows, lasts := terminal.Number(float64(m.Windows), 0), m.Lasts
		if m.Alone && m.Windows > 0 {
			windows = "up to " + windows
			if p.Period == "" {
				lasts = "up to " + lasts
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", terminal.Key(m.Name, 40), m.Kind, window, terminal.Key(keys, 40),
			rounded(m.FirstSigma), rounded(m.TopSigma), optional(m.Threshold, always), targetOf(m), meetableFrom(m), windows, lasts)
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
		return "never"
	case m.MeetableFrom != nil && *m.MeetableFrom == 0:
		return "every count"
	}
	return optional(m.MeetableFrom, "no count")
}

func optional(v *float64, otherwise string) string {
	if v == nil {
		return otherwise
	}
	return terminal.Number(math.Ceil(*v), 0)
}

// rounded writes a deviation to three digits.
func rounded(v float64) string {
	if v >= 100 {
		return terminal.Number(v, 0)
	}
	return fmt.Sprintf("%.3g", v)
}

// writeLimits says what is not protected.
func writeLimits(b *strings.Builder, p *plan.Plan) {
	b.WriteString("\nnot protected:\n")
	for _, text := range p.Limits {
		fmt.Fprintf(b, "- %s\n", text)
	}
}
