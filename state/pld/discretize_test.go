package pld_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/pld"
)

// hockeyStick evaluates the inequality of Vector at one ε.
func hockeyStick(v pld.Vector, epsilon float64) float64 {
	delta := v.Infinity
	for i, p := range v.Probabilities {
		if l := v.Loss(i); l > epsilon {
			delta += p * -math.Expm1(epsilon-l)
		}
	}
	return delta
}

// The expected probabilities are from google/differential-privacy,
// python/dp_accounting/dp_accounting/pld/privacy_loss_distribution_test.py:
// test_gaussian_varying_standard_deviation_and_sensitivity_connect_dots,
// test_gaussian_discretization_connect_dots and
// test_laplace_varying_parameter_and_sensitivity_connect_dots,
// test_laplace_discretization_connect_dots, stated to 9 and 8 decimals. Sensitivity 2 at standard
// deviation 1 is a Sigma of 1/2 here.
func TestDotsAreConnectedAsInTheReference(t *testing.T) {
	for name, c := range map[string]struct {
		pair      pld.Pair
		direction pld.Direction
		grid      pld.Grid
		want      []float64
		infinity  float64
		within    float64
	}{
		"gaussian": {
			pld.Gaussian{Sigma: 1}, pld.Remove, pld.Grid{Interval: 1, Lowest: -2, Size: 5},
			[]float64{0.022697115, 0.126282046, 0.319116756, 0.343270190, 0.167710257}, 0.020923636, 1e-9,
		},
		"gaussian, twice the sensitivity": {
			pld.Gaussian{Sigma: 0.5}, pld.Add, pld.Grid{Interval: 1, Lowest: -4, Size: 9},
			[]float64{0.002864453, 0.008799009, 0.026438071, 0.062480239, 0.116146963, 0.169838899, 0.195352391,
				0.176732821, 0.156393834},
			0.084953319, 1e-9,
		},
		"gaussian, half the interval": {
			pld.Gaussian{Sigma: 1}, pld.Remove, pld.Grid{Interval: 0.5, Lowest: -3, Size: 7},
			[]float64{0.039832263, 0.064402107, 0.118516480, 0.171573378, 0.195400642, 0.175063076, 0.178515818},
			0.056696236, 1e-9,
		},
		"subsampled gaussian, add": {
			pld.SubsampledGaussian{Sigma: 1, Sampling: 0.8}, pld.Add, pld.Grid{Interval: 1, Lowest: -2, Size: 4},
			[]float64{0.015193708, 0.115544309, 0.398104072, 0.448021700}, 0.023136210, 1e-9,
		},
		"subsampled gaussian, remove": {
			pld.SubsampledGaussian{Sigma: 1, Sampling: 0.8}, pld.Remove, pld.Grid{Interval: 1, Lowest: -1, Size: 4},
			[]float64{0.164817973, 0.398104072, 0.314081995, 0.112267164}, 0.010728796, 1e-9,
		},
		"laplace": {
			pld.Laplace{Scale: 1}, pld.Remove, pld.Grid{Interval: 1, Lowest: -1, Size: 3},
			[]float64{0.22898999, 0.14855068, 0.62245933}, 0, 1e-8,
		},
		"laplace, twice the sensitivity": {
			pld.Laplace{Scale: 0.5}, pld.Add, pld.Grid{Interval: 1, Lowest: -2, Size: 5},
			[]float64{0.08424071, 0.05464874, 0.09010054, 0.14855068, 0.62245933}, 0, 1e-8,
		},
		"laplace, half the interval": {
			pld.Laplace{Scale: 1}, pld.Remove, pld.Grid{Interval: 0.5, Lowest: -2, Size: 5},
			[]float64{0.20681318, 0.05874020, 0.07542391, 0.09684622, 0.56217650}, 0, 1e-8,
		},
	} {
		v := must.Have(pld.Discretize(c.pair, c.direction, c.grid))
		for i, want := range c.want {
			if got := v.Probabilities[i]; math.Abs(got-want) > c.within {
				t.Errorf("%s: loss %v has %.10f, want %v", name, v.Loss(i), got, want)
			}
		}
		if math.Abs(v.Infinity-c.infinity) > c.within {
			t.Errorf("%s: infinity has %v, want %v", name, v.Infinity, c.infinity)
		}
	}
}

// Expected δ from google/differential-privacy, privacy_loss_mechanism_test.py:
// test_gaussian_get_delta_for_epsilon(_vectorized) and
// test_laplace_get_delta_for_epsilon_vectorized, stated to 8 decimals or more. Each direction is
// checked on its own, at negative ε too, at an interval so fine that discretisation does not show.
func TestEachDirectionHasTheReferenceCurve(t *testing.T) {
	full := pld.Gaussian{Sigma: 1}
	for _, c := range []struct {
		pair      pld.Pair
		direction pld.Direction
		epsilon   float64
		delta     float64
	}{
		{full, pld.Remove, -2, 0.86749642}, {full, pld.Remove, -1, 0.67881797}, {full, pld.Add, 0, 0.38292492},
		{full, pld.Add, 1, 0.12693674}, {full, pld.Remove, 2, 0.020923636},
		{pld.Gaussian{Sigma: 1.0 / 3}, pld.Remove, 1, 0.78760074},
		{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.8}, pld.Add, 1, 0.0231362104090899},
		{pld.SubsampledGaussian{Sigma: 1.0 / 3, Sampling: 0.7}, pld.Add, 1, 0.1195051215523554},
		{pld.SubsampledGaussian{Sigma: 1.0 / 3, Sampling: 0.4}, pld.Add, 1, 0},
		{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.8}, pld.Remove, 1, 0.0816951786585355},
		{pld.SubsampledGaussian{Sigma: 1.0 / 3, Sampling: 0.7}, pld.Remove, 1, 0.5356298793262404},
		{pld.SubsampledGaussian{Sigma: 1.0 / 3, Sampling: 0.4}, pld.Remove, 1, 0.2888308005139968},
		{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.3}, pld.Remove, 2, 0.0003341102928869332},
		{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.2}, pld.Remove, -0.25, 0.2211992169285951},
		{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.2}, pld.Add, -0.3, 0.27768558},
		{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.2}, pld.Add, 0.2, 0.00020196},
		{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.2}, pld.Remove, -0.2, 0.1814346},
		{pld.SubsampledGaussian{Sigma: 1, Sampling: 0.2}, pld.Remove, 0.5, 0.012494629},
		{pld.Laplace{Scale: 1}, pld.Remove, -2, 0.86466472}, {pld.Laplace{Scale: 1}, pld.Add, -1, 0.63212056},
		{pld.Laplace{Scale: 1}, pld.Remove, 0, 0.39346934}, {pld.Laplace{Scale: 1}, pld.Remove, 1, 0},
		{pld.Laplace{Scale: 0.5}, pld.Remove, 0.5, 0.5276334473},
	} {
		grid := must.Have(pld.Cover(c.pair, c.direction, 0x1p-12, 1e-30))
		v := must.Have(pld.Discretize(c.pair, c.direction, grid))
		// Half a unit of the last decimal, and a chord above the curve by h²/8 times its
		// curvature, which is above 1 only just below the greatest loss.
		if got := hockeyStick(v, c.epsilon); math.Abs(got-c.delta) > 1.5e-8 {
			t.Errorf("%#v, direction %d at %v: %.12f, want %v", c.pair, c.direction, c.epsilon, got, c.delta)
		}
	}
}

// gaussianDelta returns the exact δ of the Gaussian mechanism at any ε, also a negative
// one: δ(−ε) = 1 − e^−ε(1 − δ(ε)) for a symmetric pair.
func gaussianDelta(t require, sigma, epsilon float64) float64 {
	if epsilon < 0 {
		return 1 - math.Exp(epsilon)*(1-gaussianDelta(t, sigma, -epsilon))
	}
	c := must.Have(budgets.ConvertEpsilonMu(max(epsilon, math.SmallestNonzeroFloat64), 1/sigma, budgets.GDP))
	return c.Delta
}

type require interface {
	Fatalf(format string, args ...any)
	Helper()
}

func drawGrid(t *rapid.T, p pld.Pair, d pld.Direction) pld.Grid {
	interval := math.Ldexp(1, -rapid.IntRange(0, 9).Draw(t, "interval"))
	grid := must.Have(pld.Cover(p, d, interval, math.Pow(10, -rapid.Float64Range(1, 20).Draw(t, "tail"))))
	grid.Lowest += rapid.IntRange(-3, 3).Draw(t, "shift")
	grid.Size = max(2, grid.Size+rapid.IntRange(-4, 1).Draw(t, "growth"))
	return grid
}

func TestNoGridShowsLessThanTheExactGaussianDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp(rapid.Float64Range(-2, 3).Draw(t, "log sigma"))
		v := must.Have(pld.Discretize(pld.Gaussian{Sigma: sigma}, pld.Remove, drawGrid(t, pld.Gaussian{Sigma: sigma},
			pld.Remove)))
		epsilon := (rapid.Float64Range(-6, 9).Draw(t, "deviations") + 0.5/sigma) / sigma
		exact := gaussianDelta(t, sigma, epsilon)
		// 1e-13 is for the sum in hockeyStick.
		if got := hockeyStick(v, epsilon); got < exact*(1-1e-13) {
			t.Fatalf("sigma %v on %+v at %v: %v, less than the true %v", sigma, v.Grid, epsilon, got, exact)
		}
	})
}

// laplaceDelta returns 1 − e^((ε−λ)/2) for |ε| ≤ λ = 1/b (Balle, Barthe and Gaboardi, 2018,
// Theorem 3).
func laplaceDelta(scale, epsilon float64) float64 {
	switch {
	case epsilon > 1/scale:
		return 0
	case epsilon < -1/scale:
		return -math.Expm1(epsilon)
	}
	return -math.Expm1((epsilon - 1/scale) / 2)
}

func TestNoGridShowsLessThanTheExactLaplaceDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := pld.Laplace{Scale: math.Exp(rapid.Float64Range(-3, 4).Draw(t, "log scale"))}
		v := must.Have(pld.Discretize(pair, pld.Add, drawGrid(t, pair, pld.Add)))
		epsilon := rapid.Float64Range(-1.5, 1.5).Draw(t, "of 1/b") / pair.Scale
		if got, exact := hockeyStick(v, epsilon), laplaceDelta(pair.Scale, epsilon); got < exact*(1-1e-13) {
			t.Fatalf("%+v on %+v at %v: %v, less than the true %v", pair, v.Grid, epsilon, got, exact)
		}
	})
}

// The curve of bounded range is the greatest of all its pairs of two outcomes, and the grid shows
// no less.
func TestNoGridShowsLessThanTheWorstPairOfBoundedRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pld.BoundedRange{Epsilon: math.Exp(rapid.Float64Range(-5, 2).Draw(t, "log of the range"))}
		v := must.Have(pld.Discretize(p, pld.Add, drawGrid(t, p, pld.Add)))
		epsilon := rapid.Float64Range(0, 1).Draw(t, "part") * p.Epsilon
		exact, worst := math.Pow(math.Expm1((p.Epsilon-epsilon)/2), 2)*math.Exp(epsilon)/math.Expm1(p.Epsilon), 0.0
		for step := 1; step < 1000; step++ {
			shift := epsilon + (p.Epsilon-epsilon)*float64(step)/1000
			q := -math.Expm1(shift-p.Epsilon) / (math.Exp(shift) - math.Exp(shift-p.Epsilon))
			worst = max(worst, q*(math.Exp(shift)-math.Exp(epsilon)))
		}
		if got := hockeyStick(v, epsilon); got < exact*(1-1e-12) || worst > exact*(1+1e-9) || worst < exact*0.99-1e-9 {
			t.Fatalf("ε = %v: a grid shows %v, exact %v, the worst pair %v", epsilon, got, exact, worst)
		}
	})
}

// discreteDelta sums max(0, P − e^ε·Q) over the integers.
func discreteDelta(g pld.DiscreteGaussian, epsilon float64) float64 {
	weight := func(x int) float64 { r := float64(x) / g.Sigma; return math.Exp(-r * r / 2) }
	total, delta := 0.0, 0.0
	end := int(40*g.Sigma) + g.Sensitivity + 1
	for x := -end; x <= end; x++ {
		total += weight(x)
		delta += max(0, weight(x)-math.Exp(epsilon)*weight(x-g.Sensitivity))
	}
	return delta / total
}

func TestNoGridShowsLessThanTheExactDiscreteGaussianDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := pld.DiscreteGaussian{
			Sigma:       math.Exp(rapid.Float64Range(-1, 4).Draw(t, "log sigma")),
			Sensitivity: rapid.IntRange(1, 5).Draw(t, "sensitivity"),
		}
		v := must.Have(pld.Discretize(pair, pld.Remove, drawGrid(t, pair, pld.Remove)))
		mu := float64(pair.Sensitivity) / pair.Sigma
		epsilon := mu * (rapid.Float64Range(-4, 4).Draw(t, "deviations") + mu/2)
		if got, exact := hockeyStick(v, epsilon), discreteDelta(pair, epsilon); got < exact-1e-13 {
			t.Fatalf("%+v on %+v at %v: %v, less than the true %v", pair, v.Grid, epsilon, got, exact)
		}
	})
}
