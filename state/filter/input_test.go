package filter_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// named checks that err is a *units.RangeError about the parameter.
func named(t *testing.T, what string, err error, parameter string) {
	t.Helper()
	var out *units.RangeError
	if !errors.As(err, &out) || out.Parameter != parameter || out.Range == "" {
		t.Errorf("%s: %v, want a *units.RangeError that names %s", what, err, parameter)
	}
}

func TestALossThatIsNoneIsNamedAndChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		m := s.fresh()
		if err := m.spend(s.scaled(0.05)); err != nil {
			t.Fatal(err)
		}
		before := m.left()
		for i := range s.scale {
			for _, bad := range []float64{math.NaN(), math.Inf(-1), -1, -math.SmallestNonzeroFloat64} {
				n := make(numbers, len(s.scale))
				n[i] = bad
				var out *units.RangeError
				if err := m.spend(n); !errors.As(err, &out) || errors.Is(err, filter.ErrExceeded) {
					t.Errorf("spending %v: %v", n, err)
				}
				if m.fits(n) {
					t.Errorf("%v fits", n)
				}
			}
		}
		if !slices.Equal(m.left(), before) {
			t.Errorf("bad input changed what is left from %v to %v", before, m.left())
		}
	})
}

func TestALossTooLargeForASumIsRefused(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		m := s.fresh()
		if err := m.spend(s.scaled(0.05)); err != nil {
			t.Fatal(err)
		}
		before := m.left()
		for _, huge := range []float64{0x1p24, 0x1p47, 0x1p48, 1e30, math.MaxFloat64} {
			n := make(numbers, len(s.scale))
			n[0] = huge
			if err := m.spend(n); !errors.Is(err, filter.ErrExceeded) || m.fits(n) {
				t.Errorf("spending %v: %v", n, err)
			}
		}
		if !slices.Equal(m.left(), before) {
			t.Errorf("refusals changed what is left from %v to %v", before, m.left())
		}
	})
}

// scaled returns a part of the subject's budget, which fits a fresh filter.
func (s subject) scaled(part float64) numbers {
	n := make(numbers, len(s.scale))
	for i, x := range s.scale {
		n[i] = x * part
	}
	return n
}

func TestTheLargestBudgetRefusesWhatOverflows(t *testing.T) {
	largest := math.Nextafter(0x1p48, 0)
	m := drive(must(filter.NewBasic(loss.Approx{Epsilon: largest})), approx, fromApprox)
	if err := m.spend(numbers{largest, 0}); err != nil {
		t.Fatal(err)
	}
	for _, more := range []float64{0x1p-80, 1, largest, math.MaxFloat64} {
		if err := m.spend(numbers{more, 0}); !errors.Is(err, filter.ErrExceeded) {
			t.Errorf("%v more: %v", more, err)
		}
	}
}

func TestABudgetThatIsNoneIsNamed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	bad := []float64{nan, inf, -inf, -1, 0, math.SmallestNonzeroFloat64, 0x1p48, math.MaxFloat64}
	for _, x := range bad {
		_, err := filter.NewBasic(loss.Approx{Epsilon: x})
		named(t, "basic", err, "epsilon")
		_, err = filter.NewAdvanced(loss.Approx{Epsilon: x, Delta: 1e-6})
		named(t, "advanced", err, "epsilon")
		_, err = filter.NewRenyi(2, x)
		named(t, "renyi", err, "epsilon")
		_, err = filter.NewRenyiOrders(loss.RDP{{Alpha: 2, Epsilon: 1}, {Alpha: 3, Epsilon: x}})
		named(t, "renyi orders", err, "epsilon")
		_, err = filter.NewZCDP(loss.Approx{Epsilon: x, Delta: 1e-6})
		named(t, "zcdp", err, "epsilon")
		_, err = filter.NewApproxZCDP(x, 0)
		named(t, "approximate zcdp", err, "rho")
		_, err = filter.NewApproxZCDPFor(loss.Approx{Epsilon: x, Delta: 1e-6}, 0)
		named(t, "approximate zcdp for", err, "epsilon")
		_, err = filter.NewGDP(x)
		named(t, "gdp", err, "mu")
		_, err = filter.NewExPost(x)
		named(t, "ex-post", err, "epsilon")
		_, err = filter.NewMixed(loss.Approx{Epsilon: 1, Delta: 1e-6}, 0, loss.Approx{Epsilon: x})
		named(t, "mixed", err, "epsilon")
		_, err = filter.NewUnified(x, 0)
		named(t, "unified", err, "rho")
		_, err = filter.NewUnifiedFor(loss.Approx{Epsilon: x, Delta: 1e-6}, 0)
		named(t, "unified for", err, "epsilon")
		if x > 0 && x < 1 {
			continue // the optimal conversions take any ε above 0
		}
		_, err = filter.NewZCDPOptimal(loss.Approx{Epsilon: x, Delta: 1e-6})
		named(t, "zcdp optimal", err, "epsilon")
		_, err = filter.NewGDPFor(loss.Approx{Epsilon: x, Delta: 1e-6})
		named(t, "gdp for", err, "epsilon")
	}
	for _, x := range []float64{nan, inf, -1, 0, 1, 2, math.SmallestNonzeroFloat64} {
		budget := loss.Approx{Epsilon: 1, Delta: x}
		_, err := filter.NewAdvanced(budget)
		named(t, "advanced", err, "delta")
		_, err = filter.NewZCDP(budget)
		named(t, "zcdp", err, "delta")
		_, err = filter.NewZCDPOptimal(budget)
		named(t, "zcdp optimal", err, "delta")
		_, err = filter.NewApproxZCDPFor(budget, 0)
		named(t, "approximate zcdp for", err, "delta")
		_, err = filter.NewGDPFor(budget)
		named(t, "gdp for", err, "delta")
		_, err = filter.NewMixed(budget, 0, loss.Approx{Epsilon: 1})
		named(t, "mixed", err, "delta")
		_, err = filter.NewUnifiedFor(budget, 0)
		named(t, "unified for", err, "delta")
		if x == 0 {
			continue // pure differential privacy, or plain zCDP
		}
		_, err = filter.NewBasic(budget)
		named(t, "basic", err, "delta")
		_, err = filter.NewExPostApprox(budget)
		named(t, "ex-post", err, "delta")
		_, err = filter.NewApproxZCDP(1, x)
		named(t, "approximate zcdp", err, "delta")
		_, err = filter.NewUnified(1, x)
		named(t, "unified", err, "delta")
	}
}

func TestWhatABudgetCannotHaveBesideIsNamed(t *testing.T) {
	budget := loss.Approx{Epsilon: 1, Delta: 1e-6}
	for _, x := range []float64{math.NaN(), -1, 1e-6, 1, math.Inf(1)} {
		_, err := filter.NewApproxZCDPFor(budget, x)
		named(t, "approximate part", err, "approximate")
	}
	_, err := filter.NewApproxZCDPFor(budget, 1e-30)
	named(t, "an approximate part below a unit", err, "delta")
	for _, order := range []float64{math.NaN(), math.Inf(1), 1, 0.5, -2} {
		_, err = filter.NewRenyi(order, 1)
		named(t, "order", err, "alpha")
	}
	_, err = filter.NewRenyiOrders(nil)
	named(t, "no orders", err, "orders")
	_, err = filter.NewMixed(loss.Approx{Epsilon: 1, Delta: 0.6}, 0, loss.Approx{Epsilon: 1, Delta: 0.5})
	named(t, "two halves of nothing", err, "delta")
	_, err = filter.NewZCDP(loss.Approx{Epsilon: 1e-12, Delta: 1e-300})
	named(t, "a budget of less than a unit", err, "rho")
}

func TestTheAdvancedFilterNeedsADeltaBelowOneOverE(t *testing.T) {
	largest := math.Nextafter(1/math.E, 0) // 0.36787944117144227…, 1/e = 0.36787944117144232…
	if _, err := filter.NewAdvanced(loss.Approx{Epsilon: 1, Delta: largest}); err != nil {
		t.Errorf("δ = %v is below 1/e: %v", largest, err)
	}
	_, err := filter.NewAdvanced(loss.Approx{Epsilon: 1, Delta: 1 / math.E})
	named(t, "the first above", err, "delta")
}

func TestALossOfAnotherKindIsNamed(t *testing.T) {
	z := must(filter.NewZCDP(loss.Approx{Epsilon: 1, Delta: 1e-6}))
	named(t, "approximate zCDP", z.Spend(loss.ZCDP{Rho: 1e-6, Delta: 1e-9}), "delta")

	one := must(filter.NewRenyi(8, 1))
	named(t, "lower orders only", one.Spend(loss.RDP{{Alpha: 2, Epsilon: 0.1}, {Alpha: 7.9, Epsilon: 0.1}}), "alpha")
	many := must(filter.NewRenyiOrders(loss.RDP{{Alpha: 2, Epsilon: 1}, {Alpha: 8, Epsilon: 1}}))
	named(t, "lower orders only", many.Spend(loss.RDP{{Alpha: 2, Epsilon: 0.1}}), "alpha")
	for _, f := range []filter.Filter[loss.RDP]{one, many} {
		named(t, "no orders", f.Spend(nil), "orders")
		named(t, "falling orders", f.Spend(loss.RDP{{Alpha: 8}, {Alpha: 2}}), "alpha")
		unknown := loss.RDP{{Alpha: 8, Epsilon: math.Inf(1)}}
		if err := f.Spend(unknown); !errors.Is(err, filter.ErrExceeded) {
			t.Errorf("nothing known at the order: %v", err)
		}
	}
}

// TestABudgetBetweenTwoUnitsIsRoundedDown has budgets of a unit and a half: one loss of
// a unit fits, two would be beyond.
func TestABudgetBetweenTwoUnitsIsRoundedDown(t *testing.T) {
	const unit = 0x1p-80
	for _, c := range []struct {
		name string
		m    machine
		l    numbers
	}{
		{"epsilon", drive(must(filter.NewBasic(loss.Approx{Epsilon: 1.5 * unit, Delta: 0.5})), approx, fromApprox), numbers{unit, 0}},
		{"delta", drive(must(filter.NewBasic(loss.Approx{Epsilon: 1, Delta: 1.5 * unit})), approx, fromApprox), numbers{0, unit}},
		{"mu", drive(must(filter.NewGDP(1.25*0x1p-40)), gaussian, fromGaussian), numbers{0x1p-40}},
	} {
		if err := c.m.spend(c.l); err != nil {
			t.Errorf("%s: the first: %v", c.name, err)
		}
		if err := c.m.spend(c.l); !errors.Is(err, filter.ErrExceeded) {
			t.Errorf("%s: the second: %v", c.name, err)
		}
	}
}
