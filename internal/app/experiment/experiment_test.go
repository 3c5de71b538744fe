package experiment

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

func sample() *Experiment {
	return &Experiment{Name: "sample", Title: "A sample", Source: "Nobody, Figure 0", Run: func(context.Context, Options) (*Result, error) {
		return &Result{
			Tables: []Table{{
				Title:   "Counts",
				Columns: append([]Column{{Name: "method"}}, Columns(1, "paper", "measured")...),
				Rows:    [][]any{{"doubling", nil, 14.44}, {"µ-filter", 24, 24.0}},
				Note:    "A note that is longer than one line of text can be, so that it has to be broken somewhere in its middle.",
			}},
			Figures: []Figure{{Title: "Curves", X: "steps", Y: "ε", LogX: true, Series: []Series{{Name: "GDP", X: []float64{1, 10}, Y: []float64{0, 2}}}}},
			Notes:   []string{"Synthetic data show the shape, not the paper's values."},
		}, nil
	}}
}

func TestTextAndJSON(t *testing.T) {
	e, o := sample(), Options{Seed: 7, Size: Small}
	r, err := e.Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var text, asJSON strings.Builder
	if err := errors.Join(e.WriteText(&text, o, r), e.WriteJSON(&asJSON, o, r)); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "testdata/sample.txt", text.String())
	golden.File(t, "testdata/sample.json", asJSON.String())
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	for want, spoil := range map[string]func(r *Result){
		"2 cells for 3 columns":        func(r *Result) { r.Tables[0].Rows[0] = r.Tables[0].Rows[0][:2] },
		`column "measured" is NaN`:     func(r *Result) { r.Tables[0].Rows[0][2] = math.NaN() },
		`column "measured" has a bool`: func(r *Result) { r.Tables[0].Rows[0][2] = true },
		"2 by 1 points":                func(r *Result) { r.Figures[0].Series[0].Y = []float64{1} },
		"0 by 0 points":                func(r *Result) { r.Figures[0].Series[0] = Series{Name: "none"} },
		"point 1 is (10, +Inf)":        func(r *Result) { r.Figures[0].Series[0].Y[1] = math.Inf(1) },
		"left of the one before":       func(r *Result) { r.Figures[0].Series[0].X[1] = 0.5 },
		"logarithmic axis":             func(r *Result) { r.Figures[0].LogY = true },
	} {
		e := sample()
		run := e.Run
		e.Run = func(ctx context.Context, o Options) (*Result, error) {
			r, err := run(ctx, o)
			spoil(r)
			return r, err
		}
		if _, err := e.Find(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}
