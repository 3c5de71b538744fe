package change

import (
	"fmt"
	"maps"
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

// figuresText formats the figures of a metric in one line.
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

// write describes a change as text. After a dry run it describes what would change.
func write(b *strings.Builder, r *pipeline.ChangeResult, dryRun bool, path string, file *config.File) {
	if len(r.Differences) == 0 {
		b.WriteString("nothing to change: this configuration is already in force\n")
		return
	}
	verb := "is in force"
	if dryRun {
		verb = "would be in force"
	}
	fmt.Fprintf(b, "generation %d %s from %s on (turn %d)\n\nchanged:\n", r.Generation, verb,
		r.From.Format(time.RFC3339), r.FromTurn)
	for _, d := range r.Differences {
		fmt.Fprintf(b, "  %s\n", d.What)
		command.WriteValues(b, "    ", d.Values)
	}
	writeEffects(b, r)
	list := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(b, "%s: %s\n", what, strings.Join(names, ", "))
		}
	}
	b.WriteString("\n")
	list("metrics whose open windows are given up", r.GivenUp)
	if dryRun {
		switch {
		case len(r.GivenUp) == 0:
		case r.AllEnd.IsZero():
			b.WriteString("change refuses this without --now. There is no time at which all windows end\n")
		default:
			fmt.Fprintf(b, "change refuses this without --now. To keep them, first run the configuration in force "+
				"with --until %s, when all windows end\n", r.AllEnd.Format(time.RFC3339))
		}
		if r.UnderWay > 0 {
			fmt.Fprintf(b, "turn %d is under way and may be published in part. change refuses to skip it: run the "+
				"old configuration and drain it first\n", r.UnderWay)
		}
		return
	}
	if r.RetiredKey != "" {
		fmt.Fprintf(b, "no turn needs noise key %s any more: destroy it, and every copy\n", r.RetiredKey)
		command.WriteBackupList(b, file)
		b.WriteString("\n")
	}
	list("topics that no run reads any more", r.RetiredTopics)
	fmt.Fprintf(b, "\nnext: tollgate run --config %s\n", path)
}

// writeEffects writes how accurate each metric was and will be, if that differs.
func writeEffects(b *strings.Builder, r *pipeline.ChangeResult) {
	texts := map[string]*[2]string{}
	for side, figures := range [][]deployment.Figures{r.Before, r.After} {
		for _, f := range figures {
			if texts[f.Metric] == nil {
				texts[f.Metric] = &[2]string{}
			}
			texts[f.Metric][side] = figuresText(f)
		}
	}
	title := "\neffects:\n"
	for _, metric := range slices.Sorted(maps.Keys(texts)) {
		text := texts[metric]
		if text[0] == text[1] {
			continue
		}
		fmt.Fprintf(b, "%s  %s\n", title, terminal.Key(metric, 40))
		title = ""
		for side, name := range []string{"before", "after"} {
			if text[side] != "" {
				fmt.Fprintf(b, "    %-7s %s\n", name, text[side])
			}
		}
	}
}
