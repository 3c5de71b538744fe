package odometers

import (
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/repeated"
)

func TestGolden(t *testing.T) {
	found := repeated.File(t, "testdata/odometers.golden", Experiments()[0], repeated.Small)
	for _, row := range found.Tables[0].Rows[1:] {
		for j, p := range row[1:] {
			if p.(float64) > delta {
				t.Errorf("%s: exceeded with probability %v up to horizon %d", row[0], p, j)
			}
		}
	}
}

// The probability equals the sum over all paths of a short walk.
func TestProbabilitiesAreThoseOfAllPaths(t *testing.T) {
	const steps = 14
	w := walk{0.3, steps}
	for _, claim := range []func(int) float64{
		func(k int) float64 { return w.composed(k, 0.3) },
		func(int) float64 { return 0.95 },
		func(int) float64 { return 100 },
		func(int) float64 { return 0 },
		func(k int) float64 { return 0.3 * float64(k%4) },
	} {
		horizons := []int{1, 5, steps}
		want := make([]float64, len(horizons))
		for way := range 1 << steps {
			p, position, first := 1.0, 0, steps+1
			for k := 1; k <= steps; k++ {
				if way>>(k-1)&1 == 1 {
					p *= w.up()
					position++
				} else {
					p *= 1 - w.up()
					position--
				}
				if math.Abs(float64(position)) > claim(k)/w.epsilon*(1+1e-12) {
					first = min(first, k)
				}
			}
			for i, k := range horizons {
				if first <= k {
					want[i] += p
				}
			}
		}
		got, err := w.exceeds(t.Context(), horizons, claim)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12 {
				t.Errorf("up to step %d: %v, not %v", horizons[i], got[i], want[i])
			}
		}
	}
}
