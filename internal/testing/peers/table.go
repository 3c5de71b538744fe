package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A table is what a mode found. Cells are texts, integers, or float64, which are shown with three
// digits.
type table struct {
	title   string // with what was measured, and how
	columns []string
	rows    [][]any
}

// write writes the table as "text", "markdown" or "json": there an object with the title and one
// object for each row, by the columns' names, with all digits.
func (t table) write(out io.Writer, format string) error {
	switch format {
	case "json":
		rows := make([]map[string]any, len(t.rows))
		for i, row := range t.rows {
			rows[i] = map[string]any{}
			for c, name := range t.columns {
				rows[i][name] = row[c]
			}
		}
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"title": t.title, "rows": rows})
	case "markdown":
		fmt.Fprintf(out, "%s\n\n| %s |\n|%s\n", t.title, strings.Join(t.columns, " | "),
			strings.Repeat("---|", len(t.columns)))
		for _, row := range t.rows {
			fmt.Fprintf(out, "| %s |\n", strings.Join(shown(row), " | "))
		}
		return nil
	default:
		fmt.Fprintf(out, "%s\n\n", t.title)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, strings.Join(t.columns, "\t"))
		for _, row := range t.rows {
			fmt.Fprintln(w, strings.Join(shown(row), "\t"))
		}
		return w.Flush()
	}
}

// tenths writes a share in percent to one decimal.
func tenths(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func shown(row []any) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		if out[i] = fmt.Sprint(cell); isFloat(cell) {
			out[i] = digits(cell.(float64))
		}
	}
	return out
}

func isFloat(cell any) bool { _, ok := cell.(float64); return ok }

// digits shows a number with three digits, and integers from there on.
func digits(f float64) string {
	if math.Abs(f) >= 100 || f == 0 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', max(0, 2-int(math.Floor(math.Log10(math.Abs(f))))), 64)
}
