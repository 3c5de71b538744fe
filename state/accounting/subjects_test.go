package accounting_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// numbers is a loss as a list: the tests of all rules see losses so.
type numbers []float64

// machine is a filter that is driven by numbers.
type machine struct {
	fits        func(numbers) bool
	spend       func(numbers) error
	left, spent func() numbers
	budget      func() numbers
	reserve     func(numbers) error                 // nil if the filter has no reservations
	settle      func(worst, realised numbers) error // nil as well
	store       func() []byte
	resume      func([]byte) error
	fresh       func() machine
}

// drive returns the machine of a filter. The reserver is nil or has the filter.
func drive[L any](f *accounting.Filter[L], r *accounting.Reserver[L], in func(numbers) L, out func(L) numbers) machine {
	m := machine{
		fits:   func(n numbers) bool { return f.Fits(in(n)) },
		spend:  func(n numbers) error { return f.Spend(in(n)) },
		left:   func() numbers { return out(f.Left()) },
		spent:  func() numbers { return out(f.Spent()) },
		budget: func() numbers { return out(f.Budget()) },
		store:  func() []byte { return must.Have(f.MarshalBinary()) },
		resume: f.UnmarshalBinary,
		fresh:  func() machine { return drive(f.Fresh(), nil, in, out) },
	}
	if r != nil {
		m.reserve = func(n numbers) error { return r.Reserve(in(n)) }
		m.settle = func(worst, realised numbers) error { return r.Settle(in(worst), in(realised)) }
		m.fresh = func() machine {
			next := r.Fresh()
			return drive(&next.Filter, next, in, out)
		}
	}
	return m
}

func approx(n numbers) loss.Approx         { return loss.Approx{Epsilon: n[0], Delta: n[1]} }
func fromApprox(l loss.Approx) numbers     { return numbers{l.Epsilon, l.Delta} }
func plain(n numbers) loss.ZCDP            { return loss.ZCDP{Rho: n[0]} }
func fromPlain(l loss.ZCDP) numbers        { return numbers{l.Rho} }
func concentrated(n numbers) loss.ZCDP     { return loss.ZCDP{Rho: n[0], Delta: n[1]} }
func fromConcentrated(l loss.ZCDP) numbers { return numbers{l.Rho, l.Delta} }
func gaussian(n numbers) loss.GDP          { return loss.GDP{Mu: n[0]} }
func fromGaussian(l loss.GDP) numbers      { return numbers{l.Mu} }
func renyi(orders ...float64) func(numbers) loss.RDP {
	return func(n numbers) loss.RDP {
		curve := make(loss.RDP, len(orders))
		for i, alpha := range orders {
			curve[i] = loss.Order{Alpha: alpha, Epsilon: n[i]}
		}
		return curve
	}
}

func fromRenyi(l loss.RDP) numbers {
	n := make(numbers, len(l))
	for i, o := range l {
		n[i] = o.Epsilon
	}
	return n
}

// named checks that err is a *units.RangeError about the parameter.
func named(t testing.TB, what string, err error, parameter string) {
	t.Helper()
	var out *units.RangeError
	if !errors.As(err, &out) || out.Parameter != parameter || out.Range == "" {
		t.Errorf("%s: %v, want a *units.RangeError that names %s", what, err, parameter)
	}
}

const exactBits = 2400 // enough for any sum of float64 values and of their squares

func exact(x float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(x) }

func asIs(x float64, _ int) []*big.Float { return []*big.Float{exact(x)} }

func square(x float64) *big.Float { return new(big.Float).SetPrec(exactBits).Mul(exact(x), exact(x)) }

func squared(x float64, _ int) []*big.Float { return []*big.Float{square(x)} }

// below passes sums that are at most the limits.
func below(limits ...float64) func([]*big.Float) bool {
	return func(sums []*big.Float) bool {
		for i, limit := range limits {
			if sums[i].Cmp(exact(limit)) > 0 {
				return false
			}
		}
		return true
	}
}

// subject is one kind of filter with the exact form of its theorem's condition.
type subject struct {
	name      string
	machine                                       // never used
	scale     numbers                             // about the budget in the numbers of a loss
	addends   func(x float64, i int) []*big.Float // addend of number i to the theorem's sums
	condition func(sums []*big.Float) bool        // whether the theorem lets them pass
}

// subjects lists every filter, with budgets of about b and d.
func subjects(b, d float64) []subject {
	p := loss.Approx{Epsilon: b, Delta: d}
	basic, advanced := must.Have(accounting.NewBasic(p)), must.Have(accounting.NewAdvanced(p))
	exPost, unified := must.Have(accounting.NewExPost(p)), must.Have(accounting.NewUnified(b, d))
	unifiedFor, mixed := must.Have(accounting.NewUnifiedFor(p, d/4)), must.Have(accounting.NewMixed(p, d/4, p))
	curve := renyi(1.5, 8, 64)
	zcdp := func(f *accounting.Filter[loss.ZCDP]) machine { return drive(f, nil, concentrated, fromConcentrated) }
	gdp := func(f *accounting.Filter[loss.GDP]) machine { return drive(f, nil, gaussian, fromGaussian) }
	list := []subject{
		{name: "basic", machine: drive(basic, nil, approx, fromApprox), condition: below(b, d)},
		{name: "advanced", machine: drive(advanced, nil, approx, fromApprox), addends: advancedAddends,
			condition: advancedCondition(p)},
		{name: "renyi", machine: drive(must.Have(accounting.NewRenyi(curve(numbers{b, 3 * b, 2 * b}))), nil, curve,
			fromRenyi), condition: below(b, 3*b, 2*b)},
		{name: "zcdp", machine: drive(must.Have(accounting.NewZCDP(p)), nil, plain, fromPlain),
			condition: impliesSimply(p,
				0)},
		{name: "approximate zcdp", machine: zcdp(must.Have(accounting.NewApproxZCDP(b, d))), condition: below(b, d)},
		{name: "approximate zcdp for", machine: zcdp(must.Have(accounting.NewApproxZCDPFor(p, d/4))),
			condition: impliesSimply(p, d/4)},
		{name: "gdp", machine: gdp(must.Have(accounting.NewGaussian(b))), addends: squared,
			condition: func(sums []*big.Float) bool { return sums[0].Cmp(square(b)) <= 0 }},
		{name: "gdp for", machine: gdp(must.Have(accounting.NewGaussianFor(p))), addends: squared,
			condition: impliesGaussian(p)},
		{name: "ex-post", machine: drive(&exPost.Filter, exPost, approx, fromApprox), condition: below(b, d)},
		{name: "unified", machine: drive(&unified.Filter, unified, concentrated, fromConcentrated), condition: below(b,
			d)},
		{name: "unified for", machine: drive(&unifiedFor.Filter, unifiedFor, concentrated, fromConcentrated),
			condition: impliesSimply(p, d/4)},
		{name: "mixed, zcdp part", machine: zcdp(mixed.Concentrated), condition: impliesSimply(p, d/4)},
		{name: "mixed, ex-post part", machine: drive(&mixed.ExPost.Filter, mixed.ExPost, approx, fromApprox),
			condition: below(b, d)},
	}
	for i := range list {
		if list[i].addends == nil {
			list[i].addends = asIs
		}
		list[i].scale = list[i].left()
	}
	return list
}

// each runs a test for every kind of filter.
func each(t *testing.T, test func(*testing.T, subject)) {
	for _, s := range subjects(0.7, 3e-6) {
		t.Run(s.name, func(t *testing.T) { test(t, s) })
	}
}

// draw draws a loss: the rest, just above or below it, or any size from 0 to beyond all sums.
func (s subject) draw(t *rapid.T, left numbers) numbers {
	n := make(numbers, len(s.scale))
	for i := range n {
		n[i] = drawNumber(t, left[i], s.scale[i])
		if len(n) == 2 && i == 1 {
			n[i] = min(n[i], math.Nextafter(1, 0)) // a δ
		}
	}
	return n
}

// drawNumber draws a number around which rounding matters: the rest, and next to it; the units of a
// sum, and their roots; numbers that no sum distinguishes from 0; parts that add up.
func drawNumber(t *rapid.T, left, scale float64) float64 {
	part := rapid.Float64Range(0, 1).Draw(t, "part")
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return left
	case 1:
		return math.Nextafter(left, math.Inf(1))
	case 2:
		return math.Nextafter(left, 0)
	case 3:
		return part * left
	case 4:
		return part * scale / 8
	case 5:
		return 0
	case 6:
		return math.Ldexp(1+part, rapid.SampledFrom([]int{-1074, -209, -208, -157, -156, -105, -104, -81, -80, -53,
			-52}).Draw(t, "exponent"))
	case 7:
		return math.Ldexp(part, rapid.IntRange(-1074, 1023).Draw(t, "exponent"))
	case 8:
		return left / math.Sqrt(float64(rapid.IntRange(1, 9).Draw(t, "k")))
	}
	return scale * math.Ldexp(part, rapid.IntRange(-30, 2).Draw(t, "exponent"))
}

// totals is the exact sum of what a filter accepted and holds in reserve.
type totals struct {
	subject
	sums []*big.Float
}

// add adds so many losses of n.
func (s *totals) add(n numbers, times float64) {
	k := 0
	for i, x := range n {
		for _, addend := range s.addends(x, i) {
			if k == len(s.sums) {
				s.sums = append(s.sums, exact(0))
			}
			s.sums[k].Add(s.sums[k], addend.Mul(addend, exact(times)))
			k++
		}
	}
}

func (s *totals) allowed() bool { return len(s.sums) == 0 || s.condition(s.sums) }
