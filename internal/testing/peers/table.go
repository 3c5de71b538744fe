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

// A table holds the results of a comparison. Its cells are texts, integers or float64 values.
type table struct {
	title   string // description of the load and the conditions
	columns []string
	rows    [][]any
}

// write writes the table as text or as JSON. The JSON object contains the title and, for each row,
// the exact cells by column.
func (t table) write(out io.Writer, asJSON bool) error {
	if asJSON {
		rows := make([]map[string]any, len(t.rows))
		for i, row := range t.rows {
			rows[i] = map[string]any{}
			for c, name := range t.columns {
				rows[i][name] = row[c]
			}
		}
		return json.NewEncoder(out).Encode(map[string]any{"title": t.title, "rows": rows})
	}
	fmt.Fprintf(out, "%s\n\n", t.title)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(t.columns, "\t"))
	for _, row := range t.rows {
		fmt.Fprintln(w, strings.Join(shown(row), "\t"))
	}
	return w.Flush()
}

func shown(row []any) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		out[i] = fmt.Sprint(cell)
		if number, ok := cell.(float64); ok {
			out[i] = digits(number)
		}
	}
	return out
}

// digits formats a number with three significant digits, or as an integer.
func digits(f float64) string {
	if math.Abs(f) >= 100 || f == 0 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', max(0, 2-int(math.Floor(math.Log10(math.Abs(f))))), 64)
}
