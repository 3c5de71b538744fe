package experiment

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/golden"
)

func sample() *Experiment {
	return &Experiment{Name: "sample", Title: "A sample", Source: "Nobody, Figure 0", Run: func(context.Context,
		Options) (*Result, error) {
		return &Result{
			Tables: []Table{{
				Title:   "Counts",
				Columns: append([]Column{{Name: "method"}}, Columns(1, "paper", "measured")...),
				Rows:    [][]any{{"doubling", nil, 14.44}, {"µ-filter", 24, 24.0}},
				Note: "A note that is longer than one line of text can be, so that it has to be broken somewhere " +
					"in its middle.",
			}},
			Figures: []Figure{{Title: "Curves", X: "steps", Y: "ε", LogX: true,
				Series: []Series{{Name: "GDP", X: []float64{1, 10}, Y: []float64{0, 2}}}}},
			Notes: []string{"Synthetic data show the shape, not the paper's values."},
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
