package pld_test

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

func TestTooManyPointsAreRefused(t *testing.T) {
	var size *pld.SizeError
	if _, err := pld.New(pld.Gaussian{Sigma: 1}, pld.Options{Interval: 0x1p-20, MaxPoints: 1 << 16}); !errors.As(err,
		&size) || size.Limit != 1<<16 {
		t.Errorf("one grid: %v, want a *SizeError", err)
	}
	d := must.Have(must.Have(pld.New(pld.Gaussian{Sigma: 1}, pld.Options{Interval: 0x1p-13,
		MaxPoints: 1 << 18})).Power(100))
	if delta, err := d.DeltaAt(50); !errors.As(err, &size) || delta != 1 {
		t.Errorf("a composition: delta %v, error %v, want 1 and a *SizeError", delta, err)
	}
	if epsilon, err := d.EpsilonAt(0.1); !errors.As(err, &size) || !math.IsInf(epsilon, 1) {
		t.Errorf("a composition: epsilon %v, error %v, want +Inf and a *SizeError", epsilon, err)
	}
	huge := must.Have(must.Have(pld.New(pld.Approx{Epsilon: 0x1.8p-20}, pld.Options{Interval: 0x1p-40})).Power(1 << 32))
	if _, err := huge.DeltaAt(1); !errors.As(err, &size) {
		t.Errorf("losses beyond exact integers: %v, want a *SizeError", err)
	}
}

func TestWhatIsOutOfRangeIsNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		pair pld.Pair
		name string
	}{
		{pld.Gaussian{}, "sigma"}, {pld.Gaussian{Sigma: nan}, "sigma"}, {pld.Gaussian{Sigma: -1}, "sigma"},
		{pld.Gaussian{Sigma: inf}, "sigma"},
		{pld.SubsampledGaussian{Sigma: nan, Sampling: 0.1}, "sigma"},
		{pld.SubsampledGaussian{Sigma: 1}, "sampling"}, {pld.SubsampledGaussian{Sigma: 1, Sampling: nan}, "sampling"},
		{pld.SubsampledGaussian{Sigma: 1, Sampling: math.Nextafter(1, 2)}, "sampling"},
		{pld.Laplace{}, "scale"}, {pld.Laplace{Scale: nan}, "scale"},
		{pld.DiscreteGaussian{Sigma: 0, Sensitivity: 1}, "sigma"}, {pld.DiscreteGaussian{Sigma: 1}, "sensitivity"},
		{pld.Approx{Epsilon: nan}, "epsilon"}, {pld.Approx{Epsilon: -1}, "epsilon"}, {pld.Approx{Epsilon: 1e9},
			"epsilon"},
		{pld.Approx{Epsilon: 1, Delta: 1}, "delta"}, {pld.Approx{Epsilon: 1, Delta: nan}, "delta"},
		{pld.RandomizedResponse{Epsilon: 1, Values: 1}, "values"}, {pld.RandomizedResponse{Epsilon: inf, Values: 2},
			"epsilon"},
	} {
		wantRange(t, errorOf(pld.New(c.pair, pld.Options{})), c.name)
		wantRange(t, errorOf(pld.Discretize(c.pair, pld.Remove, pld.Grid{Interval: 1, Size: 2})), c.name)
		wantRange(t, errorOf(pld.Cover(c.pair, pld.Remove, 1, 0.1)), c.name)
	}
	pair := pld.Gaussian{Sigma: 1}
	for _, c := range []struct {
		options pld.Options
		name    string
	}{
		{pld.Options{Interval: nan}, "interval"}, {pld.Options{Interval: -1}, "interval"}, {pld.Options{Interval: 2},
			"interval"},
		{pld.Options{MinDelta: nan}, "min_delta"}, {pld.Options{MinDelta: 1}, "min_delta"},
		{pld.Options{MinDelta: 1e-300}, "min_delta"},
		{pld.Options{MaxPoints: -1}, "max_points"}, {pld.Options{MaxPoints: pld.MaxSize + 1}, "max_points"},
		{pld.Options{Delta: nan}, "delta"}, {pld.Options{Delta: -1}, "delta"}, {pld.Options{Delta: 1}, "delta"},
	} {
		wantRange(t, errorOf(pld.New(pair, c.options)), c.name)
	}
	for _, c := range []struct {
		direction pld.Direction
		grid      pld.Grid
		name      string
	}{
		{2, pld.Grid{Interval: 1, Size: 2}, "direction"}, {-1, pld.Grid{Interval: 1, Size: 2}, "direction"},
		{0, pld.Grid{Interval: 0.3, Size: 2}, "interval"}, {0, pld.Grid{Interval: nan, Size: 2}, "interval"},
		{0, pld.Grid{Interval: 2, Size: 2}, "interval"},
		{0, pld.Grid{Interval: 1, Size: 1}, "size"}, {0, pld.Grid{Interval: 1, Size: pld.MaxSize + 1}, "size"},
		{0, pld.Grid{Interval: 1, Lowest: 1 << 60, Size: 2}, "lowest"},
	} {
		wantRange(t, errorOf(pld.Discretize(pair, c.direction, c.grid)), c.name)
	}
	for _, tail := range []float64{nan, 0, 1, -1} {
		wantRange(t, errorOf(pld.Cover(pair, pld.Remove, 1, tail)), "tail")
	}
	wantRange(t, errorOf(pld.Cover(pair, pld.Remove, 0.3, 0.1)), "interval")

	d := must.Have(pld.New(pair, pld.Options{Interval: 0.01}))
	for _, n := range []int{0, -1, 1<<32 + 1} {
		wantRange(t, errorOf(d.Power(n)), "count")
	}
	big := must.Have(d.Power(1 << 32))
	wantRange(t, errorOf(big.Compose(d)), "count")
	wantRange(t, errorOf(big.Power(2)), "count")
	for _, epsilon := range []float64{nan, -1, math.Inf(-1)} {
		delta, err := d.DeltaAt(epsilon)
		wantRange(t, err, "epsilon")
		if delta != 1 {
			t.Errorf("delta at %v is %v, want 1", epsilon, delta)
		}
	}
	for _, delta := range []float64{nan, -1, 0, 1, inf} {
		epsilon, err := d.EpsilonAt(delta)
		wantRange(t, err, "delta")
		if !math.IsInf(epsilon, 1) {
			t.Errorf("epsilon at %v is %v, want +Inf", delta, epsilon)
		}
	}
}

func errorOf(_ any, err error) error { return err }

func wantRange(t *testing.T, err error, name string) {
	t.Helper()
	var out *units.RangeError
	if !errors.As(err, &out) || out.Parameter != name {
		t.Errorf("%v: want a *units.RangeError that names %s", err, name)
	}
}

// Whatever the parameters, the result is in range or a typed error.
func TestExtremeParametersGiveAnswersOrTypedErrors(t *testing.T) {
	for _, pair := range []pld.Pair{
		pld.Gaussian{Sigma: pld.MinSigma}, pld.Gaussian{Sigma: 0.02}, pld.Gaussian{Sigma: pld.MaxSigma},
		pld.SubsampledGaussian{Sigma: pld.MinSigma, Sampling: 0x1p-60}, pld.SubsampledGaussian{Sigma: 0.02,
			Sampling: 0.1},
		pld.SubsampledGaussian{Sigma: pld.MaxSigma, Sampling: 0x1p-60}, pld.SubsampledGaussian{Sigma: 1,
			Sampling: math.Nextafter(1, 0)},
		pld.SubsampledGaussian{Sigma: 1, Sampling: 1e-9},
		pld.Laplace{Scale: pld.MinScale}, pld.Laplace{Scale: pld.MaxScale}, pld.Laplace{Scale: 0.3},
		pld.DiscreteGaussian{Sigma: 0.125, Sensitivity: 1}, pld.DiscreteGaussian{Sigma: 0.125, Sensitivity: 1 << 20},
		pld.DiscreteGaussian{Sigma: 3000, Sensitivity: 1}, pld.DiscreteGaussian{Sigma: 3000, Sensitivity: 3},
		pld.RandomizedResponse{Epsilon: pld.MaxPureEpsilon, Values: 2}, pld.RandomizedResponse{Epsilon: 1e-300,
			Values: 1 << 30},
		pld.Approx{Epsilon: pld.MaxPureEpsilon, Delta: math.Nextafter(1, 0)}, pld.Approx{Epsilon: 5e-324,
			Delta: 5e-324},
	} {
		counts := []int{1, 3, 1 << 20}
		if !long.On() {
			counts = []int{3}
		}
		for _, n := range counts {
			d, err := pld.New(pair, pld.Options{MinDelta: 1e-6, MaxPoints: 1 << 18, Delta: float64(n%2) * 1e-3})
			if typed(t, err) {
				continue
			}
			d = must.Have(d.Power(n))
			last := 1.0
			for _, epsilon := range []float64{0, 1e-300, 1e-12, 1e-3, 1, 100, 1e5, 1e300, math.Inf(1)} {
				delta, err := d.DeltaAt(epsilon)
				if typed(t, err) {
					continue
				}
				if !(delta >= 0 && delta <= last) {
					t.Errorf("%#v, %d times, at %v: delta %v after %v", pair, n, epsilon, delta, last)
				}
				last = delta
			}
			for _, delta := range []float64{math.Nextafter(1, 0), 0.5, 1e-3, 1e-6, 1e-300} {
				epsilon, err := d.EpsilonAt(delta)
				if typed(t, err); math.IsNaN(epsilon) || epsilon < 0 {
					t.Errorf("%#v, %d times, at delta %v: epsilon %v", pair, n, delta, epsilon)
				}
			}
		}
	}
}

// typed reports whether there is an error, which must be one that the package promises.
func typed(t *testing.T, err error) bool {
	t.Helper()
	var size *pld.SizeError
	var floor *pld.FloorError
	if err != nil && !errors.As(err, &size) && !errors.As(err, &floor) {
		t.Errorf("%v: want a *SizeError or a *FloorError", err)
	}
	return err != nil
}
