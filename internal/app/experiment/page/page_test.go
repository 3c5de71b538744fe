package page

import (
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
)

// A page shows what was found, and texts as texts whatever they contain.
func TestAPageHasWhatWasFound(t *testing.T) {
	const text = `<img src=x onerror="alert(1)">`
	var b strings.Builder
	err := Write(&b, &experiment.Experiment{Name: "sample", Title: text, Source: text}, experiment.Options{Seed: 7,
		Size: experiment.Small}, &experiment.Result{
		Tables: []experiment.Table{{Title: text, Columns: []experiment.Column{{Name: text},
			{Name: "measured", Digits: 2}}, Rows: [][]any{{text, 14.444}, {text, nil}}, Note: text}},
		Figures: []experiment.Figure{{Title: text, X: text, Y: text, Series: []experiment.Series{{Name: text,
			X: []float64{1, 2, 4}, Y: []float64{0, 1, 2}}}}},
		Notes: []string{text},
	})
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]int{
		"<svg": 1, "<img": 0, "<td>14.44</td>": 1, "<td>–</td>": 1, ".fig .curve{": 1,
		"go run ./cmd/experiments sample --seed 7 --size small</code>": 1,
	} {
		if got := strings.Count(b.String(), part); got != want {
			t.Errorf("%q stands %d times in the page, want %d", part, got, want)
		}
	}
}
