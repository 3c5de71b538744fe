package generate

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Zipf draws ranks from 0 to n−1 with weights (rank+1)^−exponent, for any exponent ≥ 0. The
// standard library's needs an exponent above 1, which is too steep for people.
type Zipf struct{ cumulated []float64 }

// NewZipf returns a Zipf of n ranks.
func NewZipf(n int, exponent float64) Zipf {
	z := Zipf{cumulated: make([]float64, n)}
	sum := 0.0
	for i := range z.cumulated {
		sum += math.Pow(float64(i+1), -exponent)
		z.cumulated[i] = sum
	}
	return z
}

// Draw draws a rank.
func (z Zipf) Draw(r *rand.Rand) int {
	n := len(z.cumulated)
	draw := r.Float64() * z.cumulated[n-1]
	return min(sort.SearchFloat64s(z.cumulated, draw), n-1)
}
