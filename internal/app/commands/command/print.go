package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Print writes text to stdout.
func (a *App) Print(text string) error {
	if _, err := io.WriteString(a.Stdout, text); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// PrintAs writes a value as a line of JSON, or the text for people.
func (a *App) PrintAs(f cli.Format, value any, text func(b *strings.Builder)) error {
	var b strings.Builder
	if f != cli.JSON {
		text(&b)
		return a.Print(b.String())
	}
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encoding output: %w", err)
	}
	return a.Print(b.String())
}

// PrintFields writes pairs of a name and a value as a table for people, or as one JSON object with
// its members in the same order. Values are strings, numbers or Names.
func (a *App) PrintFields(f cli.Format, pairs []any) error {
	return a.PrintAs(f, object(pairs), func(b *strings.Builder) {
		var rows [][]string
		for i := 0; i < len(pairs); i += 2 {
			rows = append(rows, []string{fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])})
		}
		b.WriteString(words.Table(rows...))
	})
}

// Lines returns a function that writes a line: a name, padded to a width, and a text.
func Lines(b *strings.Builder, width int) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-*s %s\n", width, name, fmt.Sprintf(format, args...))
	}
}

// object is a JSON object: pairs of a name and a value, in the order of its members.
type object []any

// MarshalJSON implements json.Marshaler.
func (pairs object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i := 0; i < len(pairs); i += 2 {
		value, err := json.Marshal(pairs[i+1])
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", pairs[i], err)
		}
		fmt.Fprintf(&b, ",%q:%s", pairs[i], value)
	}
	return append(append([]byte("{"), bytes.TrimPrefix(b.Bytes(), []byte(","))...), '}'), nil
}

// WriteValues writes one line per field, with its old and its new value.
func WriteValues(b *strings.Builder, indent string, values []pipeline.Value) {
	for _, v := range values {
		fmt.Fprintf(b, "%s%s: %s → %s\n", indent, v.Field, v.Was, v.Is)
	}
}

// Names are printed with commas between them; in JSON they are an array.
type Names []string

func (n Names) String() string { return strings.Join(n, ", ") }

// WritePromise writes what users are promised, with the exact terms if exact is set.
func WritePromise(b *strings.Builder, p *plan.Plan, exact bool) {
	line := Lines(b, 9)
	what := "all of their events, for ever"
	if p.Period != "" {
		what = "all of their events in one period of " + p.Period
	}
	line("privacy", "released counts %s and", deployment.Meaning(p.Epsilon, p.Delta))
	line("", "%s: (%s, %s)-differential privacy", what, words.Digits(p.Epsilon), words.Digits(p.Delta))
	if p.Trust == pipeline.TrustProducer {
		line("", "if the times in the records are right (producer-time promise)")
	} else {
		line("", "whatever times producers write: only the brokers' clocks count (append-time promise)")
	}
	if p.Zone != "" {
		line("windows", "begin at midnight in %s", p.Zone)
	}
	for i, n := range p.Periods {
		if n.Periods > 1 {
			name := ""
			if i == 1 {
				name = "periods"
			}
			line(name, "for a user who is active in %d periods, over all of them: (%s, %s)", n.Periods,
				words.Digits(n.Epsilon), words.Digits(n.Delta))
		}
	}
	if p.Planned > 0 {
		line("budget", "%s %% of the promise is already spent on choosing settings by the data",
			words.Digits(100*p.Planned))
	}
	if exact {
		line("exactly", "accountant %s: each user can pay a privacy loss μ of %s (that of one release with Gaussian "+
			"noise)", p.Accountant, words.Digits(p.Mu))
		switch {
		case p.DeltaKeys > 0 && p.HasPrivate():
			line("", "δ: %s of the %s hides which private keys exist", words.Digits(p.DeltaKeys), words.Digits(p.Delta))
		case p.DeltaKeys > 0:
			line("", "δ: %s of the %s is reserved for metrics with private keys that may be added later",
				words.Digits(p.DeltaKeys), words.Digits(p.Delta))
		}
	}
	for _, text := range p.Notes {
		line("note", "%s", text)
	}
}

// Moment formats a time in UTC, rounded up to a second, with the date unless it is today.
func Moment(t, now time.Time) string {
	t, now = t.Add(time.Second-1).UTC().Truncate(time.Second), now.UTC()
	layout := "15:04:05Z"
	if t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		layout = "2006-01-02 15:04:05Z"
	}
	return t.Format(layout)
}

// Row returns the row of a release in the table; keyed reports whether events have keys.
func Row(r schemas.Release, keyed bool) terminal.Row {
	if keyed {
		r.Key = cmp.Or(r.Key, terminal.EmptyKey)
	}
	return terminal.Row{
		Start: time.UnixMilli(r.WindowStart), End: time.UnixMilli(r.WindowEnd), Key: r.Key,
		Value: r.Count(), Low: r.Low, High: r.High, Met: r.Met, Lopsided: r.Metric != demo.MetricName,
	}
}

// ReleaseLines returns releases as lines of JSON. clock converts their times if these are readings
// of a zone's clock; else it is nil.
func ReleaseLines(d *pipeline.Deployment, releases []schemas.Release, clock *wallclock.Clock) ([]byte, error) {
	var b bytes.Buffer
	for _, r := range releases {
		r.WindowStart, r.WindowEnd = clock.Time(r.WindowStart), clock.Time(r.WindowEnd)
		unit := ""
		if i := slices.IndexFunc(d.Metrics, func(m deployment.CompiledMetric) bool {
			return m.Spec.Name == r.Metric
		}); i >= 0 && metrickind.Of(d.Metrics[i].Spec.Kind).HasUnit() {
			unit = d.Config.Events.Format.ValueUnit()
		}
		line, err := r.JSON(unit)
		if err != nil {
			return nil, err
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

// StatisticsOf returns the metric of which spec is a statistic; "" if it is not a statistic.
func StatisticsOf(spec *schemas.MetricSpec) string {
	if metrickind.Of(spec.Kind).Statistic == nil {
		return ""
	}
	return spec.Of
}

// PlacesOf returns the position of each metric in a deployment, from 0.
func PlacesOf(d *deployment.Deployment) map[string]int {
	places := map[string]int{}
	for i := range d.Metrics {
		places[d.Metrics[i].Spec.Name] = i
	}
	return places
}
