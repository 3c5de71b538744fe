package filter_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// numbers is a loss as a list: every test of this package that is about all filters
// sees losses so.
type numbers []float64

// machine is a filter that is driven by numbers.
type machine struct {
	fits  func(numbers) bool
	spend func(numbers) error
	left  func() numbers
}

func drive[L any](f filter.Filter[L], in func(numbers) L, out func(L) numbers) machine {
	return machine{
		fits:  func(n numbers) bool { return f.Fits(in(n)) },
		spend: func(n numbers) error { return f.Spend(in(n)) },
		left:  func() numbers { return out(f.Left()) },
	}
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

// subject is one kind of filter with the exact form of its theorem's condition.
type subject struct {
	name      string
	scale     numbers // the budget in the numbers of a loss
	fresh     func() machine
	addends   func(x float64, i int) *big.Float // what number i adds to the theorem's sums
	condition func(sums []*big.Float) bool      // whether the theorem lets them pass
}

// must returns f; a constructor that fails is a bug of these tests.
func must[F any](f F, err error) F {
	if err != nil {
		panic(err)
	}
	return f
}

const exactBits = 2400 // enough for any sum of float64 values and of their squares

func exact(x float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(x) }

// asIs adds a number as it is.
func asIs(x float64, _ int) *big.Float { return exact(x) }

// squared adds the square of a number.
func squared(x float64, _ int) *big.Float {
	return new(big.Float).SetPrec(exactBits).Mul(exact(x), exact(x))
}

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

// subjects lists every filter.
func subjects() []subject {
	basic := loss.Approx{Epsilon: 1.1, Delta: 1e-5}
	advanced := loss.Approx{Epsilon: 0.7, Delta: 3e-6}
	unified := loss.Approx{Epsilon: 0.9, Delta: 1e-4}
	optimal, gdp := must(filter.NewZCDPOptimal(basic)), must(filter.NewGDPFor(basic)) // made once: milliseconds
	s := []subject{
		{"basic", numbers{1.1, 1e-5}, func() machine {
			return drive(must(filter.NewBasic(basic)), approx, fromApprox)
		}, asIs, below(1.1, 1e-5)},
		{"advanced", numbers{0.7, 1.5e-6}, func() machine {
			return drive(must(filter.NewAdvanced(advanced)), approx, fromApprox)
		}, nil, nil},
		{"renyi", numbers{0.3}, func() machine {
			return drive(must(filter.NewRenyi(8, 0.3)), renyi(8), fromRenyi)
		}, asIs, below(0.3)},
		{"renyi orders", numbers{0.1, 0.3, 0.2}, func() machine {
			budget := renyi(1.5, 8, 64)(numbers{0.1, 0.3, 0.2})
			return drive(must(filter.NewRenyiOrders(budget)), renyi(1.5, 8, 64), fromRenyi)
		}, asIs, below(0.1, 0.3, 0.2)},
		{"zcdp", numbers{0.01}, func() machine {
			return drive(must(filter.NewZCDP(basic)), plain, fromPlain)
		}, asIs, impliesSimply(basic, 0)},
		{"zcdp optimal", numbers{0.01}, func() machine {
			f := *optimal
			return drive(&f, plain, fromPlain)
		}, asIs, impliesOptimally(basic)},
		{"approximate zcdp", numbers{0.7, 1e-5}, func() machine {
			return drive(must(filter.NewApproxZCDP(0.7, 1e-5)), concentrated, fromConcentrated)
		}, asIs, below(0.7, 1e-5)},
		{"approximate zcdp for", numbers{0.01, 2e-5}, func() machine {
			return drive(must(filter.NewApproxZCDPFor(unified, 2e-5)), concentrated, fromConcentrated)
		}, asIs, impliesSimply(unified, 2e-5)},
		{"gdp", numbers{0.7}, func() machine {
			return drive(must(filter.NewGDP(0.7)), gaussian, fromGaussian)
		}, squared, func(sums []*big.Float) bool { return sums[0].Cmp(squared(0.7, 0)) <= 0 }},
		{"gdp for", numbers{0.2}, func() machine {
			f := *gdp
			return drive(&f, gaussian, fromGaussian)
		}, squared, impliesGaussian(basic)},
		{"ex-post", numbers{1.1, 1e-5}, func() machine {
			return drive(must(filter.NewExPostApprox(basic)), approx, fromApprox)
		}, asIs, below(1.1, 1e-5)},
		{"mixed, ex-post part", numbers{1.1, 1e-5}, func() machine {
			return drive(must(filter.NewMixed(unified, 0, basic)).ExPost(), approx, fromApprox)
		}, asIs, below(1.1, 1e-5)},
		{"mixed, zcdp part", numbers{0.01, 1e-5}, func() machine {
			return drive(must(filter.NewMixed(unified, 1e-5, basic)).Concentrated(), concentrated, fromConcentrated)
		}, asIs, impliesSimply(unified, 1e-5)},
		{"unified", numbers{0.7, 1e-5}, func() machine {
			return drive(must(filter.NewUnified(0.7, 1e-5)), concentrated, fromConcentrated)
		}, asIs, below(0.7, 1e-5)},
		{"unified for", numbers{0.01, 2e-5}, func() machine {
			return drive(must(filter.NewUnifiedFor(unified, 2e-5)), concentrated, fromConcentrated)
		}, asIs, impliesSimply(unified, 2e-5)},
	}
	s[1].addends, s[1].condition = advancedAddends, advancedCondition(advanced)
	return s
}

// each runs a test for every kind of filter.
func each(t *testing.T, test func(*testing.T, subject)) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) { test(t, s) })
	}
}

// draw draws a loss: at, just above or below what is left, of any size between
// nothing and what no sum can hold.
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

func drawNumber(t *rapid.T, left, scale float64) float64 {
	part := rapid.Float64Range(0, 1).Draw(t, "part")
	switch rapid.IntRange(0, 8).Draw(t, "kind") {
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
	case 6: // around the unit of a sum
		return math.Ldexp(part, rapid.IntRange(-90, -76).Draw(t, "exponent"))
	case 7:
		return math.Ldexp(part, rapid.IntRange(-1074, 1023).Draw(t, "exponent"))
	}
	return scale * math.Ldexp(part, rapid.IntRange(-30, 2).Draw(t, "exponent"))
}

// sums is the exact total of what a filter accepted.
type sums struct {
	subject
	totals []*big.Float
}

func (s subject) sums() *sums { return &sums{subject: s} }

// add adds times losses of n.
func (s *sums) add(n numbers, times float64) {
	k := 0
	for i, x := range n {
		for _, addend := range s.parts(x, i) {
			if k == len(s.totals) {
				s.totals = append(s.totals, exact(0))
			}
			s.totals[k].Add(s.totals[k], addend.Mul(addend, exact(times)))
			k++
		}
	}
}

// parts returns what number i adds: two sums for the ε of the advanced filter, else
// one.
func (s *sums) parts(x float64, i int) []*big.Float {
	if s.name == "advanced" && i == 0 {
		return []*big.Float{s.addends(x, 0), squared(x, 0)}
	}
	return []*big.Float{s.addends(x, i)}
}

func (s *sums) allowed() bool { return len(s.totals) == 0 || s.condition(s.totals) }
