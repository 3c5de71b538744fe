package change

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/words"

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

// effect is the effect of a change on a metric: how exact it is, on one line. The line is empty for
// a metric that did not exist, or will not.
type effect struct {
	Metric string `json:"metric"`
	Was    string `json:"in_force,omitempty"`
	Is     string `json:"configured,omitempty"`
}

// effects compares the figures of metrics by their names: those that differ, and those that are on
// one side only.
func effects(before, after []deployment.Figures) []effect {
	all := []effect{}
	of := func(metric string) *effect {
		i := slices.IndexFunc(all, func(e effect) bool { return e.Metric == metric })
		if i < 0 {
			i, all = len(all), append(all, effect{Metric: metric})
		}
		return &all[i]
	}
	for _, f := range before {
		of(f.Metric).Was = figuresText(f)
	}
	for _, f := range after {
		of(f.Metric).Is = figuresText(f)
	}
	return slices.DeleteFunc(all, func(e effect) bool { return e.Was == e.Is })
}

// figuresText returns the figures on one line.
func figuresText(f deployment.Figures) string {
	parts := []string{
		"noise σ at least " + terminal.Rounded(f.Sigma),
		fmt.Sprintf("± %s at %s %%", terminal.Rounded(f.Within), words.Digits(100*f.Confidence)),
	}
	switch {
	case math.IsNaN(f.MeetableFrom):
		parts = append(parts, "no target")
	case math.IsInf(f.MeetableFrom, 0):
		parts = append(parts, "target met by no count")
	case f.MeetableFrom == 0:
		parts = append(parts, "target met by all counts")
	default:
		parts = append(parts, "target met by counts from "+terminal.Ceiling(f.MeetableFrom))
	}
	if !math.IsInf(f.Threshold, 0) && !math.IsNaN(f.Threshold) {
		parts = append(parts, "keys released above "+terminal.Ceiling(f.Threshold))
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
	return a.PrintAs(f.format, out, func(b *strings.Builder) { out.write(b, f.config, d.File) })
}

// write writes a change for people.
func (c *Changed) write(b *strings.Builder, path string, file *config.File) {
	if len(c.Changes) == 0 {
		b.WriteString("nothing to change: this configuration is in force already\n")
		return
	}
	verb := "is in force"
	if c.DryRun {
		verb = "would be in force"
	}
	fmt.Fprintf(b, "generation %d %s from %s on (turn %d)\n\nchanged:\n", c.Generation, verb,
		c.From.Format(time.RFC3339), c.FromTurn)
	for _, d := range c.Changes {
		fmt.Fprintf(b, "  %s\n", d.What)
		command.WriteValues(b, "    ", d.Values)
	}
	if len(c.Effects) > 0 {
		b.WriteString("\neffects:\n")
	}
	for _, e := range c.Effects {
		fmt.Fprintf(b, "  %s\n", terminal.Key(e.Metric, 40))
		for _, side := range [][2]string{{"before", e.Was}, {"after", e.Is}} {
			if side[1] != "" {
				fmt.Fprintf(b, "    %-7s %s\n", side[0], side[1])
			}
		}
	}
	list := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(b, "%s: %s\n", what, strings.Join(names, ", "))
		}
	}
	b.WriteString("\n")
	list("metrics whose open windows are given up", c.GivenUp)
	if c.DryRun {
		switch {
		case c.AllEnd != nil:
			fmt.Fprintf(b, "change refuses this without --now. To keep them, first run the configuration in force "+
				"with --until %s, when all windows end\n", c.AllEnd.Format(time.RFC3339))
		case len(c.GivenUp) > 0:
			b.WriteString("change refuses this without --now. There is no time at which all windows end\n")
		}
		if c.UnderWay > 0 {
			fmt.Fprintf(b, "turn %d is under way and may be published in part. change refuses to skip it: run the "+
				"old configuration and drain it first\n", c.UnderWay)
		}
		return
	}
	if c.RetiredKey != "" {
		fmt.Fprintf(b, "no turn needs noise key %s any more: destroy it, and every copy\n", c.RetiredKey)
		command.WriteBackups(b, file)
		b.WriteString("\n")
	}
	list("topics that no run reads any more", c.RetiredTopics)
	fmt.Fprintf(b, "\nnext: tollgate run --config %s\n", path)
}
