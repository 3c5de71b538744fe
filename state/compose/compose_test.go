package compose

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// repeated unwraps what a constructor returns, run count times.
func repeated(t *testing.T, count int) func(Mechanism, error) Mechanism {
	return func(m Mechanism, err error) Mechanism {
		t.Helper()
		if err == nil {
			m, err = m.Times(count)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// eps returns an (ε, δ).
func eps(epsilon, delta float64) loss.Approx { return loss.Approx{Epsilon: epsilon, Delta: delta} }

func asked(t *testing.T, ask func(float64) (Question, error), given float64) Question {
	t.Helper()
	return must.Have(ask(given))
}

// by returns the result of an accountant; name "" is the best.
func by(t *testing.T, name string, list []Mechanism, q Question) loss.Approx {
	t.Helper()
	a, ok := Named(name)
	if name == "" {
		best, _, err := Best(list, q)
		return must.Have(best.Loss, err)
	}
	if !ok {
		t.Fatalf("there is no accountant %q", name)
	}
	return must.Have(a.Compose(list, q))
}

// Values that others computed.
func TestComposeAgreesWithOthers(t *testing.T) {
	once := repeated(t, 1)
	epsilon, delta := EpsilonAt, DeltaAt
	gaussians := []Mechanism{repeated(t, 3)(Gaussian(1.7320508075688772, 1))}
	approx := []Mechanism{once(Approx(eps(1, 0.1))), once(Approx(eps(2, 0.2)))}
	for _, tc := range []struct {
		name       string
		list       []Mechanism
		ask        func(float64) (Question, error)
		given      float64
		accountant string // "" asks for the tightest, which is used
		used       string
		within     float64
		want       loss.Approx
	}{
		// μ = 1 at ε = 1: Dong, Roth and Su, 2022, Corollary 2.13 (conversion.GDPToDelta).
		{"three Gaussians", gaussians, delta, 1, "", "gdp", 1e-12, eps(1, 0.126936737506644)},
		// dp_accounting of Google's differential-privacy library for Python,
		// pld/privacy_loss_distribution_test.py.
		{"three Gaussians by PLD", gaussians, delta, 1, "pld", "pld", 1e-3, eps(1, 0.126936)},
		{"Poisson samples", []Mechanism{repeated(t, 3)(SampledGaussian(0.5, 1, 0.2))}, delta, 1, "", "pld", 1e-4,
			eps(1, 0.15594)},
		{"two of (ε, δ)", approx, delta, 3, "", "pld", 1e-9, eps(3, 0.28)},
		// 0.28 = 1 − (1 − 0.1)(1 − 0.2) is the probability that either fails; the basic sum is 0.3.
		{"two of (ε, δ) added up", approx, delta, 3, "basic", "basic", 1e-12, eps(3, 0.3)},
		// Koskela, Tobaben and Honkela: 495 steps in Gaussian terms cost as much as 420 in Rényi's.
		{"495 Gaussian steps", []Mechanism{repeated(t, 495)(Gaussian(100, 1))}, epsilon, 1e-5, "", "gdp", 1e-3,
			eps(0.815, 1e-5)},
		{"420 Rényi steps", []Mechanism{repeated(t, 420)(Gaussian(100, 1))}, epsilon, 1e-5, "rdp", "rdp", 1.5e-3,
			eps(0.815, 1e-5)},
		// Package state's tests: ρ = 1/32 is 0.6880024554878085 at 1e-3, to the precision of the
		// grid of orders.
		{"zCDP", []Mechanism{once(Gaussian(4, 1))}, epsilon, 1e-3, "zcdp", "zcdp", 1e-9, eps(0.6880024554878085, 1e-3)},
		{"discrete zCDP", []Mechanism{once(DiscreteGaussian(8, 2))}, epsilon, 1e-3, "zcdp", "zcdp", 1e-9,
			eps(0.6880024554878085, 1e-3)},
		{"sensitivity", []Mechanism{once(Gaussian(8, 2))}, epsilon, 1e-3, "zcdp", "zcdp", 1e-9, eps(0.6880024554878085,
			1e-3)},
		{"Laplace added up", []Mechanism{repeated(t, 4)(Laplace(8, 1))}, delta, 0.5, "basic", "basic", 0, eps(0.5, 0)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			best, _, err := Best(tc.list, asked(t, tc.ask, tc.given))
			if tc.accountant == "" && (err != nil || best.Accountant.Name() != tc.used) {
				t.Errorf("the best is %s, want %s: %v", best.Accountant.Name(), tc.used, err)
			}
			got := by(t, tc.accountant, tc.list, asked(t, tc.ask, tc.given))
			if math.Abs(got.Epsilon-tc.want.Epsilon) > tc.within || math.Abs(got.Delta-tc.want.Delta) > tc.within {
				t.Errorf("got %+v, want %+v within %v", got, tc.want, tc.within)
			}
		})
	}
}

// On Gaussian noise every accountant but homogeneous applies, and theory has them in this order;
// rdp is at most as good as zcdp, which has every order and not a grid of them.
func TestCompareOrdersAccountantsOnGaussians(t *testing.T) {
	for _, tc := range []struct {
		list  []Mechanism
		delta float64
	}{
		{[]Mechanism{repeated(t, 500)(Gaussian(100, 1))}, 1e-6},
		{[]Mechanism{repeated(t, 7)(Gaussian(20, 1)), repeated(t, 1)(Gaussian(5, 0.5))}, 1e-9},
	} {
		values := map[string]float64{}
		verdicts := must.Have(Compare(tc.list, asked(t, EpsilonAt, tc.delta)))
		for _, v := range verdicts {
			if v.NotApplicable != nil {
				if v.Accountant.Name() != "homogeneous" {
					t.Fatalf("%s does not apply: %v", v.Accountant.Name(), v.NotApplicable)
				}
				continue
			}
			values[v.Accountant.Name()] = v.Loss.Epsilon
		}
		order := []string{"gdp", "pld", "zcdp", "rdp"}
		for i := range order[1:] {
			if !(values[order[i]] <= values[order[i+1]]) {
				t.Errorf("%s says %v, %s says %v", order[i], values[order[i]], order[i+1], values[order[i+1]])
			}
		}
		if len(values) != len(Names())-1 || !(values["rdp"] < min(values["basic"], values["advanced"])) {
			t.Errorf("rdp is not below the simple ones: %v", values)
		}
		sorted := slices.IsSortedFunc(verdicts[:len(values)], func(x, y Verdict) int {
			return int(math.Copysign(1, x.Loss.Epsilon-y.Loss.Epsilon))
		})
		if verdicts[0].Accountant.Name() != "gdp" || !sorted {
			t.Errorf("not sorted: %v", values)
		}
	}
}

// The result of one question, inverted, is not better than the question, and hardly worse.
func TestComposeAgreesWithItself(t *testing.T) {
	for _, m := range []Mechanism{
		repeated(t, 20)(Gaussian(10, 1)),
		repeated(t, 20)(Laplace(12, 1)),
		repeated(t, 50)(SampledGaussian(9, 1, 0.1)),
		repeated(t, 9)(RandomizedResponse(0.2, 3)),
		repeated(t, 11)(Approx(eps(0.1, 1e-9))),
	} {
		list := []Mechanism{m}
		verdicts := must.Have(Compare(list, asked(t, EpsilonAt, 1e-6)))
		for _, v := range verdicts {
			if v.NotApplicable != nil {
				continue
			}
			name := v.Accountant.Name()
			back := by(t, name, list, asked(t, DeltaAt, v.Loss.Epsilon))
			if back.Delta > 1e-6*(1+1e-5) || name == "gdp" && back.Delta < 1e-6*(1-1e-6) {
				t.Errorf("%s by %s: ε = %v at 1e-6, but δ = %v there", m.name, name, v.Loss.Epsilon, back.Delta)
			}
		}
	}
}

// The least over the integers from 2 to 512 by another program: the binomial sum in float64 with
// math.lgamma, by the formula of Canonne, Kamath and Steinke, in Python. Orders that skip integers
// give 2.5048 in the first case and 1.5111 in the last.
func TestRenyiOrdersOfPoissonSamplesAreAllIntegers(t *testing.T) {
	for _, tc := range []struct {
		sigma, sampling float64
		count           int
		delta, want     float64
	}{
		{1, 0.01, 1000, 1e-6, 2.436693803022119},
		{2, 0.01, 1000, 1e-6, 0.78279642359767},
		{4, 0.01, 10000, 1e-5, 1.0354900660365645},
		{2, 0.05, 1000, 1e-6, 4.486492946149621},
		{1, 0.005, 1000, 1e-6, 1.470619580381612},
	} {
		list := []Mechanism{repeated(t, tc.count)(SampledGaussian(tc.sigma, 1, tc.sampling))}
		got := by(t, "rdp", list, asked(t, EpsilonAt, tc.delta)).Epsilon
		if math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("σ = %v, q = %v, %d times at %v: ε = %v, want %v", tc.sigma, tc.sampling, tc.count, tc.delta, got,
				tc.want)
		}
	}
}

// Very little noise on samples: rdp once did not return from divergences beyond the range of its
// arithmetic.
func TestLittleNoiseOnSamplesHasAnAnswer(t *testing.T) {
	for _, c := range []struct {
		sigma, sampling float64
		count           int
	}{{0.003, 0.01, 1}, {0x1p-10, 0x1p-60, 1}, {0x1p-10, 0.25, MaxCount}, {0.05, 1 - 0x1p-53, 3}, {0.1, 0.5, 30}} {
		list := []Mechanism{repeated(t, c.count)(SampledGaussian(c.sigma, 1, c.sampling))}
		got := by(t, "rdp", list, asked(t, EpsilonAt, 1e-6)).Epsilon
		exact, err := conversion.GDPToEpsilon(loss.GDP{Mu: 1 / c.sigma}, 1e-6)
		if err == nil && c.sampling == 1-0x1p-53 && c.count == 3 && got < exact {
			t.Errorf("%+v: %v is below one release without sampling, %v", c, got, exact)
		}
		if !(got >= 0 && got <= math.MaxFloat64) {
			t.Errorf("%+v: ε = %v", c, got)
		}
		if !long.On() {
			continue // pld takes seconds where noise is so small
		}
		if _, _, err := Best(list, asked(t, EpsilonAt, 1e-6)); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Sums are never too small, and exact if a float64 holds them.
func TestSumsRoundUp(t *testing.T) {
	if got := plus(1, 2, 3); got != 7 {
		t.Errorf("1 + 3·2 is %v", got)
	}
	if got := plus(0.7, 0.1, 1); got != 0.8 { // to nearest it is less
		t.Errorf("0.7 + 0.1 is %v", got)
	}
}

// An accountant that does not apply returns a typed error and no number.
func TestWhatDoesNotApplyIsAnErrorOfItsOwn(t *testing.T) {
	gdp, _ := Named("gdp")
	cost, err := gdp.Compose([]Mechanism{repeated(t, 1)(SampledGaussian(1, 1, 0.1))}, asked(t, EpsilonAt, 1e-6))
	var none *NotApplicableError
	if !errors.Is(err, ErrNotApplicable) || !errors.As(err, &none) || none.Reason == "" || cost != (loss.Approx{}) {
		t.Errorf("got %v, %v", cost, err)
	}
	// A sum that is out of the accountant's range is not an error of the list's numbers.
	_, err = gdp.Compose([]Mechanism{repeated(t, MaxCount)(Gaussian(0.01, 1))}, asked(t, EpsilonAt, 1e-6))
	var out *units.RangeError
	if !errors.Is(err, ErrNotApplicable) || errors.As(err, &out) {
		t.Errorf("got %v", err)
	}
}

// Anything but a mechanism, a list or a question is a *units.RangeError that names it.
func TestComposeRefusesWhatIsOutOfRange(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	made := func(_ Mechanism, err error) error { return err }
	asks := func(_ Question, err error) error { return err }
	one := repeated(t, 1)(Gaussian(1, 1))
	good := asked(t, EpsilonAt, 1e-6)
	answer := func(list []Mechanism, q Question) error { _, _, err := Best(list, q); return err }
	times := func(count int) error { _, err := one.Times(count); return err }
	for i, tc := range []struct {
		err  error
		want string
	}{
		{asks(EpsilonAt(0)), "delta"}, {asks(EpsilonAt(1)), "delta"}, {asks(EpsilonAt(nan)), "delta"},
		{asks(DeltaAt(-1)), "epsilon"}, {asks(DeltaAt(inf)), "epsilon"}, {asks(DeltaAt(nan)), "epsilon"},
		{made(Gaussian(0, 1)), "sigma"}, {made(Gaussian(nan, 1)), "sigma"}, {made(Gaussian(inf, 1)), "sigma"},
		{made(Gaussian(1, 0)), "sensitivity"}, {made(Gaussian(1, nan)), "sensitivity"}, {made(Gaussian(0, 0)), "sigma"},
		{made(Gaussian(1, 1e9)), "sigma/sensitivity"}, {made(Gaussian(1e-9, 1)), "sigma"},
		{made(SampledGaussian(1, 1, 0)), "sampling"}, {made(SampledGaussian(1, 1, 1.5)), "sampling"},
		{made(SampledGaussian(1, 1, nan)), "sampling"},
		{made(DiscreteGaussian(1, 0)), "sensitivity"}, {made(DiscreteGaussian(1, MaxSensitivity+1)), "sensitivity"},
		{made(DiscreteGaussian(nan, 1)), "sigma"},
		{made(Laplace(0, 1)), "scale"}, {made(Laplace(1, -1)), "sensitivity"},
		{made(RandomizedResponse(-1, 2)), "epsilon"}, {made(RandomizedResponse(nan, 2)), "epsilon"},
		{made(RandomizedResponse(1, 1)), "values"},
		{made(Approx(eps(inf, 0))), "epsilon"}, {made(Approx(eps(1, 1))), "delta"}, {made(Approx(eps(1, nan))),
			"delta"},
		{times(0), "count"}, {times(-2), "count"}, {times(MaxCount + 1), "count"},
		{made(repeated(t, MaxCount)(one, nil).Times(2)), "count"},
		{answer(nil, good), "mechanisms"}, {answer([]Mechanism{{}}, good), "count"},
		{answer([]Mechanism{one}, Question{}), "delta"},
		{answer([]Mechanism{one, repeated(t, MaxCount)(one, nil)}, good), "count"},
		{func() error { _, err := (Accountant{}).Compose([]Mechanism{one}, good); return err }(), "accountant"},
	} {
		var out *units.RangeError
		if !errors.As(tc.err, &out) || out.Parameter != tc.want {
			t.Errorf("%d: got %v, want a *units.RangeError of %s", i, tc.err, tc.want)
		}
	}
}
