package compose

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Groups of mechanisms that add noise to a value cost what k times the sensitivity does, by every
// accountant; an (ε, δ) what the sum of it does.
func TestGroupsHaveASensitivityForEveryMember(t *testing.T) {
	group := func(m Mechanism, err error) Mechanism {
		t.Helper()
		if err == nil {
			m, err = m.ForGroup(3)
		}
		if err == nil {
			m, err = m.Times(5)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	q := asked(t, EpsilonAt, 1e-6)
	for _, c := range []struct{ group, want Mechanism }{
		{group(Gaussian(8, 0.5)), repeated(t, 5)(Gaussian(8, 1.5))},
		{group(Laplace(8, 0.5)), repeated(t, 5)(Laplace(8, 1.5))},
		{group(DiscreteGaussian(8, 2)), repeated(t, 5)(DiscreteGaussian(8, 6))},
		{group(Approx(eps(0.5, 0))), repeated(t, 5)(Approx(eps(1.5, 0)))},
		{group(Approx(eps(0.5, 1e-9))), repeated(t, 5)(Approx(eps(1.5, 1e-9*(1+math.Exp(0.5)+math.E))))},
	} {
		got := must.Have(Compare([]Mechanism{c.group}, q))
		want := must.Have(Compare([]Mechanism{c.want}, q))
		for i, v := range got {
			w := want[i]
			if v.Accountant.Name() != w.Accountant.Name() || math.Abs(v.Loss.Epsilon-w.Loss.Epsilon) >
				1e-9*w.Loss.Epsilon {
				t.Errorf("%s: %+v, want %+v", c.group.name, v, w)
			}
		}
	}
	one := repeated(t, 7)(Gaussian(3, 1))
	if same, err := one.ForGroup(1); err != nil || same != one {
		t.Errorf("a group of one: %+v (%v)", same, err)
	}
}

// k²·ρ (Bun and Steinke, 2016, Proposition 1.9), which is exact for Gaussian noise.
func TestGroupOfAZCDPMechanismCostsTheSquareOfItsSize(t *testing.T) {
	m := must.Have(repeated(t, 2)(ZCDP(loss.ZCDP{Rho: 0.125})).ForGroup(3))
	if rho, ok := m.rho(); !ok || rho != 9*0.125 || m.Count() != 2 {
		t.Errorf("ρ = %v (%v), %d times; want 1.125, twice", rho, ok, m.Count())
	}
	var out *units.RangeError
	if _, err := repeated(t, 1)(ZCDP(loss.ZCDP{Rho: 1e308})).ForGroup(3); !errors.As(err, &out) {
		t.Errorf("a ρ that no float64 holds: %v", err)
	}
}

// Poisson samples are priced for one individual added or removed, the others for one replaced: a
// sum of both is a price for neither.
func TestMechanismsWithoutCommonNeighboursAreNotComposed(t *testing.T) {
	q := asked(t, EpsilonAt, 1e-6)
	for _, sample := range []Mechanism{repeated(t, 1)(SampledGaussian(1, 1, 0.1)),
		repeated(t, 1)(SampledLaplace(1, 1, 0.1)), repeated(t, 1)(SampledDiscreteGaussian(1, 1, 0.1))} {
		for _, other := range []Mechanism{repeated(t, 1)(GaussianWithoutReplacement(1, 1, 0.1)),
			repeated(t, 1)(RandomizedResponse(1, 3))} {
			if _, _, err := Best([]Mechanism{sample, other}, q); !errors.Is(err, ErrNotApplicable) {
				t.Errorf("%s with %s: %v", sample.name, other.name, err)
			}
		}
	}
	both := []Mechanism{repeated(t, 1)(GaussianWithoutReplacement(1, 1, 0.1)), repeated(t, 1)(RandomizedResponse(1, 3))}
	if _, _, err := Best(both, q); err != nil {
		t.Errorf("both replace one individual: %v", err)
	}
}

func TestGroupsWithoutAKnownCostAreRefused(t *testing.T) {
	for _, m := range []Mechanism{
		repeated(t, 1)(SampledGaussian(1, 1, 0.1)), repeated(t, 1)(SampledLaplace(1, 1, 0.1)),
		repeated(t, 1)(SampledDiscreteGaussian(1, 1, 0.1)), repeated(t, 1)(GaussianWithoutReplacement(1, 1, 0.1)),
	} {
		if _, err := m.ForGroup(2); !errors.Is(err, ErrNotApplicable) {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	for _, c := range []struct {
		m     Mechanism
		group int
	}{
		{repeated(t, 1)(Gaussian(1, 1)), 0},
		{repeated(t, 1)(Gaussian(1, 1)), MaxGroup + 1},
		{repeated(t, 1)(DiscreteGaussian(1, MaxSensitivity/2)), 3},
		{repeated(t, 1)(Approx(eps(1, 0.3))), 2},
	} {
		var out *units.RangeError
		if _, err := c.m.ForGroup(c.group); !errors.As(err, &out) || out.Parameter != "group" {
			t.Errorf("%s, a group of %d: %v", c.m.name, c.group, err)
		}
	}
}

// On samples pld gives the least of the accountants that apply, and a sample of everything is the
// mechanism itself.
func TestSampledMechanismsAreWithinTheirBounds(t *testing.T) {
	q := asked(t, EpsilonAt, 1e-6)
	for _, m := range []Mechanism{
		repeated(t, 30)(SampledLaplace(2, 1, 0.1)), repeated(t, 30)(SampledDiscreteGaussian(3, 1, 0.1)),
		repeated(t, 300)(GaussianWithoutReplacement(2, 1, 0.01)),
	} {
		list := []Mechanism{m}
		exact := by(t, "pld", list, q)
		verdicts := must.Have(Compare(list, q))
		for _, v := range verdicts {
			if v.NotApplicable == nil && v.Loss.Epsilon < exact.Epsilon*(1-1e-3) {
				t.Errorf("%s: %s says %v, less than pld, %v", m.name, v.Accountant.Name(), v.Loss.Epsilon,
					exact.Epsilon)
			}
		}
	}
	for name, made := range map[string][2]func() (Mechanism, error){
		"laplace": {func() (Mechanism, error) { return SampledLaplace(2, 1, 1) }, func() (Mechanism, error) {
			return Laplace(2, 1)
		}},
		"discrete": {func() (Mechanism, error) { return SampledDiscreteGaussian(2, 1, 1) }, func() (Mechanism, error) {
			return DiscreteGaussian(2, 1)
		}},
		"replaced": {func() (Mechanism, error) { return GaussianWithoutReplacement(2, 1, 1) },
			func() (Mechanism, error) { return Gaussian(2, 1) }},
	} {
		sampled := must.Have(made[0]())
		whole := must.Have(made[1]())
		if a, b := by(t, "", []Mechanism{sampled}, q), by(t, "", []Mechanism{whole}, q); a != b {
			t.Errorf("%s: a sample of everything costs %+v, the mechanism %+v", name, a, b)
		}
	}
	pure := repeated(t, 1)(SampledLaplace(1, 1, 0.1))
	if want := (loss.Approx{Epsilon: 0.15856507874042913}); math.Abs(pure.fixed.Epsilon-want.Epsilon) > 1e-15 {
		t.Errorf("on a sample ε is %v, want %v", pure.fixed.Epsilon, want.Epsilon)
	}
	for _, bad := range []float64{0, 1.5, math.NaN()} {
		for _, made := range []func() (Mechanism, error){
			func() (Mechanism, error) { return SampledLaplace(1, 1, bad) },
			func() (Mechanism, error) { return SampledDiscreteGaussian(1, 1, bad) },
			func() (Mechanism, error) { return GaussianWithoutReplacement(1, 1, bad) },
		} {
			var out *units.RangeError
			if _, err := made(); !errors.As(err, &out) || out.Parameter != "sampling" {
				t.Errorf("sampling %v: %v", bad, err)
			}
		}
	}
}
