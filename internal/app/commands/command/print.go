package command

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
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

// PrintText writes a value as a line of JSON, or for people what a template makes of data.
func (a *App) PrintText(f cli.Format, value any, t *template.Template, data any) error {
	if f == cli.JSON {
		return a.PrintAs(f, value, nil)
	}
	text, err := Text(t, data)
	if err != nil {
		return err
	}
	return a.Print(text)
}

//go:embed output.txt
var output string

// Template returns a template of a text for people, with more functions. It can include the
// templates of output.txt.
func Template(text string, more ...template.FuncMap) *template.Template {
	functions := template.FuncMap{
		"count":   func(n any, noun string) string { return terminal.Count(uint64(float(n)), noun) },
		"number":  func(n any) string { return terminal.Number(float(n), 0) },
		"ceiling": terminal.Ceiling, "rounded": terminal.Rounded, "percent": words.Percent, "digits": words.Digits,
		"times": func(a, b float64) float64 { return a * b },
		"name":  terminal.Key, "meaning": deployment.Meaning, "moment": Moment, "target": terminal.Target,
		"span":     timespan.Text,
		"time":     func(t time.Time) string { return t.Format(time.RFC3339) },
		"ago":      func(t, now time.Time) string { return timespan.Text(max(0, now.Sub(t)).Round(time.Second)) },
		"duration": time.ParseDuration,
		"rows":     func(head ...string) [][]string { return [][]string{head} },
		"row":      func(rows [][]string, cells ...string) [][]string { return append(rows, cells) },
		"table":    func(rows [][]string) string { return words.Table(rows...) },
		"linesOf":  strings.Lines,
		"join":     func(list []string) string { return strings.Join(list, ", ") },
		"lines": func(name, text string) string {
			return fmt.Sprintf("%-9s %s", name, strings.Join(words.Wrap(text, 70), "\n          "))
		},
		"paragraph": func(parts ...string) string { return words.Paragraph(strings.Join(parts, "")) },
	}
	t := template.New("").Funcs(functions)
	for _, m := range more {
		t.Funcs(m)
	}
	return template.Must(template.Must(t.Parse(output)).Parse(text))
}

func float(n any) float64 { return reflect.ValueOf(n).Convert(reflect.TypeFor[float64]()).Float() }

// Text returns what a template makes of data.
func Text(t *template.Template, data any) (string, error) {
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("writing output: %w", err)
	}
	return b.String(), nil
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

// Names are printed with commas between them; in JSON they are an array.
type Names []string

func (n Names) String() string { return strings.Join(n, ", ") }

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

// PlacesOf returns the position of each metric in a deployment, from 0.
func PlacesOf(d *deployment.Deployment) map[string]int {
	places := map[string]int{}
	for i := range d.Metrics {
		places[d.Metrics[i].Spec.Name] = i
	}
	return places
}
