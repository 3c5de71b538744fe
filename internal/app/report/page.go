package report

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

//go:embed page
var files embed.FS

// scripts lists the parts of the page's script, in order.
var scripts = [...]string{
	"format.js", "shell.js", "data.js", "scale.js", "plot.js", "svg.js", "tooltip.js", "chart.js", "histogram.js",
	"picker.js", "sort.js", "table.js", "link.js", "main.js",
}

// assets are the constant parts of pages.
type assets struct {
	page          *template.Template
	script, style string
}

var (
	fileAssets = sync.OnceValues(func() (*assets, error) { return loadAssets(scripts[:]...) })
	liveAssets = sync.OnceValues(func() (*assets, error) { return loadAssets(append(scripts[:], "live.js")...) })
)

// loadAssets joins parts into one script, and reads the template and the style.
func loadAssets(scripts ...string) (*assets, error) {
	var b strings.Builder
	b.WriteString("(() => {\n\"use strict\";\n")
	for _, name := range scripts {
		text, err := files.ReadFile("page/" + name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			code, _, _ := strings.Cut(strings.TrimSpace(line), "// ") // no string in the scripts contains "// "
			if code = strings.TrimRight(code, " "); code != "" {
				b.WriteString(code + "\n")
			}
		}
	}
	b.WriteString("})();\n")
	style, err := files.ReadFile("page/style.css")
	if err != nil {
		return nil, err
	}
	page, err := template.ParseFS(files, "page/page.tmpl")
	return &assets{page: page, script: b.String(), style: string(style)}, err
}

// policy returns the content security policy of a page, which allows only its own script and style.
func (a *assets) policy() string {
	source := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + source(a.script) + "; style-src " + source(a.style) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
}

// page holds the data of the template.
type page struct {
	Title, Generated, Source string
	Zone                     string // time zone of windows; "": UTC
	Mark                     string
	Meaning                  string // meaning of the promise, shown below "What these values show"
	Promised                 []fact
	Uncovered                []string
	Biased                   bool // some values may belong to private keys
	Lopsided                 bool // some values are closer to one end of their interval than to the other
	Sections                 []section
	Data                     json.RawMessage
	Style                    template.CSS
	Script                   template.JS
	Policy                   string
	Live                     *live // nil for a file, which never changes
	Settled                  int64 // end of the newest settled window in Unix milliseconds; 0: no window is settled
}

// section is the part of the page for one metric, with its statistics and counted share.
type section struct {
	ID, Name, Tag string
	metric        string // name of the metric
	Facts         []fact
	Tiles         []fact
	Error         string // typical difference from the real counts, or typical noise
	Bounds        string // caps on each user; "" if unknown
	Share         string // counted share of the newest window's events; "" if unknown
	Nothing       string // text in place of a chart
	Silent        string // notice that the newest windows have no values; "" if they have values
	Partial       string // notice that values are missing on the page; "" if none is missing
	Gaps          string // meaning of a missing key; "" if no key can be missing
	Chart         int    // index in the data block; -1 if nothing was released
	Beside        []section
}

func newPage(p promise, released []*series, o Options) (*page, error) {
	p.zone = cmp.Or(o.Zone, p.zone)
	out := &page{Title: cmp.Or(o.Title, "Tollgate report"), Source: o.Source, Mark: o.Mark, Zone: p.zone}
	if !o.Generated.IsZero() {
		out.Generated = o.Generated.UTC().Format("2006-01-02 15:04")
	}
	if !o.Settled.End.IsZero() {
		out.Settled = o.Settled.End.UnixMilli()
	}
	p.noiseKeys = noiseKeys(p, released)
	out.Meaning = deployment.Meaning(p.epsilon, p.delta)
	out.Promised, out.Uncovered = p.promised(o.Scope), p.uncovered(o.Notes)
	data := []metricData{}
	for i, m := range joinParts(p.everyMetric(released)) {
		if o.Scope != "" { // a demo, whose only metric has a name that the reader does not know
			m.subject = p.valueField
		}
		out.Biased = out.Biased || !m.known || m.KeyMode == deployment.KeysPrivate
		out.Lopsided = out.Lopsided || metrickind.Of(m.Kind).Statistic != nil
		s := section{
			ID: fmt.Sprintf("metric-%d", i+1), Name: m.title(), Tag: m.tag() + m.inUnits(p.valueUnit), metric: m.Name,
			Facts: m.facts(p.valueField, p.valueUnit, p.zoneName()), Chart: -1, Gaps: p.gaps(m),
			Bounds: m.bounds(), Nothing: cmp.Or(o.nothing, "Nothing was published: no window has ended, or no key had "+
				"enough events."),
		}
		first, last, count := o.Settled.windows(wallclock.Of(p.zone), m.WindowSize, m.WindowSlide)
		values := m.valuesOf(released)
		if values != nil {
			sum := values.summary()
			sum.extend(first, last, count, m.WindowSize, m.WindowSlide)
			s.Chart, s.Tiles, s.Partial, s.Silent = len(data), sum.tiles(m.targeted()), values.partial(sum),
				sum.unreleased()
			s.Error = cmp.Or(o.Error, values.typicalNoise(m))
			data = append(data, dataOf(values, m, p.sizing(m, released), sum))
		} else if count > 0 {
			s.Nothing = fmt.Sprintf("Nothing was released: 0 of %s have values.", terminal.Count(int(count),
				"settled window"))
		}
		kind := metrickind.Of(m.Kind)
		parent := slices.IndexFunc(out.Sections, func(s section) bool { return kind.Derived() && s.metric == m.Of })
		switch {
		case parent < 0:
			out.Sections = append(out.Sections, s)
		case kind.Statistic != nil && kind.ValueOf() == "": // a configured statistic precedes the events that it needs
			events := out.Sections[parent]
			s.metric, s.Share, s.Beside = events.metric, events.Share, append([]section{events}, events.Beside...)
			s.Beside[0].Tag, s.Beside[0].Share, s.Beside[0].Beside = "number of events", "", nil
			out.Sections[parent] = s
		default:
			if kind.Share && s.Chart >= 0 {
				out.Sections[parent].Share = values.newestShare(m, out.Sections[parent].Gaps != "")
			}
			out.Sections[parent].Beside = append(out.Sections[parent].Beside, s)
		}
	}
	var err error
	if out.Data, err = json.Marshal(map[string]any{"metrics": data}); err != nil {
		return nil, fmt.Errorf("encoding releases: %w", err)
	}
	return out, nil
}

// gaps explains a key that is missing in a window. It returns "" for public keys.
func (p promise) gaps(m metricFacts) string {
	gap := "Where a line breaks"
	if m.joined() && !m.ranked() {
		gap = "If a key has no bars"
	}
	source := slices.IndexFunc(p.metrics, func(source metricFacts) bool {
		return m.KeyMode == deployment.KeysFrom && source.Name == m.KeysFrom
	})
	if source >= 0 {
		m = p.metrics[source]
	}
	if !m.known || m.KeyMode == deployment.KeysPublic {
		return ""
	}
	return gap + ", the key was not released in that window: it is absent, not zero."
}

func (f metricFacts) id() seriesID { return seriesID{f.Name, f.WindowSize} }

// everyMetric returns the metrics of the configuration, in order, and then those released under
// another configuration.
func (p promise) everyMetric(released []*series) []metricFacts {
	out := slices.Clone(p.metrics)
	for _, s := range released {
		if !slices.ContainsFunc(p.metrics, func(m metricFacts) bool { return m.id() == s.id }) {
			f := metricFacts{}
			f.Name, f.WindowSize = s.id.name, s.id.size
			out = append(out, f)
		}
	}
	return out
}

// noiseKeys returns the ids of the configured noise key and of the releases' noise keys.
func noiseKeys(p promise, released []*series) []string {
	ids := slices.Clone(p.noiseKeys)
	for _, s := range released {
		for id := range s.noise {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

func (f metricFacts) tag() string {
	switch {
	case !f.known:
		return millis(f.WindowSize) + " windows"
	case f.joined() && !f.ranked():
		return terminal.Count(f.buckets(), "bucket")
	case f.joined():
		return f.ranks()
	}
	return metrickind.Of(f.Kind).Texts.Label
}

// inUnits returns the end of a tag that states the unit of values, or "" if the values have none.
// Numbers of events have no unit, and shares have the unit of their edges.
func (f metricFacts) inUnits(unit string) string {
	kind := metrickind.Of(f.Kind)
	if unit != "" && kind.Tree == nil && strings.Contains(kind.Texts.Value, "{value}") {
		return ", in units of " + unit
	}
	return ""
}

// tiles returns the figures over all windows.
func (s summary) tiles(targeted bool) []fact {
	span := func(low, high string) string {
		if low == high {
			return low
		}
		return low + " to " + high
	}
	windows := terminal.Number(float64(len(s.windows)), 0)
	if s.settled > len(s.windows) {
		windows = fmt.Sprintf("%s of %s have values", windows, terminal.Number(float64(s.settled), 0))
	}
	out := []fact{plain("windows", windows), plain("released values", terminal.Number(float64(s.count), 0))}
	if targeted {
		out = append(out, plain("as exact as asked", words.Percent(float64(s.met)/float64(s.count))))
	}
	return append(out,
		exactly("noise (standard deviation σ)", span(terminal.Rounded(s.sigmaMin), terminal.Rounded(s.sigmaMax))),
		exactly("rungs", span(terminal.Number(float64(s.rungsMin), 0), terminal.Number(float64(s.rungsMax), 0))),
	)
}

// partial states which values of a series are on the page, or returns "" if all of them are.
func (s *series) partial(all summary) string {
	if all.count == len(s.points) {
		return ""
	}
	shown := map[int64]struct{}{}
	for _, p := range s.points {
		shown[p.end] = struct{}{}
	}
	text := fmt.Sprintf("Charts and table show %s of %s released values: ", terminal.Number(float64(len(s.points)), 0),
		terminal.Number(float64(all.count), 0))
	if len(shown) == 1 {
		return text + "those of the newest window, or the largest of them. The figures above are over all released " +
			"values."
	}
	return text + fmt.Sprintf("those of the newest %s windows. The figures above are over all released values.",
		terminal.Number(float64(len(shown)), 0))
}
