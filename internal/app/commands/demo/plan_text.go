package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/formats/timespan"
)

// planAnswer is what plan prints, as text or as JSON.
type planAnswer struct {
	Trusted string    `json:"trusted"` // what all this is
	Events  uint64    `json:"events"`
	Outside uint64    `json:"events_outside_range,omitempty"`
	From    time.Time `json:"first_event"`
	To      time.Time `json:"last_event"`
	// Windows are the best settings for each size of windows, and Epsilon those for other ε in the
	// recommended window.
	Windows []plannedSetting `json:"windows"`
	Epsilon []plannedSetting `json:"epsilon,omitempty"`
	// Nothing is set if no setting is of use.
	Nothing bool           `json:"nothing_of_use,omitempty"`
	Best    plannedSetting `json:"recommended"`
	YAML    string         `json:"yaml"`           // for a configuration
	Demo    string         `json:"demo,omitempty"` // the command that does the same with the file
}

// plannedSetting is an outcome with its setting as people give it.
type plannedSetting struct {
	Window string `json:"window"`
	Within string `json:"finest_noise"` // ± so much at the confidence of the target
	choice.Outcome
}

// plan makes the answer of advice.
func (f *planFlags) plan(a *choice.Advice) *planAnswer {
	planned := func(o choice.Outcome) plannedSetting {
		c := f.decided(o.Setting)
		return plannedSetting{timespan.Text(o.Window), words.Digits(finest(&c)), o}
	}
	out := &planAnswer{Trusted: "made from raw data: not for publication. Settings that were chosen by looking at it " +
		"are not protected", Best: planned(a.Best), Nothing: a.Best.Typical > choice.Useful}
	for _, o := range a.Sizes {
		out.Windows = append(out.Windows, planned(o))
	}
	for _, o := range a.Epsilon {
		out.Epsilon = append(out.Epsilon, planned(o))
	}
	if f.config == "" {
		out.YAML, out.Demo = f.yaml(a.Best.Setting), f.demoCommand(a.Best.Setting)
	}
	return out
}

// mapping has the lines of a mapping in YAML.
type mapping []string

// add adds a member unless its value is zero.
func (m *mapping) add(name string, value any) {
	text := fmt.Sprint(value)
	switch v := value.(type) {
	case float64:
		text = strings.Replace(words.Digits(v), "e-0", "e-", 1)
	case []float64, []string:
		list, _ := json.Marshal(v) //nolint:errchkjson // also valid YAML
		text = strings.ReplaceAll(string(list), ",", ", ")
	}
	if text != "" && text != "0" && text != "null" && text != "{}" {
		*m = append(*m, name+": "+text)
	}
}

// flow returns the mapping in one line.
func (m mapping) flow() string { return "{" + strings.Join(m, ", ") + "}" }

// yaml returns a setting as the sections privacy and metrics of a configuration file.
func (f *demoFlags) yaml(s choice.Setting) string {
	c, text := f.decided(s), ""
	var privacy, metric, bounds mapping
	privacy.add("epsilon", s.Epsilon)
	privacy.add("delta", f.Delta)
	privacy.add("delta_keys", f.DeltaKeys)
	privacy.add("lasts", timespan.Text(c.Lasts))
	metric.add("kind", f.kindOf().Name)
	switch {
	case f.keyField == "": // there is one key, which has no name
		metric.add("keys", `{mode: public, list: [""]}`)
	case f.publicKeys != "":
		metric.add("keys", publicKeysYAML(f.publicKeys, f.PublicKeys))
	default:
		metric.add("keys", "{mode: private}")
	}
	metric.add("ranks", f.Ranks)
	metric.add("edges", f.Edges)
	metric.add("buckets", f.Buckets)
	metric.add("scale", f.Scale)
	metric.add("also", f.Also)
	metric.add("window", "{size: "+timespan.Text(s.Window)+"}")
	if c.Min != 0 || c.Max != 0 {
		bounds = mapping{fmt.Sprintf("min: %d, max: %d", c.Min, c.Max)}
	}
	bounds.add("max_keys_per_user", f.MaxKeysPerUser)
	bounds.add("max_events_per_key", f.MaxEventsPerKey)
	metric.add("bounds", bounds.flow())
	metric.add("target", f.targetYAML(c))
	if f.Decimals > 0 {
		text += fmt.Sprintf("# Needs decimals: %d in the section events.\n", f.Decimals)
	}
	if f.times.Zone != "" {
		text += fmt.Sprintf("# Needs window_zone: %s in the section time, and windows of whole days.\n", f.times.Zone)
	}
	return text + "privacy:\n  " + strings.Join(privacy, "\n  ") + "\nmetrics:\n  - name: events\n    " +
		strings.Join(metric, "\n    ") + "\n"
}

// targetYAML returns a target.
func (f *demoFlags) targetYAML(c demo.Settings) string {
	var target mapping
	target.add("absolute", c.Target.Absolute)
	target.add("noise", c.Noise)
	target.add("relative", f.Target.Relative)
	if f.Target.Confidence != 0.95 {
		target.add("confidence", f.Target.Confidence)
	}
	return target.flow()
}

// typically writes a typical error.
func typically(o *choice.Outcome, of string) string {
	if o.Shown < 0.5 {
		return "nothing would be released"
	}
	return "typically within " + words.Percent(o.Typical) + " of " + of
}

// realValue is what the errors of a kind are measured from.
func (f *inputFlags) realValue() string {
	switch kind := f.kindOf(); {
	case kind.Vector != nil && kind.Vector.Ratios == 1:
		return "the real " + kind.Texts.Label
	case kind.Vector != nil || kind.Tree != nil:
		return "the real number of events of a " + kind.Texts.Label
	case kind.Sums():
		return "the real sum"
	}
	return "the real count"
}

// printPlan prints an answer.
func (a *app) printPlanned(f *planFlags, e *choice.Events, p *planAnswer, broken uint64) error {
	p.Events, p.Outside, p.From, p.To = e.Count, e.Outside, time.UnixMilli(e.First).UTC(), time.UnixMilli(e.Last).UTC()
	return a.PrintAs(f.format, p, func(b *strings.Builder) { f.planText(b, p, broken) })
}

// planText writes an answer for people.
func (f *planFlags) planText(b *strings.Builder, p *planAnswer, broken uint64) {
	b.WriteString(words.Paragraph("TRUSTED: " + p.Trusted + "."))
	fmt.Fprintf(b, "\n%s, %s to %s\n", terminal.Count(p.Events, "event"), p.From.Format("2006-01-02 15:04"),
		p.To.Format("2006-01-02 15:04"))
	if broken > 0 {
		needed := "user, key or time"
		if f.kindOf().Values() {
			needed = "user, key, time or value"
		}
		fmt.Fprintf(b, "%s: no %s that can be used\n", terminal.Count(int(broken), "record"), needed)
	}
	if f.badValues > 0 {
		b.WriteString(words.Paragraph(fmt.Sprintf("%s of these have a value that cannot be read. Errors are measured "+
			"from %s of the other values", terminal.Number(float64(f.badValues), 0), f.realValue())))
	}
	switch outside := terminal.Count(p.Outside, "event"); {
	case p.Outside == 0:
	case f.from.IsZero() && f.to.IsZero():
		fmt.Fprintf(b, "%s before 1970, which do not count\n", outside)
	default:
		fmt.Fprintf(b, "%s outside of --from and --to\n", outside)
	}
	table := func(head string, all []plannedSetting, first func(*plannedSetting) string) {
		rows := [][]string{{head, "finest noise", "typical error", "counted", "values shown", "with"}}
		for i := range all {
			o := &all[i]
			shown := terminal.Number(o.Shown, 0) + " of " + terminal.Number(o.Cells, 0)
			rows = append(rows, []string{
				first(o), "± " + o.Within, words.Percent(o.Typical), words.Percent(o.Counted), shown,
				words.Percent(o.Outcome.Within),
			})
		}
		b.WriteString("\n" + words.Table(rows...))
	}
	table("window", p.Windows, func(o *plannedSetting) string { return o.Window })
	if len(p.Epsilon) > 0 {
		table("ε, in windows of "+p.Best.Window, p.Epsilon, func(o *plannedSetting) string {
			return words.Digits(o.Epsilon)
		})
	}
	b.WriteString("\n")
	if p.Nothing {
		b.WriteString(words.Paragraph("NOTHING OF USE CAN BE SHOWN: " + f.why(&p.Best.Outcome) + "."))
		b.WriteString("\n")
	}
	b.WriteString(words.Paragraph(fmt.Sprintf("LEAST ERROR IN WINDOWS OF %s: %s; %s of the events count", p.Best.Window,
		typically(&p.Best.Outcome, f.realValue()), words.Percent(p.Best.Counted))))
	if p.YAML != "" {
		fmt.Fprintf(b, "\n%s", indented(p.YAML))
	}
	if p.Demo != "" {
		fmt.Fprintf(b, "\n%s\n", folded(p.Demo, "  "))
	}
	place := "takes the place of the sections privacy and metrics of a configuration"
	if f.config != "" {
		place = "takes the place of these fields in " + f.config
	}
	b.WriteString("\n")
	b.WriteString(words.Paragraph("The recommended setting " + place + ": it names nothing of the data. See " +
		"docs/guarantee.md for what may be published."))
	if text := f.life(p); text != "" {
		b.WriteString(words.Paragraph(text))
	}
}

// life returns a warning if a deployment would run for longer than the events that were read.
func (f *planFlags) life(p *planAnswer) string {
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

// why says what most of a typical error comes from.
func (f *demoFlags) why(o *choice.Outcome) string {
	switch {
	case o.Threshold > o.Half/1.5:
		return fmt.Sprintf("a private key is released from about %s on, and half of all %s are in counts of %s or less",
			terminal.Ceiling(o.Threshold), f.counted(), terminal.Ceiling(o.Half))
	case o.Counted < 0.75:
		return "allowances leave many events out, and to count more of them takes more noise"
	}
	return "counts are too small: the noise that hides a user is large beside them"
}

// demoCommand returns the command of a demo with the flags that were given, and with those that a
// setting decides.
func (f *demoFlags) demoCommand(s choice.Setting) string {
	c := f.decided(s)
	set := map[string]string{"window": timespan.Text(s.Window), "lasts": timespan.Text(c.Lasts), "epsilon": ""}
	for name, v := range map[string]float64{"absolute": c.Target.Absolute, "noise": c.Noise} {
		if v != 0 {
			set[name] = words.Digits(v)
		}
	}
	if text := words.Digits(s.Epsilon); text != f.flags.Lookup("epsilon").DefValue || f.given("epsilon") {
		set["epsilon"] = text
	}
	if f.openValues {
		set["min"], set["max"] = strconv.FormatInt(c.Min, 10), strconv.FormatInt(c.Max, 10)
	}
	for _, name := range []string{"format", "config", "metric"} { // of plan alone
		set[name] = ""
	}
	return rerun(f.flags, set)
}

// rerun returns the command of a demo with the flags that were given and others set; "" leaves one
// out.
func rerun(flags *pflag.FlagSet, set map[string]string) string {
	command := "tollgate demo"
	flags.VisitAll(func(f *pflag.Flag) {
		value, decided := set[f.Name]
		switch {
		case decided && value == "" || !decided && !f.Changed:
		case f.Value.Type() == "bool":
			command += " --" + f.Name
		case decided:
			command += " --" + f.Name + " " + shellWord(value)
		default:
			command += " --" + f.Name + " " + shellWord(flagText(f))
		}
	})
	return command
}

// flagText returns a flag's value as it is given.
func flagText(f *pflag.Flag) string {
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return f.Value.String()
	}
	texts := list.GetSlice()
	for i, text := range texts {
		if v, err := strconv.ParseFloat(text, 64); err == nil && f.Value.Type() == "float64Slice" {
			texts[i] = words.Digits(v)
		}
	}
	return strings.Join(texts, ",")
}

// shellWord quotes a word that a shell would split or expand.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:,+@%=", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
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

// indented writes lines of YAML for the terminal: two columns to the right.
func indented(yaml string) string {
	lines := strings.Split(strings.TrimSuffix(yaml, "\n"), "\n")
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

// folded writes a command with an indent and breaks it before flags, with a deeper indent, so that
// it can be pasted into a shell.
func folded(line, indent string) string {
	var b strings.Builder
	b.WriteString(indent)
	column := len(indent)
	for i, part := range strings.Split(line, " --") {
		if i > 0 {
			part = "--" + part
			if column += 1 + utf8.RuneCountInString(part); column+2 > words.Width {
				b.WriteString(" \\\n  " + indent)
				column = len(indent) + 2 + utf8.RuneCountInString(part)
			} else {
				b.WriteString(" ")
			}
		} else {
			column += utf8.RuneCountInString(part)
		}
		b.WriteString(part)
	}
	return b.String()
}
