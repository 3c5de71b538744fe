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

// wholeNoise stands for noise that is as large as the value, in the units of typicalNoise.
const wholeNoise = 10_000

// typicalNoise describes the typical noise relative to the values: the median over the largest
// values that make up half of the total. It uses only released numbers, so a public page may show
// the result. Released numbers do not reveal how many events are left out.
//
// Values that are large only because of their noise would make the noise look too small. The spread
// of sizes around the mean of a key is therefore reduced by the part that may be noise.
//
// The result is "" if the metric is unknown, derived or of a kind with several components, or if
// every value is 0.
func (s *series) typicalNoise(f metricFacts) string {
	if kind := metrickind.Of(f.Kind); !f.known || kind.Derived() || kind.Vector != nil {
		return ""
	}
	type sums struct{ n, values, squares, noise float64 }
	keys, total := make([]sums, len(s.keys)), sums{}
	for _, p := range s.points {
		v := float64(p.value) / unit
		for _, k := range []*sums{&keys[p.key], &total} {
			*k = sums{k.n + 1, k.values + v, k.squares + v*v, k.noise + p.sigma*p.sigma}
		}
	}
	sizes := make([]float64, len(s.points))
	for i, p := range s.points {
		k := keys[p.key]
		if k.n == 1 {
			k = total
		}
		mean := k.values / k.n
		// The noise rarely contributes more than this to the spread.
		spread, noise := max(0, k.squares-mean*k.values), k.noise*(1+2*math.Sqrt(2/k.n))
		sizes[i] = math.Abs(mean + math.Sqrt(max(0, 1-noise/spread))*(float64(p.value)/unit-mean))
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
	if typical > wholeNoise || total.squares < 1.2*total.noise { // the values are hardly larger than noise alone
		return "The noise is typically larger than the values; events that were left out add to the error."
	}
	return fmt.Sprintf("The noise is typically %s of a value; events that were left out add to the error.",
		words.Percent(float64(typical)/wholeNoise))
}
