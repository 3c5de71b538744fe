package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/app/plan/advice"
	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// planScripts are the parts of the script of a plan's page.
var planScripts = [...]string{"format.js", "shell.js", "sort.js", "plan.js"}

// planPage has what plan.tmpl shows.
type planPage struct {
	Title, Summary, Mark string
	Block                *planBlock // nil: it would release nothing
	Nothing              string     // why no setting is of use
	Need                 *planNeed
	Sizes                []planSize
	Data                 json.RawMessage
	Style                template.CSS
	Script               template.JS
	Policy               string
}

// planBlock is the recommended setting.
type planBlock struct {
	Goal, Sentence, YAML string
	Command              []string // of the demo: its name, then each flag with its value
}

type planNeed struct {
	What    string
	Changes []planBlock
}

type planSize struct {
	Window string
	Rows   []planRow
}

type planRow struct {
	Name   string
	Values []string
}

// planGrid is the data of the script.
type planGrid struct {
	Window string           `json:"window"`
	Chosen bool             `json:"chosen"`
	Grid   []planPoint      `json:"grid"` // the best first
	Keys   []advice.KeyLine `json:"keys"`
	Of     string           `json:"of"`   // what the typical error is measured from
	Sums   bool             `json:"sums"` // what there is to count is sizes of values
}

type planPoint struct {
	advice.Point
	Lasts string `json:"lasts"`
}

// WritePlan writes an answer of tollgate plan as a page: it has what the answer has, and is for
// whom the answer is for. Errors: those of w.
func WritePlan(w io.Writer, a *advice.Advice) error {
	view, err := newPlanPage(a)
	if err == nil {
		err = execute(w, "plan.tmpl", view)
	}
	if err != nil {
		return fmt.Errorf("writing the page of a plan: %w", err)
	}
	return nil
}

func newPlanPage(a *advice.Advice) (*planPage, error) {
	assets, err := readAssets(planScripts[:]...)
	if err != nil {
		return nil, err
	}
	out := &planPage{
		Title: "Tollgate plan", Mark: upper(a.Trusted) + ".",
		Summary: fmt.Sprintf("%s events of %s users, %s keys", terminal.Number(float64(a.Events), 0), terminal.Number(a.Users, 0), terminal.Number(float64(a.Keys), 0)),
		Style:   template.CSS(assets.style), Script: template.JS(assets.script), Policy: assets.policy(),
	}
	var grids []planGrid
	for i := range a.Sizes {
		s := &a.Sizes[i]
		grid := planGrid{Window: s.Window, Chosen: s.Window == a.Chosen, Keys: s.Keys, Of: s.Best().Of(), Sums: s.Stats.Above != nil && s.Best().Sums()}
		for _, p := range s.Tried {
			grid.Grid = append(grid.Grid, planPoint{p, advice.Lasts(p.Setting)})
		}
		grids = append(grids, grid)
		out.Sizes = append(out.Sizes, sizeOf(s))
	}
	block := &planBlock{Goal: map[advice.Aim]string{advice.LeastError: "Least error", advice.MostKeys: "Most keys", advice.LongestLife: "Longest life"}[a.Block.Aim] + " in windows of " + a.Chosen,
		Sentence: upper(a.Block.Sentence) + ".", YAML: a.Block.YAML, Command: commandOf(a.Block.Demo)}
	if out.Nothing = upper(a.Nothing); a.Nothing == "" || a.Block.Point.Shown >= 0.5 {
		out.Block = block
	}
	out.Need = needOf(a.Need, a.Chosen)
	out.Data, err = json.Marshal(grids)
	return out, err
}

func upper(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// commandOf takes a command apart before its flags.
func commandOf(command string) (parts []string) {
	if command == "" {
		return nil
	}
	for i, part := range strings.Split(command, " --") {
		if i > 0 {
			part = "--" + part
		}
		parts = append(parts, part)
	}
	return parts
}

func sizeOf(s *advice.SizeAdvice) planSize {
	out := planSize{Window: s.Window}
	whole := func(v float64) string { return terminal.Number(math.Round(v), 0) }
	t := &s.Stats
	for _, row := range []struct {
		name   string
		values [4]float64
	}{
		{"keys of a user in a window", [4]float64{t.Keys.P50, t.Keys.P90, t.Keys.P99, t.Keys.Max}},
		{"events of a user and key in a window", [4]float64{t.PerKey.P50, t.PerKey.P90, t.PerKey.P99, t.PerKey.Max}},
		{"windows in which a user takes part", [4]float64{t.Active.P50, t.Active.P90, t.Active.P99, t.Active.Max}},
		{"events of a key in a window", [4]float64{t.Counts.P50, t.Counts.P90, t.Counts.P99, t.Counts.Max}},
	} {
		shown := planRow{Name: row.name}
		for _, v := range row.values {
			shown.Values = append(shown.Values, whole(v))
		}
		out.Rows = append(out.Rows, shown)
	}
	return out
}

func needOf(n *advice.Need, window string) *planNeed {
	if n == nil {
		return nil
	}
	percent := func(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }
	out := &planNeed{What: "Values are of use up to " + percent(n.Within) + " from " + n.Of + ". What would be enough:"}
	then, less := func(v float64) string { return "typically " + percent(v) + " from " + n.Of }, ", which is not enough"
	if n.Key != "" {
		out.What = fmt.Sprintf("To show %s within ± %s in nine of ten windows of %s:", advice.Named(n.Key), percent(n.Within), window)
		then, less = func(v float64) string { return "in " + percent(1-v) + " of windows" }, ", which is less than asked"
	}
	switch {
	case n.Enough():
		out.What += " nothing has to change."
	case len(n.Changes) == 0:
		out.What += " nothing does, not even an ε of 20."
	}
	for _, c := range n.Changes {
		sentence := c.What + ": then " + then(c.Then)
		if c.Less {
			sentence += less
		}
		out.Changes = append(out.Changes, planBlock{Sentence: sentence, Command: commandOf(c.Demo)})
	}
	return out
}
