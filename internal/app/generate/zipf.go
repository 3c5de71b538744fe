package generate

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Zipf draws ranks from 0 to n−1 with weights (rank+1)^−exponent, for any exponent ≥ 0. The Zipf of
// math/rand requires an exponent above 1, which is too steep for the activity of people.
type Zipf struct{ cumulative []float64 }

// NewZipf returns a Zipf for n ranks.
func NewZipf(n int, exponent float64) Zipf {
	z := Zipf{cumulative: make([]float64, n)}
	sum := 0.0
	for i := range z.cumulative {
		sum += math.Pow(float64(i+1), -exponent)
		z.cumulative[i] = sum
	}
	return z
}

// Draw draws a rank.
func (z Zipf) Draw(r *rand.Rand) int {
	n := len(z.cumulative)
	draw := r.Float64() * z.cumulative[n-1]
	return min(sort.SearchFloat64s(z.cumulative, draw), n-1)
}
