package mechanisms

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

// draw releases a value n times and returns (released − value)/unit.
func draw(t *testing.T, m releaser, value, unit float64, n int, src Source) []float64 {
	t.Helper()
	xs := make([]float64, n)
	for i := range xs {
		y, err := m.Release(value, src)
		if err != nil {
			t.Fatal(err)
		}
		xs[i] = (y - value) / unit
	}
	return xs
}

func TestGaussianNoiseIsGaussian(t *testing.T) {
	n := chance.Trials(100_000)
	for i, sigma := range []float64{0x1p-20, 0.3, 1, 100, 0x1p38} {
		g := must.Have(NewGaussian(sigma))
		xs := draw(t, g, 0, sigma, n, seeded(t, 200+uint64(i)))
		name := fmt.Sprintf("sigma %g", sigma)
		checkMoments(t, name, xs, 1)
		checkTails(t, name, xs, normalCDF, 1, 2, 3, 4)
		checkDistribution(t, name, xs, normalCDF)
	}
}

func TestLaplaceNoiseIsLaplace(t *testing.T) {
	n := chance.Trials(100_000)
	for i, scale := range []float64{0x1p-20, 0.3, 1, 100, 0x1p38} {
		l := must.Have(NewLaplace(scale))
		xs := draw(t, l, 0, scale, n, seeded(t, 300+uint64(i)))
		name := fmt.Sprintf("scale %g", scale)
		checkMoments(t, name, xs, 2)
		checkTails(t, name, xs, laplaceCDF, 1, 3, 6, 9)
		checkDistribution(t, name, xs, laplaceCDF)
	}
}

func TestDiscreteGaussianNoiseHasItsLaw(t *testing.T) {
	n := chance.Trials(100_000)
	for i, sigma := range []float64{0.2, 0.5, 1, 2.3, 17.25} {
		d := must.Have(NewDiscreteGaussian(sigma))
		law, counts := discreteGaussianLaw(sigma), map[int64]int{}
		xs := draw(t, d, 5, 1, n, seeded(t, 400+uint64(i)))
		variance := 0.0
		for _, x := range xs {
			counts[int64(x)]++
		}
		for x, p := range law {
			variance += p * float64(x) * float64(x)
		}
		name := fmt.Sprintf("sigma %g", sigma)
		if variance > sigma*sigma*(1+1e-12) {
			t.Errorf("%s: the law itself has variance %g", name, variance)
		}
		checkCounts(t, name, counts, n, law)
		for i, x := range xs {
			xs[i] = x * x
		}
		if sigma >= 0.5 {
			checkMean(t, name+": variance", xs, variance)
		}
	}
	wide := must.Have(NewDiscreteGaussian(0x1p30 + 0.125))
	xs := draw(t, wide, 0, 0x1p30, n, seeded(t, 499))
	checkTails(t, "wide", xs, normalCDF, 1, 2, 3, 4)
	checkDistribution(t, "wide", xs, normalCDF)
}

// checkMoments compares mean and second moment. The fourth moment of 10,000 draws from a Laplace
// law is 5 of its own standard errors too small once in 2,000 times: tails are counted instead.
func checkMoments(t *testing.T, name string, xs []float64, second float64) {
	t.Helper()
	checkMean(t, name+": mean", xs, 0)
	squares := make([]float64, len(xs))
	for i, x := range xs {
		squares[i] = x * x
	}
	checkMean(t, name+": second moment", squares, second)
}

func checkTails(t *testing.T, name string, xs []float64, cdf func(float64) float64, limits ...float64) {
	t.Helper()
	for _, limit := range limits {
		above, below := 0, 0
		for _, x := range xs {
			if x > limit {
				above++
			} else if x < -limit {
				below++
			}
		}
		chance.CheckRate(t, name+": upper tail", above, len(xs), cdf(-limit))
		chance.CheckRate(t, name+": lower tail", below, len(xs), cdf(-limit))
	}
}

// TestReleasesLieOnTheLattice: a release minus its rounded value is a multiple of the spacing,
// whatever the value, so low digits reveal nothing about it (Mironov, 2012).
func TestReleasesLieOnTheLattice(t *testing.T) {
	src := seeded(t, 7)
	for _, value := range []float64{0, 1.0 / 3, -1e-9, 12345.678, -7} {
		g, _ := NewGaussian(1.5)
		l, _ := NewLaplace(1.5)
		d, _ := NewDiscreteGaussian(1.5)
		for _, c := range []struct {
			name    string
			m       releaser
			lattice lattice
		}{{"gaussian", g, g.lattice}, {"laplace", l, l.lattice}, {"discrete gaussian", d, lattice{}}} {
			for range 100 {
				y, err := c.m.Release(value, src)
				if err != nil {
					t.Fatal(err)
				}
				if steps := math.Ldexp(y, int(c.lattice.exponent)); steps != math.Trunc(steps) {
					t.Fatalf("%s: %v released as %v, which is %v spacings", c.name, value, y, steps)
				}
			}
		}
	}
}

func TestTheSameDigitsReleaseTheSame(t *testing.T) {
	g, _ := NewGaussian(3)
	l, _ := NewLaplace(3)
	d, _ := NewDiscreteGaussian(3)
	for i, m := range []releaser{g, l, d} {
		one, err := m.Release(10, NewKeyed([32]byte{1}, []byte("a")))
		if err != nil {
			t.Fatal(err)
		}
		if two, _ := m.Release(10, NewKeyed([32]byte{1}, []byte("a"))); two != one {
			t.Errorf("mechanism %d: %v, then %v", i, one, two)
		}
		if shifted, _ := m.Release(11, NewKeyed([32]byte{1}, []byte("a"))); shifted-one != 1 {
			t.Errorf("mechanism %d: noise depends on the value: %v and %v", i, one, shifted)
		}
	}
}

func TestNoiseForLinearQueriesIsThatOfTheMechanism(t *testing.T) {
	g, _ := NewGaussian(7)
	d, _ := NewDiscreteGaussian(7)
	for i, c := range []struct {
		m     releaser
		noise func(int64, float64) (float64, error)
	}{{g, GaussianNoise(seeded(t, 1))}, {d, DiscreteGaussianNoise(seeded(t, 1))}} {
		src := seeded(t, 1)
		for range 3 {
			want, err := c.m.Release(-40, src)
			if err != nil {
				t.Fatal(err)
			}
			if y, err := c.noise(-40, 7); err != nil || y != want {
				t.Errorf("mechanism %d: %v, %v; want %v", i, y, err, want)
			}
		}
		var out *units.RangeError
		if _, err := c.noise(1<<53+1, 7); !errors.As(err, &out) || out.Parameter != "total" {
			t.Errorf("mechanism %d: a total beyond 2^53: %v", i, err)
		}
		if _, err := c.noise(1, -7); !errors.As(err, &out) || out.Parameter != "sigma" {
			t.Errorf("mechanism %d: a negative sigma: %v", i, err)
		}
	}
}
