package filter_test

import (
	"encoding"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// victim is a filter under attack: what it accepted, without rounding, and whether that is within
// what it promises.
type victim[L any] struct {
	fresh   func() filter.Filter[L]
	in      func(numbers) L
	out     func(L) numbers
	addend  func(x float64, i int) *big.Float
	allowed func(sums []*big.Float) bool
}

// attack calls everything that a filter has, in any order, with the numbers at which rounding to
// the wrong side would be seen, stores and resumes it in between, and adds up without
// rounding what is accepted or reserved.
func (v victim[L]) attack(t *rapid.T) {
	f := v.fresh()
	scale := v.out(f.Budget())
	sums := make([]*big.Float, len(scale))
	for i := range sums {
		sums[i] = exact(0)
	}
	add := func(n numbers, sign float64) {
		for i, x := range n {
			sums[i].Add(sums[i], new(big.Float).SetPrec(exactBits).Mul(v.addend(x, i), exact(sign)))
		}
	}
	var open []numbers
	for range rapid.IntRange(1, 60).Draw(t, "calls") {
		n := make(numbers, len(scale))
		for i, left := range v.out(f.Left()) {
			n[i] = edge(t, left, scale[i])
		}
		switch reserver, _ := f.(filter.Reserver[L]); rapid.IntRange(0, 6).Draw(t, "call") {
		case 0:
			b := must(f.(encoding.BinaryMarshaler).MarshalBinary())
			f = reflect.New(reflect.TypeOf(f).Elem()).Interface().(filter.Filter[L])
			must(0, f.(encoding.BinaryUnmarshaler).UnmarshalBinary(b))
		case 1:
			if reserver != nil && reserver.Reserve(v.in(n)) == nil {
				add(n, 1)
				open = append(open, n)
			}
		case 2:
			if reserver == nil || len(open) == 0 {
				break
			}
			worst := open[len(open)-1]
			actual := append(numbers{edge(t, worst[0], worst[0])}, worst[1:]...)
			if reserver.Settle(v.in(worst), v.in(actual)) == nil {
				open = open[:len(open)-1]
				add(worst[:1], -1)
				add(actual[:1], 1)
			}
		default:
			if f.Spend(v.in(n)) == nil {
				add(n, 1)
			}
		}
	}
	if !v.allowed(sums) {
		t.Fatalf("accepted and reserved %v, more than what is promised", sums)
	}
	for _, n := range open {
		add(n[:1], -1)
	}
	for i, x := range v.out(f.Spent()) {
		if told := v.addend(x, i); told.Cmp(sums[i]) < 0 {
			t.Fatalf("number %d: %v is told to be spent, which is less than %v", i, told, sums[i])
		}
	}
}

// edge draws a number around which rounding matters: what is left, and next to it; the units of a
// sum, and their roots; what no sum can tell from 0; parts that add up.
func edge(t *rapid.T, left, scale float64) float64 {
	part := rapid.Float64Range(0, 1).Draw(t, "part")
	x := 0.0
	switch rapid.IntRange(0, 9).Draw(t, "edge") {
	case 0:
		x = left
	case 1:
		x = math.Nextafter(left, math.Inf(1))
	case 2:
		x = math.Nextafter(left, 0)
	case 3:
		x = left / float64(rapid.IntRange(1, 9).Draw(t, "k"))
	case 4:
		x = left / math.Sqrt(float64(rapid.IntRange(1, 9).Draw(t, "k")))
	case 5:
		x = math.Ldexp(1+part, rapid.SampledFrom([]int{-1074, -209, -208, -207, -157, -156, -105, -104, -81, -80, -53, -52}).Draw(t, "exponent"))
	case 6:
		x = left * (1 - part*0x1p-40)
	case 7:
		x = scale * part
	case 8:
		x = scale * part * 0x1p-20
	}
	return x
}

func TestNoSequenceOfCallsExceedsTheTrueBudget(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 11, 9744))
	for range 3 {
		b, d := math.Exp2(40*rng.Float64()-38), math.Exp2(-60*rng.Float64()-1)
		p := loss.Approx{Epsilon: math.Exp2(10*rng.Float64() - 7), Delta: d}
		gdpFor, optimal := must(filter.NewGDPFor(p)), must(filter.NewZCDPOptimal(p))
		within := func(limits ...float64) func([]*big.Float) bool {
			return func(sums []*big.Float) bool {
				for i, limit := range limits {
					if sums[i].Cmp(exact(limit)) > 0 {
						return false
					}
				}
				return true
			}
		}
		square := func(sums []*big.Float) bool { return sums[0].Cmp(squared(b, 0)) <= 0 }
		run := func(name string, attack func(*rapid.T)) { t.Run(name, rapid.MakeCheck(attack)) }
		run("gdp", victim[loss.GDP]{must(filter.NewGDP(b)).Fresh, gaussian, fromGaussian, squared, square}.attack)
		run("gdp for", victim[loss.GDP]{gdpFor.Fresh, gaussian, fromGaussian, squared, impliesGaussian(p)}.attack)
		run("zcdp optimal", victim[loss.ZCDP]{optimal.Fresh, plain, fromPlain, asIs, impliesOptimally(p)}.attack)
		run("zcdp", victim[loss.ZCDP]{must(filter.NewZCDP(p)).Fresh, plain, fromPlain, asIs, impliesSimply(p, 0)}.attack)
		run("approx zcdp", victim[loss.ZCDP]{must(filter.NewApproxZCDP(b, d)).Fresh, concentrated, fromConcentrated, asIs, within(b, d)}.attack)
		run("approx zcdp for", victim[loss.ZCDP]{must(filter.NewApproxZCDPFor(p, d/4)).Fresh, concentrated, fromConcentrated, asIs, impliesSimply(p, d/4)}.attack)
		run("unified", victim[loss.ZCDP]{must(filter.NewUnified(b, d)).Fresh, concentrated, fromConcentrated, asIs, within(b, d)}.attack)
		run("ex-post", victim[loss.Approx]{must(filter.NewExPostApprox(loss.Approx{Epsilon: b, Delta: d})).Fresh, approx, fromApprox, asIs, within(b, d)}.attack)
		run("basic", victim[loss.Approx]{must(filter.NewBasic(loss.Approx{Epsilon: b, Delta: d})).Fresh, approx, fromApprox, asIs, within(b, d)}.attack)
		run("renyi", victim[loss.RDP]{must(filter.NewRenyi(8, b)).Fresh, renyi(8), fromRenyi, asIs, within(b)}.attack)
		run("renyi orders", victim[loss.RDP]{must(filter.NewRenyiOrders(renyi(2, 8)(numbers{b, 3 * b}))).Fresh, renyi(2, 8), fromRenyi, asIs, within(b, 3*b)}.attack)
	}
}

// TestAnAttackFindsABudgetThatIsRoundedUp: the attack would see a budget that is too large by one
// unit in the last place.
func TestAnAttackFindsABudgetThatIsRoundedUp(t *testing.T) {
	const b = 0.7
	above := must(filter.NewGDP(math.Nextafter(b, 1)))
	found := false
	for seed := range uint64(20) {
		rng := rand.New(runseed.PCG(t, seed, 1))
		f, sum := above.Fresh(), exact(0)
		for range 50 {
			mu := f.Left().Mu
			if rng.IntN(3) == 0 {
				mu *= rng.Float64()
			}
			if f.Spend(loss.GDP{Mu: mu}) == nil {
				sum.Add(sum, squared(mu, 0))
			}
		}
		found = found || sum.Cmp(squared(b, 0)) > 0
	}
	if !found {
		t.Error("a budget above the true one was not exceeded")
	}
}

// TestTheGreatestBudgetIsTakenFromEveryPromise: of any (ε, δ) the budget implies it, and a relative
// 2^-58 more does not.
func TestTheGreatestBudgetIsTakenFromEveryPromise(t *testing.T) {
	tried := 0
	for _, epsilon := range []float64{1e-9, 1e-3, 0.3, 1, 10, 1e3, 1e6} {
		for _, delta := range []float64{1e-300, 1e-30, 1e-6, 0.1, 0.9} {
			p := loss.Approx{Epsilon: epsilon, Delta: delta}
			for a, implied := range map[budgets.Accountant]func([]*big.Float) bool{
				budgets.GDP: impliesGaussian(p), budgets.ZCDP: impliesOptimally(p),
			} {
				square, err := budgets.LargestSquare(epsilon, delta, a)
				if err != nil {
					continue // no μ between MinMu and MaxMu
				}
				tried++
				of := func(x *big.Float) []*big.Float {
					if a == budgets.ZCDP {
						x = bigmath.Half(x)
					}
					return []*big.Float{x}
				}
				more := bigmath.Zero().Add(square, bigmath.Zero().SetMantExp(square, -58))
				if !implied(of(square)) || (implied(of(more)) && square.Cmp(least) > 0) {
					t.Errorf("%v by %v: μ² = %v is not the greatest", p, a, square)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d promises were tried", tried)
	}
}

// TestPartsOfABudgetFitDownToWhereNothingIsRounded: k parts of loss.GDP.Split fit as
// NewGDP says, also for so many that spending them would take too long. 2^26 parts of the smallest
// budgets are below what a sum can hold without rounding, and one of them may not fit.
func TestPartsOfABudgetFitDownToWhereNothingIsRounded(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 3, 9))
	fits := func(mu float64, log2k uint) (exactly, ok bool) {
		part := must(loss.GDP{Mu: mu}.Split(1 << log2k)).Mu
		sum := new(big.Int).Lsh(fixed.SquareUp(part).Big(), log2k)
		return part >= 0x1p-52, sum.Cmp(fixed.SquareDown(mu).Big()) <= 0
	}
	beyond := 0
	for range 20_000 {
		mu := math.Ldexp(1+rng.Float64(), -40+rng.IntN(60))
		exactly, ok := fits(mu, uint(rng.IntN(40)))
		if exactly && !ok {
			t.Errorf("parts of %v do not fit", mu)
		}
		if !ok {
			beyond++
		}
	}
	if _, ok := fits(math.Ldexp(1+0x1p-52, -40), 26); ok || beyond == 0 {
		t.Errorf("parts below 2^-52 fit always (%d times not): the condition of NewGDP says too little", beyond)
	}
}
