package advice

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Setting is what can be chosen.
type Setting struct {
	Window       time.Duration `json:"-"`
	WindowText   string        `json:"window"`
	KeysPerUser  int           `json:"max_keys_per_user"`
	EventsPerKey int           `json:"max_events_per_key"`
	LastAtLeast  int           `json:"last_at_least"`
	Epsilon      float64       `json:"epsilon"`
	// Relative is the relative error of the target; 0 for none.
	Relative float64 `json:"relative"`
	// Absolute is the absolute error of the target; 0 for none.
	Absolute float64 `json:"absolute,omitempty"`
	// DeltaKeys is the part of δ for private keys; 0 stands for the configuration's own
	// delta_keys, or for its default.
	DeltaKeys float64 `json:"delta_keys,omitempty"`
	Together  bool    `json:"all_events_together,omitempty"` // without keys
	// Min and Max are what values are clamped to; both 0 for what has no values.
	Min int64 `json:"min,omitempty"`
	Max int64 `json:"max,omitempty"`
}

// bounds are what is chosen of what one user can add.
type bounds struct {
	keys, events int
	least, most  int64
}

func (s *Setting) bounds() bounds { return bounds{s.KeysPerUser, s.EventsPerKey, s.Min, s.Max} }

// price is what bounds cost by those of another setting: keys times the square of what one event
// or value can add.
func (b bounds) price() float64 {
	each := float64(b.events) * float64(max(b.most, -b.least, 1))
	return float64(b.keys) * each * each
}

// BoundsText writes the bounds of a setting: keys × events, and the range of values.
func BoundsText(s Setting) string {
	text := fmt.Sprintf("%d × %d", s.KeysPerUser, s.EventsPerKey)
	if s.Min != 0 || s.Max != 0 {
		text += fmt.Sprintf(", %d to %d", s.Min, s.Max)
	}
	return text
}

// Terms are what all settings of an answer have in common: what is promised, and how exact values
// are to be.
type Terms struct {
	Delta      float64
	Accountant string
	Planned    float64 // the part of the promise that choosing has spent
	Target     noisereduction.Target
	// Metric is the one of a configuration that is planned; "" is one of its own. File is the text
	// of the configuration, and Place where the metric is in it.
	Metric string
	File   []byte
	Place  int
	// Kind is that of the metric; "" is the usual one.
	Kind string
	// Statistics are the metric's, as far as they were given.
	Statistics deployment.Statistics
	// Decimals is how many decimals of values are kept, which section events of a configuration
	// says.
	Decimals int
	// Keys is what a configuration has under keys:, in one line; "" is private keys.
	Keys string
	// Command writes the whole command that does the same with the events; nil: there is none.
	Command func(Setting) string
}

// kind is that of the metric.
func (t *Terms) kind() metrickind.Kind {
	if t.Kind == "" {
		return metrickind.Offered()[0]
	}
	return metrickind.Of(t.Kind)
}

// statistics writes those fields of the metric's statistics that were given.
func (t *Terms) statistics(line func(format string, args ...any)) {
	numbers := func(name string, of []float64) {
		var texts []string
		for _, v := range of {
			texts = append(texts, strconv.FormatFloat(v, 'f', -1, 64))
		}
		if len(of) > 0 {
			line("    %s: [%s]", name, strings.Join(texts, ", "))
		}
	}
	s := &t.Statistics
	numbers("ranks", s.Ranks)
	numbers("edges", s.Edges)
	if s.Buckets != 0 {
		line("    buckets: %d", s.Buckets)
	}
	if s.Scale != "" {
		line("    scale: %s", s.Scale)
	}
	if len(s.Also) > 0 {
		line("    also: [%s]", strings.Join(s.Also, ", "))
	}
}

// whole returns the metric of the configuration with a setting in it, to be pasted.
func (t *Terms) whole(s *Setting) string {
	var file struct {
		Metrics []yaml.MapSlice `yaml:"metrics"`
	}
	if err := yaml.UnmarshalWithOptions(t.File, &file, yaml.UseOrderedMap()); err != nil || t.Place >= len(file.Metrics) {
		return "" // the configuration was read before
	}
	at := func(m yaml.MapSlice, name string) int {
		return slices.IndexFunc(m, func(f yaml.MapItem) bool { return f.Key == name })
	}
	put := func(m *yaml.MapSlice, name string, v any) {
		if i := at(*m, name); i >= 0 {
			(*m)[i].Value = v
		} else {
			*m = append(*m, yaml.MapItem{Key: name, Value: v})
		}
	}
	m := file.Metrics[t.Place]
	put(&m, "window", yaml.MapSlice{{Key: "size", Value: config.Duration(s.Window)}})
	bounds := yaml.MapSlice{{Key: "max_keys_per_user", Value: s.KeysPerUser}, {Key: "max_events_per_key", Value: s.EventsPerKey}}
	if t.kind().Values {
		put(&bounds, "min", s.Min)
		put(&bounds, "max", s.Max)
	}
	put(&m, "bounds", bounds)
	var target yaml.MapSlice
	old := at(m, "target")
	if old >= 0 {
		target, _ = m[old].Value.(yaml.MapSlice)
	}
	target = slices.DeleteFunc(target, func(f yaml.MapItem) bool { return f.Key == "relative" })
	if s.Relative > 0 {
		put(&target, "relative", s.Relative)
	}
	if len(target) > 0 {
		put(&m, "target", target)
	} else if old >= 0 {
		m = slices.Delete(m, old, old+1)
	}
	put(&m, "last_at_least", s.LastAtLeast)
	text, err := yaml.MarshalWithOptions([]yaml.MapSlice{m}, yaml.Indent(2))
	if err != nil {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\n  ") + "\n"
}

// yaml returns a setting as the sections privacy and metrics of a configuration file, or as the
// whole metric of one.
func (t *Terms) yaml(p *Point) string {
	s := &p.Setting
	if t.Metric != "" {
		return t.whole(s)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if t.Decimals > 0 {
		line("# Needs decimals: %d in the section events.", t.Decimals)
	}
	line("privacy:")
	line("  epsilon: %s", number(s.Epsilon))
	line("  delta: %s", number(t.Delta))
	if s.DeltaKeys != 0 {
		line("  delta_keys: %s", number(s.DeltaKeys))
	}
	if t.Accountant != "" {
		line("  accountant: %s", t.Accountant)
	}
	if t.Planned > 0 {
		line("  planned: %s", number(t.Planned))
	}
	line("metrics:")
	line("  - name: events")
	line("    kind: %s", t.kind().Name)
	line("    keys: %s", or(t.Keys, "{mode: private}"))
	t.statistics(line)
	line("    window: {size: %s}", config.Duration(s.Window))
	within := ""
	if s.Min != 0 || s.Max != 0 {
		within = fmt.Sprintf(", min: %d, max: %d", s.Min, s.Max)
	}
	line("    bounds: {max_keys_per_user: %d, max_events_per_key: %d%s}", s.KeysPerUser, s.EventsPerKey, within)
	var target []string
	if s.Relative > 0 {
		target = append(target, "relative: "+number(s.Relative))
	}
	if s.Absolute > 0 {
		target = append(target, "absolute: "+number(s.Absolute))
	}
	if len(target) > 0 {
		line("    target: {%s, confidence: %s}", strings.Join(target, ", "), number(t.Target.Confidence))
	}
	if t.Keys == "" && p.FirstSigma < 1.5*p.TopSigma { // not the default, which is twice the top's
		first, _ := strconv.ParseFloat(strconv.FormatFloat(p.FirstSigma, 'g', 4, 64), 64)
		line("    ladder: {first_sigma: %s}", number(first))
	}
	line("    last_at_least: %d", s.LastAtLeast)
	return b.String()
}

// Lasts says how long every user can take part, at the least.
func Lasts(s Setting) string {
	if s.Window > math.MaxInt64/time.Duration(max(1, s.LastAtLeast)) {
		return "more than 200 years"
	}
	return config.Duration(time.Duration(s.LastAtLeast) * s.Window)
}

// twoDigits rounds to two digits.
func twoDigits(v float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	return rounded
}

// number writes a number as people do: 1e-6.
func number(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'g', -1, 64), "e-0", "e-", 1)
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
