package experiment

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Size is the extent of an experiment.
type Size string

const (
	// Default is the paper's size, unless that takes more than ten minutes on two cores.
	Default Size = "default"
	// Small takes seconds. It gives the same tables with fewer repetitions or rows.
	Small Size = "small"
)

// Options configures an experiment. The result depends on nothing else.
type Options struct {
	Seed uint64 // seed of all random data and noise
	Data string // directory of real data, or ""; a row is empty if its files are missing
	Size Size   // Default or Small
	// Progress, if set, is called with the progress of the experiment, never concurrently.
	Progress func(done, total int, what string)
}

// ReportProgress calls Progress if it is set.
func (o Options) ReportProgress(done, total int, what string) {
	if o.Progress != nil {
		o.Progress(done, total, what)
	}
}

// Random returns the source of random numbers for one part of an experiment. Parts with different
// labels are independent, and can run in any order or concurrently.
func (o Options) Random(labels ...any) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(fmt.Appendln(nil, append([]any{o.Seed}, labels...)...))))
}

// Must returns v, or panics if err is not nil. Use it for functions that cannot fail in the setting
// of an experiment.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Experiment is an experiment that can be run by name.
type Experiment struct {
	Name   string // in lower case, with hyphens
	Title  string // one line
	Source string // paper, and the part of it: "Koskela, Tobaben and Honkela, Figures 3 to 5"
	Data   *Data  // real data that the experiment can use, or nil
	// Run returns an error if ctx ends, or if a file in Options.Data cannot be read or is invalid.
	Run func(ctx context.Context, o Options) (*Result, error)
}

// Data is a set of real data.
type Data struct {
	Name  string
	Files []string // names of the files; each may also be compressed, with the ending .gz
	From  string   // source of the files
}

// Missing returns the note for a result that lacks the data.
func (d *Data) Missing() string {
	return fmt.Sprintf("%s is not reproduced: give --data a directory with %s (or the same with .gz), from %s.", d.Name,
		strings.Join(d.Files, ", "), d.From)
}

// Find runs the experiment and checks its result.
func (e *Experiment) Find(ctx context.Context, o Options) (*Result, error) {
	found, err := e.Run(ctx, o)
	if err == nil {
		err = found.check()
	}
	if err != nil {
		return nil, fmt.Errorf("experiment %s: %w", e.Name, err)
	}
	return found, nil
}

// Result is the result of an experiment.
type Result struct {
	Tables  []Table  `json:"tables"`
	Figures []Figure `json:"figures,omitempty"`
	// Notes explain the result: its meaning, its limits, and differences from the paper.
	Notes []string `json:"notes,omitempty"`
}

// Table is a table with a row for each measurement.
type Table struct {
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
	// Rows have a cell for each column: a string, an int, a float64, or nil if the value is
	// unknown, because the paper does not state it or the data are missing.
	Rows [][]any `json:"rows"`
	Note string  `json:"note,omitempty"`
}

// Column is a column of a table.
type Column struct {
	Name string `json:"name"`
	// Digits is the number of decimals of a float64 in text. In JSON, a float64 has all digits.
	Digits int `json:"digits,omitempty"`
}

// Columns returns columns with the same number of decimals.
func Columns(digits int, names ...string) []Column {
	var out []Column
	for _, name := range names {
		out = append(out, Column{name, digits})
	}
	return out
}

// Figure is a set of curves.
type Figure struct {
	Title  string   `json:"title"`
	X      string   `json:"x"` // quantity of the horizontal axis, with its unit
	Y      string   `json:"y"` // quantity of the vertical axis, with its unit
	LogX   bool     `json:"log_x,omitempty"`
	LogY   bool     `json:"log_y,omitempty"`
	Series []Series `json:"series"`
}

// Series is a curve, with X in ascending order.
type Series struct {
	Name string    `json:"name"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
}

// Add adds a point.
func (s *Series) Add(x, y float64) { s.X, s.Y = append(s.X, x), append(s.Y, y) }

// check returns an error if a result cannot be written.
func (r *Result) check() error {
	for _, t := range r.Tables {
		for i, row := range t.Rows {
			if len(row) != len(t.Columns) {
				return fmt.Errorf("table %q: row %d has %d cells for %d columns", t.Title, i, len(row), len(t.Columns))
			}
			for j, cell := range row {
				switch v := cell.(type) {
				case nil, string, int:
				case float64:
					if !finite(v) {
						return fmt.Errorf("table %q: row %d, column %q is %v", t.Title, i, t.Columns[j].Name, v)
					}
				default:
					return fmt.Errorf("table %q: row %d, column %q has a %T", t.Title, i, t.Columns[j].Name, cell)
				}
			}
		}
	}
	for _, f := range r.Figures {
		for _, s := range f.Series {
			if err := f.check(s); err != nil {
				return fmt.Errorf("figure %q, curve %q: %w", f.Title, s.Name, err)
			}
		}
	}
	return nil
}

func (f Figure) check(s Series) error {
	if len(s.X) != len(s.Y) || len(s.X) == 0 {
		return fmt.Errorf("it has %d values of X and %d values of Y", len(s.X), len(s.Y))
	}
	for i := range s.X {
		switch {
		case !finite(s.X[i]) || !finite(s.Y[i]):
			return fmt.Errorf("point %d is (%v, %v)", i, s.X[i], s.Y[i])
		case i > 0 && s.X[i] < s.X[i-1]:
			return fmt.Errorf("point %d lies to the left of the previous point", i)
		case f.LogX && s.X[i] <= 0, f.LogY && s.Y[i] <= 0:
			return fmt.Errorf("point %d is (%v, %v), which a logarithmic axis cannot show", i, s.X[i], s.Y[i])
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
