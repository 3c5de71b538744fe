package page

import (
	"fmt"
	"html/template"
	"io"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/app/report"
)

// Write writes figures, tables and notes, and the command that repeats them. Errors: those of w.
func Write(w io.Writer, e *experiment.Experiment, o experiment.Options, r *experiment.Result) error {
	d := report.Document{
		Title: e.Title, Source: e.Source, Notes: r.Notes, FigureStyle: experiment.FigureRules,
		Command: fmt.Sprintf("go run ./cmd/experiments %s --seed %d --size %s", e.Name, o.Seed, o.Size),
		Footer:  "An experiment draws its noise from the seed: this page releases no real people's data.",
	}
	for _, f := range r.Figures {
		d.Figures = append(d.Figures, template.HTML(f.SVG(false))) //nolint:gosec // SVG escapes what it is given
	}
	for _, t := range r.Tables {
		shown := report.DocumentTable{Title: t.Title, Note: t.Note}
		for _, c := range t.Columns {
			shown.Columns = append(shown.Columns, c.Name)
		}
		for _, row := range t.Rows {
			var cells []string
			for j, cell := range row {
				cells = append(cells, t.Columns[j].Format(cell))
			}
			shown.Rows = append(shown.Rows, cells)
		}
		d.Tables = append(d.Tables, shown)
	}
	if err := d.Write(w); err != nil {
		return fmt.Errorf("experiment %s: %w", e.Name, err)
	}
	return nil
}
