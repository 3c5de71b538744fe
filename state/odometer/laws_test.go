package odometer_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/odometer"
	"github.com/tollgate-dp/tollgate/state/units"
)

// machine is an odometer of any kind: it records the numbers drawn for one loss
// and reads its bound as a list of numbers.
type machine struct {
	record func(a, b float64) error
	bound  func() []float64
}

func approxMachine(o odometer.Odometer[loss.Approx, loss.Approx]) machine {
	return machine{
		record: func(a, b float64) error { return o.Record(loss.Approx{Epsilon: a, Delta: b}) },
		bound:  func() []float64 { return []float64{o.Bound().Epsilon} },
	}
}

func gdpMachine(o odometer.Odometer[loss.GDP, loss.GDP]) machine {
	return machine{
		record: func(a, _ float64) error { return o.Record(loss.GDP{Mu: a}) },
		bound:  func() []float64 { return []float64{o.Bound().Mu} },
	}
}

func zcdpMachine(o odometer.Odometer[loss.ZCDP, loss.ZCDP]) machine {
	return machine{
		record: func(a, b float64) error { return o.Record(loss.ZCDP{Rho: a, Delta: b}) },
		bound:  func() []float64 { return []float64{o.Bound().Rho, o.Bound().Delta} },
	}
}

func renyiMachine(o odometer.Odometer[loss.RDP, loss.RDP]) machine {
	return machine{
		record: func(a, b float64) error {
			return o.Record(loss.RDP{{Alpha: 2, Epsilon: a}, {Alpha: 4, Epsilon: a + b}})
		},
		bound: func() []float64 { return []float64{o.Bound()[0].Epsilon, o.Bound()[1].Epsilon} },
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// machines makes one fresh odometer of every kind.
func machines() map[string]machine {
	renyi := must(odometer.NewRenyi(1e-5, []float64{2, 4}))
	concentrated := must(odometer.NewConcentrated(1e-5, 1))
	return map[string]machine{
		"Basic":    approxMachine(must(odometer.NewBasic(0.5))),
		"Advanced": approxMachine(must(odometer.NewAdvanced(0.3, 4))),
		"Renyi": {
			record: func(a, b float64) error {
				return renyi.Record(loss.RDP{{Alpha: 2, Epsilon: a}, {Alpha: 4, Epsilon: a + b}})
			},
			bound: func() []float64 { return []float64{renyi.Bound().Epsilon} },
		},
		"Concentrated": {
			record: func(a, _ float64) error { return concentrated.Record(loss.ZCDP{Rho: a}) },
			bound:  func() []float64 { return []float64{concentrated.Bound().Epsilon} },
		},
		"GDPTotal":   gdpMachine(&odometer.GDPTotal{}),
		"ZCDPTotal":  zcdpMachine(&odometer.ZCDPTotal{}),
		"RenyiTotal": renyiMachine(must(odometer.NewRenyiTotal([]float64{2, 4}))),
	}
}

func anyLoss(t *rapid.T) (a, b float64) {
	magnitude := rapid.Float64Range(-45, 8).Draw(t, "magnitude")
	return math.Exp(magnitude), rapid.SampledFrom([]float64{0, 0, 1e-30, 1e-3, 0.02}).Draw(t, "delta")
}

func TestReadingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		often, once := machines(), machines()
		losses := rapid.IntRange(1, 30).Draw(t, "losses")
		for range losses {
			a, b := anyLoss(t)
			reads := rapid.IntRange(0, 3).Draw(t, "reads")
			for name, m := range often {
				for range reads {
					m.bound()
				}
				if got, want := m.record(a, b), once[name].record(a, b); (got == nil) != (want == nil) {
					t.Fatalf("%s: after reading, Record says %v instead of %v", name, got, want)
				}
			}
		}
		for name, m := range often {
			first, second, unread := m.bound(), m.bound(), once[name].bound()
			for i := range first {
				if first[i] != second[i] || first[i] != unread[i] {
					t.Fatalf("%s: reads %v, then %v; %v where Bound had not been read before", name, first, second, unread)
				}
			}
		}
	})
}

func TestRecordingNeverLowersABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odometers := machines()
		for range rapid.IntRange(1, 60).Draw(t, "losses") {
			a, b := anyLoss(t)
			for name, m := range odometers {
				before := m.bound()
				err := m.record(a, b)
				for i, after := range m.bound() {
					if !(after >= before[i]) || err != nil && after != before[i] {
						t.Fatalf("%s: recording (%g, %g), %v, takes the bound from %v to %v", name, a, b, err, before, m.bound())
					}
				}
			}
		}
	})
}

// A larger loss in place of a smaller one never gives a smaller bound.
func TestBoundsGrowWithEveryLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low, high := machines(), machines()
		refused := map[string]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "losses") {
			a, b := anyLoss(t)
			more := rapid.Float64Range(1, 3).Draw(t, "more")
			for name := range low {
				if low[name].record(a, b) != nil || high[name].record(a*more, b) != nil {
					refused[name] = true // a tracker refuses what is larger than a step
				}
			}
		}
		for name := range low {
			small, large := low[name].bound(), high[name].bound()
			for i := range small {
				if !refused[name] && small[i] > large[i] {
					t.Fatalf("%s: %v for smaller losses, %v for larger ones", name, small, large)
				}
			}
		}
	})
}

func TestOrderOfLossesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "losses")
		losses := make([][2]float64, n)
		for i := range losses {
			losses[i][0], losses[i][1] = anyLoss(t)
		}
		order := rapid.Permutation(losses).Draw(t, "order")
		one, other := machines(), machines()
		for i := range losses {
			for name := range one {
				_ = one[name].record(losses[i][0], losses[i][1])
				_ = other[name].record(order[i][0], order[i][1])
			}
		}
		for _, name := range []string{"Basic", "Advanced", "Renyi", "GDPTotal", "ZCDPTotal", "RenyiTotal"} {
			a, b := one[name].bound(), other[name].bound()
			for i := range a {
				if a[i] != b[i] {
					t.Fatalf("%s: %v in one order, %v in another", name, a, b)
				}
			}
		}
	})
}

// Whatever is recorded, no bound is a NaN or negative, and what is invalid is a
// *units.RangeError that changes nothing.
func TestNoInputMakesABoundThatIsNoNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odometers := machines()
		wild := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
			math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, math.MaxFloat64, math.SmallestNonzeroFloat64, 709.8, 1e13,
		}))
		for range rapid.IntRange(1, 20).Draw(t, "losses") {
			a, b := wild.Draw(t, "a"), wild.Draw(t, "b")
			for name, m := range odometers {
				before := m.bound()
				err := m.record(a, b)
				after := m.bound()
				var out *units.RangeError
				if err != nil && !errors.As(err, &out) && !errors.Is(err, odometer.ErrStep) {
					t.Fatalf("%s: (%g, %g) is refused by %v", name, a, b, err)
				}
				for i := range after {
					if !(after[i] >= 0) || err != nil && after[i] != before[i] {
						t.Fatalf("%s: (%g, %g) leads from %v to %v, %v", name, a, b, before, after, err)
					}
				}
			}
		}
	})
}

// A loss below 0 would otherwise count as 0, and take nothing from what may still be spent.
func TestNoOdometerRecordsAnInvalidLoss(t *testing.T) {
	for name, m := range machines() {
		for _, v := range []float64{-1, math.NaN()} {
			var out *units.RangeError
			if err := m.record(v, 0); !errors.As(err, &out) {
				t.Errorf("%s: a loss of %v is answered with %v, want a *units.RangeError", name, v, err)
			}
		}
	}
}

func TestSumsThatNoLongerFitPromiseNothing(t *testing.T) {
	for name, m := range machines() {
		for range 3 {
			if err := m.record(0x1p47, 0); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if b := m.bound()[0]; !math.IsInf(b, 1) {
			t.Errorf("%s: after three losses of 2^47 the bound is %v, want +Inf", name, b)
		}
	}
}

func TestNothingRecordedIsNothingLost(t *testing.T) {
	for name, m := range machines() {
		for range 3 {
			if err := m.record(0, 0); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if b := m.bound()[0]; b != 0 {
				t.Errorf("%s: bound %v, want 0", name, b)
			}
		}
	}
}

func TestDeltasBeyondTheOdometersPromiseNothing(t *testing.T) {
	for name, o := range map[string]odometer.Odometer[loss.Approx, loss.Approx]{
		"Basic":    must(odometer.NewBasic(0.25)),
		"Advanced": must(odometer.NewAdvanced(0.3125, 4)), // δ/2 = 5/32
	} {
		step := map[string]float64{"Basic": 0.0625, "Advanced": 0.0390625}[name]
		recordMany(t, o, loss.Approx{Epsilon: 1, Delta: step}, 4)
		if b := o.Bound(); math.IsInf(b.Epsilon, 1) {
			t.Errorf("%s: no bound with Σδ just used up", name)
		}
		recordMany(t, o, loss.Approx{Delta: 1e-300}, 1)
		recordMany(t, o, loss.Approx{Epsilon: 1}, 1)
		if b := o.Bound(); !math.IsInf(b.Epsilon, 1) {
			t.Errorf("%s: ε = %v with Σδ above what it may be, want +Inf", name, b.Epsilon)
		}
	}
}
