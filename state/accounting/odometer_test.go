package accounting_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// recorder is an odometer that is driven by two numbers for each loss.
type recorder struct {
	record func(a, b float64) error
	bound  func() []float64
}

func recorderOf[L, B any](o *accounting.Odometer[L, B], in func(a, b float64) L, out func(B) []float64) recorder {
	return recorder{
		record: func(a, b float64) error { return o.Record(in(a, b)) },
		bound:  func() []float64 { return out(o.Bound()) },
	}
}

// recorders makes one fresh odometer of every kind.
func recorders() map[string]recorder {
	pair := func(a, b float64) loss.Approx { return loss.Approx{Epsilon: a, Delta: b} }
	rho := func(a, _ float64) loss.ZCDP { return loss.ZCDP{Rho: a} }
	curve := func(a, b float64) loss.RDP { return renyi(2, 4)(numbers{a, a + b}) }
	epsilon := func(b loss.Approx) []float64 { return []float64{b.Epsilon} }
	orders := []float64{2, 4}
	return map[string]recorder{
		"basic":        recorderOf(must.Have(accounting.NewBasicOdometer(0.5)), pair, epsilon),
		"advanced":     recorderOf(must.Have(accounting.NewAdvancedOdometer(0.3, 4)), pair, epsilon),
		"renyi":        recorderOf(must.Have(accounting.NewRenyiOdometer(1e-5, orders)), curve, epsilon),
		"concentrated": recorderOf(must.Have(accounting.NewConcentratedOdometer(1e-5, 1)), rho, epsilon),
		"gdp total": recorderOf(accounting.NewGaussianTotal(), func(a, _ float64) loss.GDP { return loss.GDP{Mu: a} },
			func(b loss.GDP) []float64 { return []float64{b.Mu} }),
		"zcdp total": recorderOf(accounting.NewZCDPTotal(), func(a, b float64) loss.ZCDP {
			return loss.ZCDP{Rho: a, Delta: b}
		},
			func(b loss.ZCDP) []float64 { return []float64{b.Rho, b.Delta} }),
		"renyi total": recorderOf(must.Have(accounting.NewRenyiTotal(orders)), curve, func(b loss.RDP) []float64 {
			return fromRenyi(b)
		}),
	}
}

func anyLoss(t *rapid.T) (a, b float64) {
	magnitude := rapid.Float64Range(-45, 8).Draw(t, "magnitude")
	return math.Exp(magnitude), rapid.SampledFrom([]float64{0, 0, 1e-30, 1e-3, 0.02}).Draw(t, "delta")
}

func TestReadingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		often, once := recorders(), recorders()
		for range rapid.IntRange(1, 30).Draw(t, "losses") {
			a, b := anyLoss(t)
			for name, m := range often {
				m.bound()
				if got, want := m.record(a, b), once[name].record(a, b); (got == nil) != (want == nil) {
					t.Fatalf("%s: after reading, Record returns %v instead of %v", name, got, want)
				}
			}
		}
		for name, m := range often {
			first, second, unread := m.bound(), m.bound(), once[name].bound()
			for i := range first {
				if first[i] != second[i] || first[i] != unread[i] {
					t.Fatalf("%s: reads %v, then %v; %v if Bound had not been read before", name, first, second, unread)
				}
			}
		}
	})
}

// Whatever is recorded, no bound is a NaN or falls, an invalid loss is a *units.RangeError and
// changes nothing, a larger loss never gives a smaller bound, and the order does not matter.
func TestBoundsGrowWithEveryLoss(t *testing.T) {
	wild := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
		math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, math.MaxFloat64, math.SmallestNonzeroFloat64, 709.8, 1e13,
	}))
	rapid.Check(t, func(t *rapid.T) {
		low, high, back := recorders(), recorders(), recorders()
		var losses [][2]float64
		for range rapid.IntRange(1, 30).Draw(t, "losses") {
			a, b := anyLoss(t)
			if rapid.IntRange(0, 5).Draw(t, "wild") == 0 {
				a, b = wild.Draw(t, "a"), wild.Draw(t, "b")
			}
			more := rapid.Float64Range(1, 3).Draw(t, "more")
			losses = append(losses, [2]float64{a, b})
			for name, m := range low {
				before := m.bound()
				err := m.record(a, b)
				var out *units.RangeError
				if err != nil && !errors.As(err, &out) || err == nil && !(a >= 0) {
					t.Fatalf("%s: recording (%g, %g): %v", name, a, b, err)
				}
				if err == nil && high[name].record(a*more, b) != nil {
					_ = high[name].record(a, b) // not finite
				}
				for i, after := range m.bound() {
					if !(after >= before[i]) || err != nil && after != before[i] || after > high[name].bound()[i] {
						t.Fatalf("%s: recording (%g, %g), %v, takes the bound from %v to %v; for larger losses %v",
							name, a, b, err, before, m.bound(), high[name].bound())
					}
				}
			}
		}
		for name, m := range back {
			for i := range losses {
				l := losses[len(losses)-1-i]
				_ = m.record(l[0], l[1])
			}
			for i, got := range m.bound() {
				if want := low[name].bound()[i]; got != want {
					t.Fatalf("%s: %v in one order, %v in another", name, want, got)
				}
			}
		}
	})
}

func TestBoundsAtTheEndsOfTheirRange(t *testing.T) {
	for name, m := range recorders() {
		must.Have(0, m.record(0, 0))
		if b := m.bound()[0]; b != 0 {
			t.Errorf("%s: bound %v of nothing, want 0", name, b)
		}
		for range 3 {
			must.Have(0, m.record(math.SmallestNonzeroFloat64, 0))
		}
		if b := m.bound()[0]; !(b > 0) {
			t.Errorf("%s: after three tiny losses the bound is %v", name, b)
		}
		for range 3 {
			must.Have(0, m.record(0x1p47, 0))
		}
		if b := m.bound()[0]; !math.IsInf(b, 1) {
			t.Errorf("%s: after three losses of 2^47 the bound is %v, want +Inf", name, b)
		}
	}
}

func TestDeltasBeyondTheOdometersPromiseNothing(t *testing.T) {
	const unit = 0x1p-80
	for name, c := range map[string]struct {
		o     *accounting.Odometer[loss.Approx, loss.Approx]
		delta float64 // a quarter of what may be used
	}{
		"basic":        {must.Have(accounting.NewBasicOdometer(0.25)), 0.0625},
		"basic, units": {must.Have(accounting.NewBasicOdometer(4.5 * unit)), unit},
		"advanced":     {must.Have(accounting.NewAdvancedOdometer(0.3125, 4)), 0.0390625}, // δ/2 = 5/32
	} {
		record(c.o, loss.Approx{Epsilon: 1, Delta: c.delta}, 4)
		if b := c.o.Bound(); math.IsInf(b.Epsilon, 1) || c.o.Spent() != (loss.Approx{Epsilon: 4, Delta: 4 * c.delta}) {
			t.Errorf("%s: bound %v, spent %v with Σδ just used up", name, b, c.o.Spent())
		}
		record(c.o, loss.Approx{Delta: unit}, 1)
		if b := c.o.Bound(); !math.IsInf(b.Epsilon, 1) {
			t.Errorf("%s: ε = %v with Σδ above what it may be, want +Inf", name, b.Epsilon)
		}
	}
	// A δ below a unit of 2^-208 is rounded down to nothing.
	if b := record(must.Have(accounting.NewBasicOdometer(1e-300)), loss.Approx{Delta: 1e-300},
		1).Bound(); !math.IsInf(b.Epsilon, 1) {
		t.Errorf("ε = %v with Σδ of a unit, want +Inf", b.Epsilon)
	}
}

// The properties below evaluate the formulas a second time, in 384 bits (exact to 2^-190): a claim
// is never below its formula on the exact sums, and above it by less than two parts in 10^11, or by
// one unit of 2^-80 for every loss.

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
		count := rapid.IntRange(1, 1000).Draw(t, "count")
		failure := 0.0
		if delta > 1e-15 {
			failure = delta / float64(4*count)
		}
		o := record(must.Have(accounting.NewAdvancedOdometer(delta, n)), loss.Approx{Epsilon: epsilon, Delta: failure},
			count)
		exact := advancedBound(bigmath.New(epsilon), bigmath.New(failure), count, bigmath.New(delta), n)
		if got := o.Bound().Epsilon; !covers(got, exact, 1e-11) {
			t.Fatalf("%d losses of (%g, %g), δ = %g, n = %d: %.17g, the formula gives %.17g", count, epsilon, failure,
				delta, n, got, exact)
		}
	})
}

// advancedBound returns the bound of Theorem 6.2 with ⌈2·log₂ n⌉ values in the union, Σδ added, or
// Σε if that is less.
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
	deviation := root(times(two, plus(least, s), plus(one, times(half, bigmath.Log(plus(one, times(square, s))))),
		logTerm))
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

// A mixture is its formula rounded up, falls with the variance and grows with the sensitivity.
func TestAMixtureIsItsFormulaRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delta := 1 - math.Exp(-math.Exp(rapid.Float64Range(-600, 3).Draw(t, "log odds")))
		if !(delta >= 1e-300 && delta < 1) {
			t.Skip("no δ")
		}
		d := math.Exp(rapid.Float64Range(-20, 20).Draw(t, "log D"))
		variance := math.Exp(rapid.Float64Range(-40, 40).Draw(t, "log T"))
		p := math.Exp(rapid.Float64Range(-40, 40).Draw(t, "log p"))

		two := bigmath.New(2)
		bd, bt, bp := bigmath.New(d), bigmath.New(variance), bigmath.New(p)
		logTerm := bigmath.Log(over(bigmath.New(1), bigmath.New(delta)))
		growth := times(bigmath.New(0.5), bigmath.Log(over(plus(bt, bp), bp)))
		psi := plus(over(times(bd, bd), times(two, bt)),
			times(over(bd, bt), root(times(two, plus(bt, bp), plus(logTerm, growth)))))
		if got := must.Have(must.Have(accounting.NewMixture(delta, p)).At(d, variance)); !covers(got.Epsilon, psi, 0) {
			t.Fatalf("ψ is %.17g, the formula gives %.17g", got.Epsilon, psi)
		}
	})
	for _, delta := range []float64{1e-300, 1e-9, 0.5, 1 - 0x1p-53} {
		for _, b := range []accounting.Mixture{
			must.Have(accounting.NewMixtureFor(delta, 0x1p-150)), must.Have(accounting.NewMixtureFor(delta, 0x1p150)),
			must.Have(accounting.NewMixture(delta, 0x1p-200)), must.Have(accounting.NewMixture(delta, 0x1p200)),
		} {
			previous := math.Inf(1)
			for e := -200; e <= 200; e += 4 {
				variance := math.Ldexp(1, e)
				zero, small, large := must.Have(b.At(0, variance)), must.Have(b.At(1, variance)),
					must.Have(b.At(0x1p100, variance))
				if !(small.Epsilon > 0) || small.Epsilon >= large.Epsilon || math.IsInf(large.Epsilon, 1) ||
					small.Epsilon > previous || zero.Epsilon != 0 {
					t.Fatalf("%+v at 2^%d: %v, %v and %v for sensitivities 0, 1 and 2^100; %v at less variance", b, e,
						zero, small, large, previous)
				}
				previous = small.Epsilon
			}
		}
	}
}

// Algorithm 5 by hand: with Δ = 1 the losses 0.5, 0.25, 0.5, 0.5, 0.75, 0.25 fill
// filters as {0.5, 0.25}, {0.5, 0.5}, {0.75, 0.25}.
func TestTrackerOpensTheNextFilterForWhatNoLongerFits(t *testing.T) {
	step := must.Have(accounting.NewApproxZCDP(1, 1e-6))
	must.Have(0, step.Spend(step.Left())) // the step itself is not used
	tracker := accounting.NewTracker(step)
	for i, c := range []struct {
		rho   float64
		steps uint64
	}{
		{0.5, 1}, {0.25, 1}, {0.5, 2}, {0.5, 2}, {0.75, 3}, {0.25, 3}, {1, 4}, {0, 4}, {0x1p-80, 5},
	} {
		must.Have(0, tracker.Record(loss.ZCDP{Rho: c.rho}))
		if got := tracker.Steps(); got != c.steps {
			t.Errorf("after loss %d (%v) %d steps, want %d", i, c.rho, got, c.steps)
		}
	}
	for _, l := range []loss.ZCDP{{Rho: 1.1}, {Rho: 0.1, Delta: 1e-5}} {
		if err := tracker.Record(l); !errors.Is(err, accounting.ErrStep) {
			t.Errorf("%v: %v, want ErrStep", l, err)
		}
	}
	named(t, "an invalid loss", tracker.Record(loss.ZCDP{Rho: -1}), "rho")
	if tracker.Steps() != 5 || tracker.Record(loss.ZCDP{Rho: 0.5}) != nil || tracker.Steps() != 5 {
		t.Errorf("a refused loss opened a filter: %d steps", tracker.Steps())
	}
}

// The claim of Proposition 4.10 rests on this: whatever losses are chosen, the losses recorded
// while the tracker has m steps add up to at most m·Δ at every order; and the waste is bounded: two
// successive filters spend more than Δ at some order.
func TestTrackerCoversTheSumOfLosses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		curve := renyi(2, 32)
		tracker := accounting.NewTracker(must.Have(accounting.NewRenyi(curve(numbers{0.25, 4}))))
		total := must.Have(accounting.NewRenyiTotal([]float64{2, 32}))
		low, high, share := new(big.Rat), new(big.Rat), 0.0
		for range rapid.IntRange(1, 200).Draw(t, "losses") {
			n := numbers{rapid.Float64Range(0, 0.25).Draw(t, "low"), rapid.Float64Range(0, 4).Draw(t, "high")}
			must.Have(0, tracker.Record(curve(n)))
			must.Have(0, total.Record(curve(n)))
			share += n[0]/0.25 + n[1]/4
			low.Add(low, rat(n[0]))
			high.Add(high, rat(n[1]))
			steps, b := float64(tracker.Steps()), total.Bound()
			if rat(steps*0.25).Cmp(low) < 0 || rat(steps*4).Cmp(high) < 0 || rat(b[0].Epsilon).Cmp(low) < 0 ||
				rat(b[1].Epsilon).Cmp(high) < 0 {
				t.Fatalf("%v steps and totals %v, losses add up to %v and %v", steps, b, low.FloatString(30),
					high.FloatString(30))
			}
		}
		if limit := 2*share + 1 + 1e-9; float64(tracker.Steps()) > limit {
			t.Fatalf("%d steps for losses of %v steps", tracker.Steps(), share)
		}
	})
}
