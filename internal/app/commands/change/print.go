package change

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/commands/command"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// figuresText formats the figures of a metric in one line.
func figuresText(f deployment.Figures) string {
	parts := []string{
		"noise σ at least " + terminal.Rounded(f.Sigma),
		fmt.Sprintf("± %s at %s%%", terminal.Rounded(f.Within), words.Digits(100*f.Confidence)),
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

// changeText is the data of change_output.txt.
type changeText struct {
	*pipeline.ChangeResult
	DryRun  bool
	Config  string
	Backups []command.Backup
}

// Effects describes how accurate each metric was and will be, if that differs.
func (r changeText) Effects() string {
	var b strings.Builder
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
		fmt.Fprintf(&b, "%s  %s\n", title, terminal.Key(metric, 40))
		title = ""
		for side, name := range []string{"before", "after"} {
			if text[side] != "" {
				fmt.Fprintf(&b, "    %-7s %s\n", name, text[side])
			}
		}
	}
	return b.String()
}
