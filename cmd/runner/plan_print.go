package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/tollgate-dp/tollgate/internal/show"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/state"
)

// writePromise says what users are promised.
func (p *plan) writePromise(b *strings.Builder) {
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
	case p.DeltaKeys > 0 && p.hasPrivate():
		line("", "%s of δ for protecting which keys there are", number(p.DeltaKeys))
	case p.DeltaKeys > 0:
		line("", "%s of δ reserved for metrics with private keys that may come later", number(p.DeltaKeys))
	}
	for _, text := range p.Notes {
		line("note", "%s", text)
	}
}

func (p *plan) hasPrivate() bool {
	return slices.ContainsFunc(p.Metrics, func(m metricPlan) bool { return m.Keys == pipeline.KeysPrivate })
}

// writeMetrics is a table of the metrics.
func (p *plan) writeMetrics(b *strings.Builder) {
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
			keys = fmt.Sprintf("%s %s", show.Number(float64(m.PublicKeys), 0), m.Keys)
		}
		windows, lasts := show.Number(float64(m.Windows), 0), m.Lasts
		if m.Alone && m.Windows > 0 {
			windows = "up to " + windows
			if p.Period == "" {
				lasts = "up to " + lasts
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", show.Key(m.Name, 40), m.Kind, window, show.Key(keys, 40),
			rounded(m.FirstSigma), rounded(m.TopSigma), optional(m.Threshold, always), m.target(), m.meetable(), windows, lasts)
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
}

func (m *metricPlan) target() string {
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

func (m *metricPlan) meetable() string {
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
	return show.Number(math.Ceil(*v), 0)
}

// rounded writes a deviation to three digits.
func rounded(v float64) string {
	if v >= 100 {
		return show.Number(v, 0)
	}
	return fmt.Sprintf("%.3g", v)
}

// writeLimits says what is not protected.
func (p *plan) writeLimits(b *strings.Builder) {
	b.WriteString("\nnot protected:\n")
	for _, text := range p.Limits {
		fmt.Fprintf(b, "- %s\n", text)
	}
}

// notes are sentences on how to read the counts and the table of metrics.
func notes(d *pipeline.Deployment) []string {
	var out []string
	if slices.ContainsFunc(d.Metrics, func(m pipeline.CompiledMetric) bool { return m.Spec.KeyMode == pipeline.KeysPrivate }) {
		out = append(out, "a private key near its threshold is released only when its noise is high: such counts are biased up")
	}
	if most := deployment.PeriodsInAWindow(d); most > 1 {
		out = append(out, fmt.Sprintf("a window reaches into up to %d periods and is moved by what a user did in all of them: over several periods that is more than their budgets add up to, as said above. It is not where the period is a multiple of every window and no window slides", most))
	}
	if b := d.Budget; b.Keys.IsZero() {
		out = append(out, noReserve(b))
	}
	if !deployment.LastAtLeastFits(d) {
		out = append(out, "last_at_least asks for more windows, over all metrics, than the budget pays for at the given ladder.sigma: who uses the bounds to the full is left out earlier")
	}
	return out
}

// noReserve says what can never be changed where no part of δ is kept for private keys,
// and what it would cost to keep some.
func noReserve(b state.Budget) string {
	text := strconv.FormatFloat(b.Delta/10, 'g', 2, 64)
	out := "a deployment that begins with this configuration can never add a metric with private keys: none of δ is reserved for one. To keep that open begin it with privacy.delta_keys: " + text
	tenth, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return out
	}
	if reserved, err := state.NewBudget(b.Epsilon, b.Delta, b.Accountant, tenth); err == nil {
		out += fmt.Sprintf(", which takes %.2g %% of what users may spend", 100*(1-reserved.Mu2.Float()/b.Mu2.Float()))
	}
	return out
}

// limits are sentences on what a configuration does not protect.
func limits(cfg *pipeline.Config) []string {
	out := []string{
		"several ids of one person are several users",
		"targets, bounds and filters that were chosen by looking at the data",
		"whoever has the noise key, or can write to the deployment's own topics, is outside of the promise",
		"counts are of admitted events: users who have spent their budget are missing",
	}
	for i := range cfg.Metrics {
		if cfg.Metrics[i].Keys.Mode == pipeline.KeysPublic {
			out = append(out, "a list of public keys that was made by looking at the data")
			break
		}
	}
	if cfg.Time.Trust == pipeline.TrustProducer {
		out = append(out, "times are believed: a producer that writes wrong ones can move events into other windows, and make others late")
	}
	if cfg.Privacy.Period > 0 {
		out = append(out, "the promise is to a user in one period: whoever looks at several of them learns more, as said above")
	}
	return out
}
