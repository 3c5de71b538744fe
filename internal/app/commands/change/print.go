package change

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Changed is a change as JSON.
type Changed struct {
	Changes       []difference `json:"changes"`
	Effects       []effect     `json:"effects"`
	DryRun        bool         `json:"dry_run"`
	Generation    uint32       `json:"generation,omitempty"`
	FromTurn      uint64       `json:"from_turn,omitempty"`
	From          *time.Time   `json:"from,omitempty"`
	UnderWay      uint64       `json:"under_way_turn,omitempty"` // with DryRun
	GivenUp       []string     `json:"given_up"`
	AllEnd        *time.Time   `json:"all_windows_end,omitempty"` // with open windows and DryRun
	RetiredKey    string       `json:"retired_key,omitempty"`
	RetiredTopics []string     `json:"retired_topics"`
}

// difference is a point in which a configuration differs from the one in force.
type difference struct {
	What   string           `json:"what"`
	Values []pipeline.Value `json:"values"`
}

// effect is what a change does to a metric; nil for one that was not there, or will not be.
type effect struct {
	Metric string   `json:"metric"`
	Was    *figures `json:"in_force"`
	Is     *figures `json:"configured"`
}

// figures are deployment.Figures as JSON, which has no infinite numbers.
type figures struct {
	Sigma        float64          `json:"least_sigma"`
	Within       float64          `json:"within"` // ± so much, at Confidence
	Confidence   float64          `json:"confidence"`
	MeetableFrom *float64         `json:"meetable_from"` // nil: no count can meet the target, or there is none
	NoTarget     bool             `json:"no_target,omitempty"`
	Threshold    *float64         `json:"threshold"`       // nil: keys are not private
	Users        deployment.Users `json:"users,omitempty"` // how far their events count
}

func figuresOf(f deployment.Figures) *figures {
	finite := func(v float64) *float64 {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
		return &v
	}
	return &figures{Sigma: f.Sigma, Within: f.Within, Confidence: f.Confidence,
		MeetableFrom: finite(math.Ceil(f.MeetableFrom)),
		NoTarget:     math.IsNaN(f.MeetableFrom), Threshold: finite(f.Threshold), Users: f.Users}
}

// effects compares the figures of metrics by their names: those that differ, and those that are on
// one side only.
func effects(before, after []deployment.Figures) []effect {
	out := []effect{}
	named := func(all []deployment.Figures, name string) *figures {
		at := slices.IndexFunc(all, func(f deployment.Figures) bool { return f.Metric == name })
		if at < 0 {
			return nil
		}
		return figuresOf(all[at])
	}
	add := func(name string) {
		e := effect{Metric: name, Was: named(before, name), Is: named(after, name)}
		if e.Was != nil && e.Is != nil && e.Was.text() == e.Is.text() {
			return
		}
		out = append(out, e)
	}
	for _, f := range before {
		add(f.Metric)
	}
	for _, f := range after {
		if named(before, f.Metric) == nil {
			add(f.Metric)
		}
	}
	return out
}

// text says the figures in a line.
func (f *figures) text() string {
	parts := []string{
		"noise σ at least " + command.Rounded(f.Sigma),
		fmt.Sprintf("± %s at %s %%", command.Rounded(f.Within), words.Digits(100*f.Confidence)),
	}
	switch {
	case f.NoTarget:
		parts = append(parts, "no target")
	case f.MeetableFrom == nil:
		parts = append(parts, "target met by no count")
	case *f.MeetableFrom == 0:
		parts = append(parts, "target met by all counts")
	default:
		parts = append(parts, "target met by counts from "+command.Ceiling(*f.MeetableFrom))
	}
	if f.Threshold != nil {
		parts = append(parts, "keys released above "+command.Ceiling(*f.Threshold))
	}
	if len(f.Users) > 0 {
		parts = append(parts, "allowance "+f.Users.String())
	}
	return strings.Join(parts, ", ")
}

func (a *app) printChange(f *changeFlags, d *command.Loaded, r pipeline.ChangeResult) error {
	out := Changed{Changes: []difference{}, Effects: effects(r.Before, r.After), DryRun: f.dryRun,
		GivenUp: append([]string{}, r.GivenUp...), RetiredTopics: append([]string{}, r.RetiredTopics...),
		RetiredKey: r.RetiredKey}
	for _, one := range r.Differences {
		out.Changes = append(out.Changes, difference{What: one.What, Values: append([]pipeline.Value{}, one.Values...)})
	}
	if len(r.Differences) > 0 {
		out.Generation, out.FromTurn, out.From, out.UnderWay = r.Generation, r.FromTurn, &r.From, r.UnderWay
	}
	if f.dryRun && len(r.GivenUp) > 0 && !r.AllEnd.IsZero() {
		out.AllEnd = &r.AllEnd
	}
	text := out.text(f.config, d.File)
	if f.format == cli.JSON {
		encoded, err := json.MarshalIndent(out, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the change: %w", err)
		}
		text = string(encoded) + "\n"
	}
	return a.Print(text)
}

func (c *Changed) text(path string, file *config.File) string {
	var b strings.Builder
	if len(c.Changes) == 0 {
		return "nothing to change: this configuration is in force already\n"
	}
	verb := "is in force"
	if c.DryRun {
		verb = "would be in force"
	}
	fmt.Fprintf(&b, "generation %d %s from %s on (turn %d)\n\nchanged:\n", c.Generation, verb,
		c.From.Format(time.RFC3339), c.FromTurn)
	for _, d := range c.Changes {
		fmt.Fprintf(&b, "  %s\n", d.What)
		command.WriteValues(&b, "    ", d.Values)
	}
	if len(c.Effects) > 0 {
		b.WriteString("\nwhat that does:\n")
	}
	for _, e := range c.Effects {
		fmt.Fprintf(&b, "  %s\n", terminal.Key(e.Metric, 40))
		for _, side := range []struct {
			name string
			of   *figures
		}{{"before", e.Was}, {"after", e.Is}} {
			if side.of != nil {
				fmt.Fprintf(&b, "    %-7s %s\n", side.name, side.of.text())
			}
		}
	}
	list := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", what, strings.Join(names, ", "))
		}
	}
	b.WriteString("\n")
	list("metrics whose open windows are given up", c.GivenUp)
	if c.DryRun {
		switch {
		case c.AllEnd != nil:
			fmt.Fprintf(&b, "change refuses this without --now. To keep them, first run the configuration in force "+
				"with --until %s, when all windows end\n", c.AllEnd.Format(time.RFC3339))
		case len(c.GivenUp) > 0:
			b.WriteString("change refuses this without --now. There is no time at which all windows end\n")
		}
		if c.UnderWay > 0 {
			fmt.Fprintf(&b, "turn %d is under way and may be published in part. change refuses to go over it: run the "+
				"old configuration and drain it first\n", c.UnderWay)
		}
		return b.String()
	}
	if c.RetiredKey != "" {
		fmt.Fprintf(&b, "no turn needs noise key %s any more: destroy it, and every copy\n", c.RetiredKey)
		command.WriteBackups(&b, file)
		b.WriteString("\n")
	}
	list("topics that no run reads any more", c.RetiredTopics)
	fmt.Fprintf(&b, "\nnext: tollgate run --config %s\n", path)
	return b.String()
}
