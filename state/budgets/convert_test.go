package budgets

import (
	"errors"
	"math"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Over δ from 0.1 to 1e-300 and ε to 200, (ε, δ) → μ → ε and δ returns to the start, without ever
// promising more than the truth.
func TestConversionsNeverFlatterTheGuarantee(t *testing.T) {
	deltas := []float64{1e-1, 1e-6, 1e-15, 1e-17, 1e-40, 1e-100, 1e-300}
	if !long.On() {
		deltas = []float64{1e-1, 1e-17, 1e-300}
	}
	for _, a := range Accountants() {
		for _, delta := range deltas {
			for _, epsilon := range []float64{1e-4, 0.01, 1, 20, 200} {
				forward := must.Have(ConvertEpsilonDelta(epsilon, delta, a))
				if forward.Rho > forward.Mu*forward.Mu/2*(1+0x1p-51) ||
					forward.Rho < forward.Mu*forward.Mu/2*(1-0x1p-51) {
					t.Errorf("%s (%v, %v): ρ = %v, μ = %v", a, epsilon, delta, forward.Rho, forward.Mu)
				}
				back, err := ConvertEpsilonMu(epsilon, forward.Mu, a)
				if err != nil || !(back.Delta <= delta && back.Delta > delta*(1-1e-10)) {
					t.Errorf("%s (%v, %v): μ = %v has δ = %v, %v", a, epsilon, delta, forward.Mu, back.Delta, err)
				}
				more, err := ConvertEpsilonMu(epsilon, math.Nextafter(forward.Mu, 1e9), a)
				if err != nil || !(more.Delta > delta) {
					t.Errorf("%s (%v, %v): μ above %v still has δ = %v, %v", a, epsilon, delta, forward.Mu, more.Delta,
						err)
				}
				other, err := ConvertDeltaMu(delta, forward.Mu, a)
				if err != nil || !(other.Epsilon <= epsilon && other.Epsilon > epsilon*(1-1e-10)) {
					t.Errorf("%s (%v, %v): μ = %v has ε = %v, %v", a, epsilon, delta, forward.Mu, other.Epsilon, err)
				}
			}
		}
	}
}

func TestConversionThroughRhoEqualsThroughMu(t *testing.T) {
	const mu, rho = 0.25, 0.03125
	for _, a := range []Accountant{GDP, ZCDP} {
		e1, err1 := ConvertDeltaMu(1e-6, mu, a)
		e2, err2 := ConvertDeltaRho(1e-6, rho, a)
		d1, err3 := ConvertEpsilonMu(1, mu, a)
		d2, err4 := ConvertEpsilonRho(1, rho, a)
		must.Have(0, errors.Join(err1, err2, err3, err4))
		if e1 != e2 || d1 != d2 {
			t.Errorf("%s: %+v and %+v, %+v and %+v", a, e1, e2, d1, d2)
		}
	}
	// An irrational μ is rounded up.
	c, err := ConvertDeltaRho(1e-6, 0.1, GDP)
	if err != nil || bigmath.Square(c.Mu).Cmp(bigmath.Zero().Mul(bigmath.New(0.1), bigmath.New(2))) < 0 {
		t.Errorf("ρ = 0.1 has μ = %v, %v", c.Mu, err)
	}
}

// Values from the literature: μ = 1 at δ = 1e-5, and δ(ε = 1) of μ = 1, which is
// Φ(−1/2) − e·Φ(−3/2).
func TestConversionReferenceValues(t *testing.T) {
	c, err := ConvertEpsilonMu(1, 1, GDP)
	want := math.Erfc(0.5/math.Sqrt2)/2 - math.E*math.Erfc(1.5/math.Sqrt2)/2
	if err != nil || math.Abs(c.Delta-want) > 1e-15 || c.Rho != 0.5 {
		t.Errorf("μ = 1 at ε = 1: %+v, %v, want δ = %v", c, err, want)
	}
	if c, err = ConvertDeltaMu(1e-5, 1, GDP); err != nil || math.Abs(c.Epsilon-4.3770) > 1e-3 {
		t.Errorf("μ = 1 at δ = 1e-5: %+v, %v", c, err)
	}
	// δ(0) = 2Φ(μ/2) − 1 = 0.3829: a larger δ needs no ε at all.
	if c, err = ConvertDeltaMu(0.4, 1, GDP); err != nil || c.Epsilon != 0 {
		t.Errorf("μ = 1 at δ = 0.4: %+v, %v", c, err)
	}
}

func TestConversionsOutOfRangeAreTypedErrors(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e9} {
		_, e1 := ConvertEpsilonDelta(bad, 1e-6, GDP)
		_, e2 := ConvertEpsilonDelta(1, bad, GDP)
		_, e3 := ConvertEpsilonMu(bad, 1, GDP)
		_, e4 := ConvertEpsilonMu(1, bad, GDP)
		_, e5 := ConvertDeltaMu(bad, 1, GDP)
		_, e6 := ConvertDeltaMu(1e-6, bad, GDP)
		_, e7 := ConvertEpsilonRho(1, bad, GDP)
		_, e8 := ConvertDeltaRho(1e-6, bad, GDP)
		for i, err := range []error{e1, e2, e3, e4, e5, e6, e7, e8} {
			var r *units.RangeError
			if !errors.As(err, &r) {
				t.Errorf("%v, case %d: %v is not a *units.RangeError", bad, i+1, err)
			}
		}
	}
	_, e1 := ConvertEpsilonDelta(1, 1e-6, "x")
	_, e2 := ConvertEpsilonMu(1, 1, "x")
	_, e3 := ConvertDeltaMu(1e-6, 1, "x")
	for _, err := range []error{e1, e2, e3} {
		var u *UnknownAccountantError
		if !errors.As(err, &u) {
			t.Errorf("%v is not an *UnknownAccountantError", err)
		}
	}
	// The ends of the range of μ convert.
	for _, a := range Accountants() {
		for _, mu := range []float64{MinMu, MaxMu} {
			c, err := ConvertEpsilonMu(1e-6, mu, a)
			if err != nil || !(c.Delta > 0 && c.Delta <= 1) {
				t.Errorf("%s, μ = %v: %+v, %v", a, mu, c, err)
			}
			c, err = ConvertDeltaMu(1e-300, mu, a)
			if err != nil || !(c.Epsilon > 0 && c.Epsilon < 1e9) {
				t.Errorf("%s, μ = %v: %+v, %v", a, mu, c, err)
			}
		}
	}
}
