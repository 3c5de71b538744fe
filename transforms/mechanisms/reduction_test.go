package mechanisms

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/state/units"
)

func reduction(t testing.TB, coarsest, finest float64) *LaplaceReduction {
	t.Helper()
	m, err := NewLaplaceReduction(coarsest, finest)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// releasesOf releases a value at each scale and returns the releases less the value.
func releasesOf(t testing.TB, m *LaplaceReduction, value float64, src Source, scales ...float64) []float64 {
	t.Helper()
	c, err := m.Begin(value)
	if err != nil {
		t.Fatal(err)
	}
	ys := make([]float64, len(scales))
	for i, scale := range scales {
		if ys[i], err = c.Next(scale, src); err != nil {
			t.Fatal(err)
		}
		ys[i] -= value
	}
	return ys
}

// TestRungsOfARefinementAreCoupledLaplace: each rung is Laplace of its scale, Cov(V_i, V_j) is the
// variance 2·b² of the smaller scale, and two rungs are equal with probability (b_j/b_i)²
// (Koufogiannis, Han and Pappas, 2016, Theorem 9). The lattice changes these by some 2^-20 here.
func TestRungsOfARefinementAreCoupledLaplace(t *testing.T) {
	n := chance.Trials(100_000)
	scales := []float64{100, 98, 30, 2}
	m, src := reduction(t, 100, 1), seeded(t, 700)
	rungs := make([][]float64, len(scales))
	for range n {
		for i, y := range releasesOf(t, m, 1000, src, scales...) {
			rungs[i] = append(rungs[i], y)
		}
	}
	for j, finer := range scales {
		for i, coarser := range scales[:j+1] {
			name := fmt.Sprintf("scales %g and %g", coarser, finer)
			products, equal := make([]float64, n), 0
			for k := range n {
				products[k] = rungs[i][k] * rungs[j][k]
				if rungs[i][k] == rungs[j][k] {
					equal++
				}
			}
			checkMean(t, name+": covariance", products, 2*finer*finer)
			if i < j {
				chance.CheckRate(t, name+": equal", equal, n, finer*finer/(coarser*coarser))
			}
		}
	}
	for i, scale := range scales {
		name := fmt.Sprintf("scale %g", scale)
		for k := range rungs[i] {
			rungs[i][k] /= scale
		}
		checkTails(t, name, rungs[i], laplaceCDF, 1, 3, 6)
		checkDistribution(t, name, rungs[i], laplaceCDF)
	}
}

func TestOnlyTheLastRungIsPaid(t *testing.T) {
	m, src := reduction(t, 64, 0.5), seeded(t, 702)
	worst, err := m.Worst(3)
	if err != nil || worst.Epsilon != 6 || worst.Delta != 0 {
		t.Errorf("worst case of sensitivity 3 at scale 0.5: %v, %v; want epsilon 6", worst, err)
	}
	c, err := m.Begin(17)
	if err != nil {
		t.Fatal(err)
	}
	if price, err := c.Price(3); err != nil || price.Epsilon != 0 {
		t.Errorf("before the first release: %v, %v", price, err)
	}
	for _, scale := range []float64{64, 16, 0.75, 0.5} {
		if _, err := c.Next(scale, src); err != nil {
			t.Fatal(err)
		}
		after, err := c.Price(3)
		if err != nil || math.Abs(after.Epsilon-3/scale) > 1e-9 || after.Epsilon < 3/scale-1e-9 {
			t.Errorf("at scale %g: %v, want epsilon %g", scale, after, 3/scale)
		}
	}
}

func TestScalesOutOfTurnReleaseNothing(t *testing.T) {
	m := reduction(t, 64, 1)
	for _, c := range []struct {
		name   string
		before []float64
		scale  float64
	}{
		{"above the coarsest", nil, 65},
		{"below the finest", nil, 0.9},
		{"below the finest later", []float64{64, 2}, 0.9},
		{"the same again", []float64{64}, 64},
		{"larger", []float64{32}, 64},
		{"too near", []float64{64}, 63.5},
		{"zero", nil, 0},
		{"negative", nil, -1},
		{"not a number", nil, math.NaN()},
		{"infinite", nil, math.Inf(1)},
	} {
		refinement, err := m.Begin(5)
		if err != nil {
			t.Fatal(err)
		}
		src := seeded(t, 703)
		for _, scale := range c.before {
			if _, err := refinement.Next(scale, src); err != nil {
				t.Fatal(err)
			}
		}
		price, _ := refinement.Price(1)
		var out *units.RangeError
		if y, err := refinement.Next(c.scale, &script{t, nil}); !errors.As(err, &out) || out.Parameter != "scale" ||
			y != 0 {
			t.Errorf("%s: %v, %v; want a *units.RangeError that names scale", c.name, y, err)
		}
		if after, _ := refinement.Price(1); after != price {
			t.Errorf("%s: price went from %v to %v", c.name, price, after)
		}
	}
}
