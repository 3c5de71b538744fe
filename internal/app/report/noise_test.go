package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// The description of the noise fits its median error. If the noise is so large that the largest
// values have the largest noise, it may be overstated. No seed of 50 misses the factors.
func TestThePageSaysHowLargeTheNoiseTypicallyIs(t *testing.T) {
	t.Parallel()
	rng := rand.New(runseed.PCG(t, 5, 8))
	factsOf := func(kind string) metricFacts {
		return metricFacts{known: true, MetricSpec: schemas.MetricSpec{Kind: kind}}
	}
	typicalNoise := func(value func(key, window int) float64, relative float64) (typical float64, text string) {
		s := &series{keys: make([]string, 40)}
		var sizes, errors []float64
		for k := range s.keys {
			for w := range 2000 {
				sizes = append(sizes, value(k, w))
			}
		}
		least := choice.LeastOfHalf(slices.Clone(sizes))
		sigma := relative * choice.Median(slices.DeleteFunc(slices.Clone(sizes), func(v float64) bool {
			return v < least
		}))
		for i, v := range sizes {
			noise := rng.NormFloat64() * sigma
			s.points = append(s.points, point{key: int32(i / 2000), value: int64((v + noise) * unit), sigma: sigma})
			if v >= least {
				errors = append(errors, math.Abs(noise)/v)
			}
		}
		return choice.Median(errors), s.typicalNoise(factsOf(metrickind.Events))
	}
	for name, value := range map[string]func(key, window int) float64{
		"alike":   func(int, int) float64 { return 1000 },
		"zipf":    func(k, _ int) float64 { return 5000 / float64(k+1) },
		"peaks":   func(_, w int) float64 { return 10 * math.Exp(float64(w%5)) },
		"by hour": func(_, w int) float64 { return 1000 + 700*math.Sin(float64(w)*math.Pi/12) },
	} {
		for _, relative := range []float64{0.01, 0.1, 0.4, 1} {
			typical, text := typicalNoise(value, relative)
			percent := 100.
			if !strings.Contains(text, "larger than the values") {
				if _, err := fmt.Sscanf(text, "The noise is typically %f%% of", &percent); err != nil {
					t.Errorf("%s, σ of %v: %q", name, relative, text)
				}
			}
			if ratio := percent / 100 / typical; ratio < 1/1.2 || ratio > 1.6 {
				t.Errorf("%s, σ of %v: %s, but it is %.3g", name, relative, text, typical)
			}
		}
		if _, text := typicalNoise(value, 5); !strings.Contains(text, "typically larger than the values") {
			t.Errorf("%s, σ of 5: %q", name, text)
		}
	}
	if text := (&series{keys: []string{""},
		points: []point{{value: unit, sigma: 1}}}).typicalNoise(factsOf(metrickind.Mean)); text != "" {
		t.Errorf("of means: %q", text)
	}
	if text := (&series{keys: []string{""},
		points: []point{{sigma: 7}}}).typicalNoise(factsOf(metrickind.Events)); text != "" {
		t.Errorf("of zeros: %q", text)
	}
}
