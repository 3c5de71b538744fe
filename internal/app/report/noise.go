package report

import (
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/internal/app/plan/choice"
	"github.com/tollgate-dp/tollgate/internal/app/words"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/search"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// wholeNoise is noise as large as the value, in the units of typicalNoise.
const wholeNoise = 10_000

// typicalNoise says how large the noise typically is beside the values: its median over the largest
// values, which make up half of their total. It is made of released numbers alone, so that it may
// stand on a public page; they do not say how much is left out. Values that are large only by their
// noise would make that look small, so sizes are without the noise's part of their spread. "" where
// there is no total: of means, and where every value is 0; and of a derived metric.
func (s *series) typicalNoise(f metricFacts) string {
	if kind := metrickind.Of(f.Kind); !f.known || kind.Derived() || kind.Vector != nil {
		return ""
	}
	sizes := s.withoutNoise()
	least := choice.LeastOfHalf(append([]float64(nil), sizes...))
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
	if typical > wholeNoise {
		return "The noise to expect is typically larger than the values; events left out come on top."
	}
	return fmt.Sprintf("The noise to expect is typically %s of a value; events left out come on top.",
		words.Percent(float64(typical)/wholeNoise))
}

// withoutNoise returns the sizes of the points as they spread without noise, around the means of
// their keys, and these around the mean of all. Of each, the size is an estimate only.
func (s *series) withoutNoise() []float64 {
	n, means, noise := make([]float64, len(s.keys)), make([]float64, len(s.keys)), make([]float64, len(s.keys))
	for _, p := range s.points {
		n[p.key]++
		means[p.key] += float64(p.value) / unit
		noise[p.key] += p.sigma * p.sigma
	}
	var between, within spread
	mean := 0.0
	for k := range n {
		if n[k] > 0 {
			means[k] /= n[k]
			between.freedom++
			mean += means[k]
		}
	}
	mean /= between.freedom
	for k := range n {
		if n[k] > 0 {
			between.add(means[k]-mean, noise[k]/(n[k]*n[k]))
		}
	}
	for _, p := range s.points {
		within.add(float64(p.value)/unit-means[p.key], p.sigma*p.sigma)
	}
	within.freedom = float64(len(s.points)) - between.freedom
	between.freedom--
	of, own := between.real(between.freedom+1), within.real(float64(len(s.points)))
	sizes := make([]float64, len(s.points))
	for i, p := range s.points {
		sizes[i] = math.Abs(mean + of*(means[p.key]-mean) + own*(float64(p.value)/unit-means[p.key]))
	}
	return sizes
}

// spread is the sum of squares of deviations from a mean, and what noise alone would make of it.
type spread struct{ squares, noise, freedom float64 }

func (s *spread) add(deviation, variance float64) {
	s.squares += deviation * deviation
	s.noise += variance
}

// real returns the part of the deviations of n numbers that is not noise; 0 where they could all be
// noise.
func (s *spread) real(n float64) float64 {
	noise := s.noise / n * s.freedom
	if s.squares <= noise*(1+2*math.Sqrt(2/max(1, s.freedom))) {
		return 0
	}
	return math.Sqrt(1 - noise/s.squares)
}
