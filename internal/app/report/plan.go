package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
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
	Blocks               []planBlock
	Reverse              []planReverse
	Sizes                []planSize
	Data                 json.RawMessage
	Style                template.CSS
	Script               template.JS
	Policy               string
}

// planBlock is a recommended setting, or says which one before it is the same.
type planBlock struct {
	advice.Block
	Same    string
	Setting string   // as JSON
	Command []string // of the demo: its name, then each flag with its value
}

type planReverse struct {
	Key, Within, Often, Window, Now string
	Changes                         []string
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
	Best   int              `json:"best"`
	Grid   []planPoint      `json:"grid"`
	Keys   []advice.KeyLine `json:"keys"`
}

type planPoint struct {
	advice.Point
	Lasts string `json:"lasts"`
}

// WritePlan writes an answer of tollgate plan as a page: it has what the answer has, and is for
// whom the answer is for. Errors: those of w.
func WritePlan(w io.Writer, a *advice.Advice) error {
	view, err := newPlanPage(a)
	if err != nil {
		return fmt.Errorf("writing the page of a plan: %w", err)
	}
	page, err := template.ParseFS(files, "page/plan.tmpl")
	if err != nil {
		return fmt.Errorf("writing the page of a plan: %w", err)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, view); err != nil {
		return fmt.Errorf("writing the page of a plan: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
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
		grid := planGrid{Window: s.Window, Chosen: s.Window == a.Chosen, Best: s.Best(), Keys: s.Keys}
		for _, p := range s.Grid {
			grid.Grid = append(grid.Grid, planPoint{p, advice.Lasts(p.Setting)})
		}
		grids = append(grids, grid)
		out.Sizes = append(out.Sizes, sizeOf(s))
	}
	for i := range a.Blocks {
		block, err := blockOf(a.Blocks, i)
		if err != nil {
			return nil, err
		}
		out.Blocks = append(out.Blocks, block)
	}
	for i := range a.Reverse {
		out.Reverse = append(out.Reverse, reverseOf(&a.Reverse[i]))
	}
	out.Data, err = json.Marshal(grids)
	return out, err
}

func upper(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

func blockOf(blocks []advice.Block, i int) (planBlock, error) {
	out := planBlock{Block: blocks[i]}
	if same := slices.IndexFunc(blocks, func(o advice.Block) bool { return o.YAML == out.YAML }); same < i {
		out.Same = blocks[same].Goal
	}
	out.Goal, out.Sentence = upper(out.Goal), upper(out.Sentence)+"."
	if out.Demo != "" {
		for i, part := range strings.Split(out.Demo, " --") {
			if i > 0 {
				part = "--" + part
			}
			out.Command = append(out.Command, part)
		}
	}
	setting, err := json.Marshal(out.Point.Setting)
	out.Setting = string(setting)
	return out, err
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

func named(key string) string {
	if key == "" {
		return "(all events)"
	}
	return key
}

func reverseOf(r *advice.Reverse) planReverse {
	percent := func(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }
	out := planReverse{Key: named(r.Key), Within: percent(r.Within), Often: percent(r.Often), Window: r.Window, Now: "one of"}
	switch {
	case r.Enough():
		out.Now = "nothing has to change"
	case len(r.Answers) == 0:
		out.Now = "no single change does"
	}
	for _, c := range r.Answers {
		out.Changes = append(out.Changes, fmt.Sprintf("%s: then in %s of windows", c.What, percent(c.Share)))
	}
	if r.Together != "" {
		out.Changes = append(out.Changes, "without keys: "+r.Together)
	}
	return out
}
