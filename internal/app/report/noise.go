package report

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// middle is the median of |x| for a normal x of deviation 1.
const middle = 0.6745

// typicalNoise says how large the noise typically is beside the values on the page: its median over
// the largest values, which make up half of their total. It is made of released numbers alone, so
// that it may stand on a public page; they do not say how much is left out. "" where there is no
// total: of means, and where every value is 0; and of a coverage.
func (s *series) typicalNoise(f metricFacts) string {
	if kind := metrickind.Of(f.Kind); !f.known || kind.Derived || kind.Vector != nil {
		return ""
	}
	size := func(p point) float64 { return math.Abs(float64(p.value)) / unit }
	var sizes, noise []float64
	for _, p := range s.points {
		sizes = append(sizes, size(p))
	}
	least := forecast.LeastOfHalf(sizes)
	for _, p := range s.points {
		if size(p) >= least {
			noise = append(noise, middle*p.sigma/size(p))
		}
	}
	if len(noise) == 0 {
		return ""
	}
	return fmt.Sprintf("The noise to expect is typically %s of a value; events left out come on top.", share(forecast.Median(noise)))
}

func share(v float64) string {
	switch {
	case v < 0.001:
		return "less than 0.1 %"
	case v > 1:
		return "more than 100 %"
	}
	return fmt.Sprintf("%.2g %%", 100*v)
}
