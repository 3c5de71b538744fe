package odometer_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
)

// The properties of this file evaluate the formulas a second time, in 384 bits
// (state/internal/bigmath, exact to 2^-190): a claim is never below its formula on
// the exact sums, and above it by less than two parts in 10^11, or by one unit of
// 2^-80 for every loss.

func plus(x ...*big.Float) *big.Float {
	sum := bigmath.Zero()
	for _, v := range x {
		sum.Add(sum, v)
	}
	return sum
}

func times(x ...*big.Float) *big.Float {
	product := bigmath.New(1)
	for _, v := range x {
		product.Mul(product, v)
	}
	return product
}

func over(a, b *big.Float) *big.Float { return bigmath.Zero().Quo(a, b) }

func root(x *big.Float) *big.Float { return bigmath.Zero().Sqrt(x) }

// covers reports whether got is a rounded-up form of exact.
func covers(got float64, exact *big.Float, slack float64) bool {
	if math.IsInf(got, 1) || bigmath.New(got).Cmp(exact) < 0 {
		return false
	}
	limit := times(exact, bigmath.New(1+2e-11))
	return bigmath.New(got).Cmp(plus(limit, bigmath.New(slack))) <= 0
}

func TestAdvancedBoundIsItsFormulaRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delta := math.Exp(rapid.Float64Range(-600, -1.01).Draw(t, "log delta"))
		n := rapid.Uint64Range(2, 1<<40).Draw(t, "n")
		epsilon := math.Exp(rapid.Float64Range(-14, 0.5).Draw(t, "log epsilon"))
		count := rapid.IntRange(1, 3000).Draw(t, "count")
		failure := 0.0
		if delta > 1e-15 {
			failure = delta / float64(4*count)
		}
		o := must(odometer.NewAdvanced(delta, n))
		for range count {
			if err := o.Record(loss.Approx{Epsilon: epsilon, Delta: failure}); err != nil {
				t.Fatal(err)
			}
		}
		exact := advancedBound(bigmath.New(epsilon), bigmath.New(failure), count, bigmath.New(delta), n)
		if got := o.Bound().Epsilon; !covers(got, exact, 1e-11) {
			t.Fatalf("%d losses of (%g, %g), δ = %g, n = %d: %.17g, the formula gives %.17g", count, epsilon, failure, delta, n, got, exact)
		}
	})
}

// advancedBound returns the bound of Theorem 6.2 with ⌈2·log₂ n⌉ values in the union, Σδ added, or
// Σε where that is less.
func advancedBound(epsilon, failure *big.Float, count int, delta *big.Float, n uint64) *big.Float {
	k := bigmath.New(float64(count))
	one, half, two := bigmath.New(1), bigmath.New(0.5), bigmath.New(2)
	basic := times(k, epsilon)
	s := times(k, epsilon, epsilon)
	mean := times(half, basic, plus(bigmath.Exp(epsilon), bigmath.New(-1)))

	values, size, power := 0, new(big.Int).SetUint64(n), big.NewInt(1)
	for size.Mul(size, size); power.Cmp(size) < 0; values++ {
		power.Lsh(power, 1)
	}
	logTerm := bigmath.Log(over(bigmath.New(float64(2*values)), delta))
	square := bigmath.Zero().SetInt(size)
	least := over(one, square)
	deviation := root(times(two, plus(least, s), plus(one, times(half, bigmath.Log(plus(one, times(square, s))))), logTerm))
	if s.Cmp(least) >= 0 && s.Cmp(one) <= 0 {
		within := times(two, root(times(s, plus(one, times(half, bigmath.Log(bigmath.New(3)))), logTerm)))
		if within.Cmp(deviation) < 0 {
			deviation = within
		}
	}
	bound := plus(mean, deviation, times(k, failure))
	if basic.Cmp(bound) < 0 {
		return basic
	}
	return bound
}

func TestBoundariesAreTheirFormulasRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delta := 1 - math.Exp(-math.Exp(rapid.Float64Range(-600, 3).Draw(t, "log odds")))
		if !(delta >= 1e-300 && delta < 1) {
			t.Skip("no δ")
		}
		d := math.Exp(rapid.Float64Range(-20, 20).Draw(t, "log D"))
		variance := math.Exp(rapid.Float64Range(-40, 40).Draw(t, "log T"))
		slope := math.Exp(rapid.Float64Range(-20, 20).Draw(t, "log a"))
		p := math.Exp(rapid.Float64Range(-40, 40).Draw(t, "log p"))

		two := bigmath.New(2)
		bd, bt, ba, bp := bigmath.New(d), bigmath.New(variance), bigmath.New(slope), bigmath.New(p)
		logTerm := bigmath.Log(over(bigmath.New(1), bigmath.New(delta)))
		drift := over(times(bd, bd), times(two, bt))
		linear := plus(drift, over(times(bd, logTerm), times(two, ba, bt)), times(bd, ba))
		growth := times(bigmath.New(0.5), bigmath.Log(over(plus(bt, bp), bp)))
		mixture := plus(drift, times(over(bd, bt), root(times(two, plus(bt, bp), plus(logTerm, growth)))))

		if got := must(must(odometer.NewLinear(delta, slope)).At(d, variance)); !covers(got.Epsilon, linear, 0) {
			t.Fatalf("ψ_L is %.17g, the formula gives %.17g", got.Epsilon, linear)
		}
		if got := must(must(odometer.NewMixture(delta, p)).At(d, variance)); !covers(got.Epsilon, mixture, 0) {
			t.Fatalf("ψ_M is %.17g, the formula gives %.17g", got.Epsilon, mixture)
		}
	})
}

func TestBasicBoundIsTheExactSumRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		basic, advanced := must(odometer.NewBasic(0)), must(odometer.NewAdvanced(1e-300, 2)) // where Σε is less
		sum := bigmath.Zero()
		count := rapid.IntRange(1, 20).Draw(t, "count")
		for range count {
			epsilon := math.Exp(rapid.Float64Range(-70, 0).Draw(t, "log epsilon"))
			sum.Add(sum, bigmath.New(epsilon))
			for _, o := range []odometer.Odometer[loss.Approx, loss.Approx]{basic, advanced} {
				if err := o.Record(loss.Approx{Epsilon: epsilon}); err != nil {
					t.Fatal(err)
				}
			}
		}
		slack := float64(count) * 0x1p-80
		if got := basic.Bound().Epsilon; !covers(got, sum, slack) {
			t.Fatalf("basic: %.17g, the sum is %.25g", got, sum)
		}
		if got := advanced.Bound().Epsilon; !covers(got, sum, slack) {
			t.Fatalf("advanced: %.17g, the sum is %.25g", got, sum)
		}
	})
}

// However small a loss, it counts: a million of them are never nothing.
func TestTinyLossesDoNotVanish(t *testing.T) {
	for name, m := range machines() {
		for range 3 {
			if err := m.record(math.SmallestNonzeroFloat64, 0); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if b := m.bound()[0]; !(b > 0) {
			t.Errorf("%s: after three tiny losses the bound is %v", name, b)
		}
	}
}

func TestDeltasAreCheckedAgainstTheExactBudget(t *testing.T) {
	const unit = 0x1p-80
	o := must(odometer.NewBasic(1.5 * unit))
	recordMany(t, o, loss.Approx{Epsilon: 1, Delta: unit}, 1)
	if b := o.Bound(); b.Epsilon != 1 {
		t.Errorf("ε = %v while Σδ is within δ, want 1", b.Epsilon)
	}
	recordMany(t, o, loss.Approx{Epsilon: 1, Delta: unit}, 1)
	if b := o.Bound(); !math.IsInf(b.Epsilon, 1) {
		t.Errorf("ε = %v while Σδ is 2^-79 of 1.5·2^-80", b.Epsilon)
	}
}

func TestTotalsOfApproximateZCDPAddBoth(t *testing.T) {
	var o odometer.ZCDPTotal
	for range 4 {
		if err := o.Record(loss.ZCDP{Rho: 0.25, Delta: 0.125}); err != nil {
			t.Fatal(err)
		}
	}
	if b := o.Bound(); b.Rho != 1 || b.Delta != 0.5 {
		t.Errorf("%+v, want ρ = 1, δ = 0.5", b)
	}
}

// A loss stated at other orders counts at the next higher one.
func TestRenyiTotalsTakeTheNextHigherOrder(t *testing.T) {
	o := must(odometer.NewRenyiTotal([]float64{2, 4, 8}))
	for _, l := range []loss.RDP{
		{{Alpha: 3, Epsilon: 1}, {Alpha: 8, Epsilon: 2}},
		{{Alpha: 1.5, Epsilon: 8}, {Alpha: 2, Epsilon: 16}, {Alpha: 4.5, Epsilon: 32}, {Alpha: 100, Epsilon: 64}},
	} {
		if err := o.Record(l); err != nil {
			t.Fatal(err)
		}
	}
	want := []float64{17, 34, 66}
	for i, b := range o.Bound() {
		if b.Epsilon != want[i] {
			t.Errorf("order %v: %v, want %v", b.Alpha, b.Epsilon, want[i])
		}
	}
	if err := o.Record(loss.RDP{{Alpha: 7.9, Epsilon: 1}}); err == nil || o.Bound()[0].Epsilon != 17 {
		t.Errorf("a loss without an order of 8 or more: %v, %v", err, o.Bound())
	}
}

func TestConcentratedTakesNoApproximateLosses(t *testing.T) {
	o := must(odometer.NewConcentrated(1e-6, 1))
	if err := o.Record(loss.ZCDP{Rho: 1, Delta: 1e-9}); err == nil || o.Bound().Epsilon != 0 {
		t.Errorf("%v, %+v", err, o.Bound())
	}
}
