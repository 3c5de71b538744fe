package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
)

// planAnswer is the output of plan, as text or as JSON.
type planAnswer struct {
	Trusted string    `json:"trusted"` // a warning
	Events  uint64    `json:"events"`
	Outside uint64    `json:"events_outside_range,omitempty"`
	From    time.Time `json:"first_event"`
	To      time.Time `json:"last_event"`
	// Windows has the best setting for each size of windows, and Epsilon the best ones for other ε
	// in the recommended window.
	Windows []plannedSetting `json:"windows"`
	Epsilon []plannedSetting `json:"epsilon,omitempty"`
	Nothing bool             `json:"nothing_of_use,omitempty"` // no setting gives useful values
	Best    plannedSetting   `json:"recommended"`
	YAML    string           `json:"yaml"`           // sections of a configuration
	Demo    string           `json:"demo,omitempty"` // flags for a demo of the same file with the same settings
}

// plannedSetting is an outcome and its setting, written as in flags.
type plannedSetting struct {
	Window string `json:"window"`
	Within string `json:"finest_noise"` // half the width of an interval at the target's confidence
	choice.Outcome
}

// plan returns the output for an advice.
func (f *planFlags) plan(a *choice.Advice) *planAnswer {
	planned := func(all ...choice.Outcome) (out []plannedSetting) {
		for _, o := range all {
			c := f.decided(o.Setting)
			out = append(out, plannedSetting{timespan.Text(o.Window), words.Digits(finest(&c)), o})
		}
		return out
	}
	return &planAnswer{Trusted: "made from raw data: not for publication. Settings that were chosen by looking at it " +
		"are not protected", Best: planned(a.Best)[0], Nothing: a.Best.Typical > choice.Useful,
		Windows: planned(a.Sizes...), Epsilon: planned(a.Epsilon...)}
}

//go:embed plan_output.txt
var planOutput string

// planTemplate returns a template of plan_output.txt: "text" (the output), "yaml" (for a
// configuration) or "target".
func planTemplate(name string) *template.Template {
	return command.Template(planOutput, template.FuncMap{"yaml": yamlOf, "flow": flow}).Lookup(name)
}

// yamlOf returns a value as YAML.
func yamlOf(value any) string {
	switch v := value.(type) {
	case float64:
		return strings.Replace(words.Digits(v), "e-0", "e-", 1)
	case time.Duration:
		return timespan.Text(v)
	case []float64, []string:
		list, _ := json.Marshal(v) //nolint:errchkjson // also valid YAML
		return strings.ReplaceAll(string(list), ",", ", ")
	}
	return fmt.Sprint(value)
}

// flow returns pairs of names and values as a YAML mapping in one line. It leaves out zero values.
func flow(pairs ...any) string {
	var members []string
	for pair := range slices.Chunk(pairs, 2) {
		if set, _ := template.IsTrue(pair[1]); set {
			members = append(members, fmt.Sprintf("%v: %s", pair[0], yamlOf(pair[1])))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// yaml returns settings as the sections privacy and metrics of a configuration file.
func (f *demoFlags) yaml(s demo.Settings) (string, error) {
	keys, bounds := "{mode: private}", ""
	switch {
	case f.keyField == "": // a single key, which has no name
		keys = `{mode: public, list: [""]}`
	case f.publicKeys != "":
		keys = publicKeysYAML(f.publicKeys, f.PublicKeys)
	}
	if s.Min != 0 || s.Max != 0 {
		bounds = fmt.Sprintf("min: %d, max: %d, ", s.Min, s.Max)
	}
	bounds += strings.Trim(flow("max_keys_per_user", f.MaxKeysPerUser, "max_events_per_key", f.MaxEventsPerKey), "{}")
	if bounds = strings.TrimSuffix(bounds, ", "); bounds != "" {
		bounds = "{" + bounds + "}"
	}
	return command.Text(planTemplate("yaml"), struct {
		demo.Settings
		Decimals           int
		Zone, Keys, Bounds string
		Days               bool // whether windows last whole days
	}{s, f.Decimals, f.times.Zone, keys, bounds, s.Window%(24*time.Hour) == 0})
}

// publicKeysYAML returns the field of a configuration for --public-keys.
func publicKeysYAML(value string, keys []string) string {
	field, list := "list", any(keys)
	if !strings.Contains(value, ",") && !slices.Equal(keys, []string{value}) {
		field, list = "list_file", value
	}
	quoted, _ := json.Marshal(list) //nolint:errchkjson // also valid YAML
	return fmt.Sprintf("{mode: public, %s: %s}", field, strings.ReplaceAll(string(quoted), `","`, `", "`))
}

// decidedFlags returns the demo flags for the chosen settings.
func (f *demoFlags) decidedFlags(s demo.Settings) string {
	text := "--window " + timespan.Text(s.Window) + " --" + f.noiseFlag() + " " + words.Digits(finest(&s)) +
		" --lasts " + timespan.Text(s.Lasts)
	if f.MetricKind().Tree != nil && s.Target.Absolute == 0 {
		text += " --absolute 0"
	}
	if f.openValues {
		text += " --min " + strconv.FormatInt(s.Min, 10) + " --max " + strconv.FormatInt(s.Max, 10)
	}
	return text
}

// typically formats a typical error.
func typically(o *choice.Outcome, real string) string {
	if o.Shown < 0.5 {
		return "nothing would be released"
	}
	return "typically within " + words.Percent(o.Typical) + " of " + real
}

// realValue names the true value to which the errors of a kind are relative.
func (f *inputFlags) realValue() string {
	switch kind := f.MetricKind(); {
	case kind.Vector != nil && kind.Vector.Ratios == 1:
		return "the real " + kind.Texts.Label
	case kind.Vector != nil || kind.Tree != nil:
		return "the real number of events of a " + kind.Texts.Label
	case kind.Sums():
		return "the real sum"
	}
	return "the real count"
}

// printPlanned prints the output of plan.
func (a *app) printPlanned(f *planFlags, e *choice.Events, p *planAnswer, broken uint64) error {
	p.Events, p.Outside, p.From, p.To = e.Count, e.Outside, time.UnixMilli(e.First).UTC(), time.UnixMilli(e.Last).UTC()
	return a.PrintText(f.format, p, planTemplate("text"), struct {
		*planAnswer
		Broken, BadValues                       uint64
		Values, Ranged                          bool
		Config, RealValue, Typically, Why, Life string
	}{p, broken, f.badValues, f.MetricKind().Values(), f.inRange() != "", f.config, f.realValue(),
		typically(&p.Best.Outcome, f.realValue()), f.why(&p.Best.Outcome), f.lifeWarning(p)})
}

// lifeWarning returns a warning if a deployment would run for longer than the range of the events.
func (f *planFlags) lifeWarning(p *planAnswer) string {
	span := p.To.Sub(p.From)
	switch {
	case f.config == "" && !f.given("lasts"):
		return "lasts: " + timespan.Text(p.Best.Lasts) + " is about the length of the file. In a deployment that " +
			"runs for longer, users who have spent their budget are never counted again: plan with a longer --lasts, " +
			"or replace lasts by period."
	case f.config != "" && span < p.Best.Lasts/2:
		return "The events span " + timespan.Text(max(span.Round(time.Minute), time.Minute)) +
			", but the budget must last for " + timespan.Text(p.Best.Lasts) + ": over that time a smaller part of " +
			"the events counts than shown here. Check the setting with tollgate validate."
	}
	return ""
}

// why returns the main cause of a typical error.
func (f *demoFlags) why(o *choice.Outcome) string {
	switch {
	case o.Threshold > o.Half/1.5:
		return fmt.Sprintf("a private key is released from about %s on, and half of all %s are in counts of %s or less",
			terminal.Ceiling(o.Threshold), f.Counted(), terminal.Ceiling(o.Half))
	case o.Counted < 0.75:
		return "allowances leave many events out, and counting more of them takes more noise"
	}
	if f.MetricKind().Values() && f.ranged() {
		return "counts are too small, or most values are outside --min and --max"
	}
	return "counts are too small: the noise that hides a user is large in comparison"
}
