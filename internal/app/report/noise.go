package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/search"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// wholeNoise is noise as large as the value, in the units of typicalNoise.
const wholeNoise = 10_000

// typicalNoise says how large the noise typically is beside the values: its median over the largest
// values, which make up half of their total. It is made of released numbers alone, so that it may
// stand on a public page; they do not say how much is left out. A value that can be large only by
// its noise, which would make that look small, has the size of the mean of its key. "" where there
// is no total: of means, and where every value is 0; and of a derived metric.
func (s *series) typicalNoise(f metricFacts) string {
	if kind := metrickind.Of(f.Kind); !f.known || kind.Derived() || kind.Vector != nil {
		return ""
	}
	n, means := make([]float64, len(s.keys)), make([]float64, len(s.keys))
	squares, noise := 0.0, 0.0
	for _, p := range s.points {
		v := float64(p.value) / unit
		n[p.key], means[p.key] = n[p.key]+1, means[p.key]+v
		squares, noise = squares+v*v, noise+p.sigma*p.sigma
	}
	sizes := make([]float64, len(s.points))
	for i, p := range s.points {
		if sizes[i] = math.Abs(float64(p.value) / unit); sizes[i] < 4*p.sigma {
			sizes[i] = math.Abs(means[p.key] / n[p.key])
		}
	}
	least := choice.LeastOfHalf(slices.Clone(sizes))
	if math.IsInf(least, 1) {
		return ""
	}
	typical := search.Least(0, wholeNoise+1, wholeNoise/10, func(n uint64) bool {
		below, all := 0.0, 0.0
		for i, p := range s.points {
			if sizes[i] >= least {
				below, all = below+math.Erf(float64(n)/wholeNoise*sizes[i]/p.sigma/math.Sqrt2), all+1
			}
		}
		return 2*below >= all
	})
	if typical > wholeNoise || squares < 1.2*noise { // the values are hardly larger than noise alone
		return "The noise to expect is typically larger than the values; events left out come on top."
	}
	return fmt.Sprintf("The noise to expect is typically %s of a value; events left out come on top.",
		words.Percent(float64(typical)/wholeNoise))
}
