package filter_test

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// BenchmarkSpend is the cost of one update after 10, 10^3 and 10^6 of them: flat, and
// without allocation.
func BenchmarkSpend(b *testing.B) {
	// Large enough for any number of the losses below.
	p := loss.Approx{Epsilon: 5e5, Delta: 0.25}
	curve := loss.RDP{}
	for i := range 31 {
		curve = append(curve, loss.Order{Alpha: float64(i + 2), Epsilon: 1e6})
	}
	cost := loss.RDP{}
	for _, o := range curve {
		cost = append(cost, loss.Order{Alpha: o.Alpha, Epsilon: 1e-9 * o.Alpha})
	}
	spend(b, "basic", must(filter.NewBasic(p)), loss.Approx{Epsilon: 1e-6, Delta: 1e-15})
	spend(b, "advanced", must(filter.NewAdvanced(p)), loss.Approx{Epsilon: 1e-6, Delta: 1e-15})
	spend(b, "renyi", must(filter.NewRenyi(8, 1e6)), loss.RDP{{Alpha: 8, Epsilon: 1e-6}})
	spend(b, "renyi31orders", must(filter.NewRenyiOrders(curve)), cost)
	spend(b, "zcdp", must(filter.NewZCDP(p)), loss.ZCDP{Rho: 1e-9})
	spend(b, "approxzcdp", must(filter.NewApproxZCDP(1e6, 0.25)), loss.ZCDP{Rho: 1e-9, Delta: 1e-15})
	spend(b, "gdp", must(filter.NewGDP(1e3)), loss.GDP{Mu: 1e-5})
	spend(b, "expost", must(filter.NewExPost(1e6)), loss.Approx{Epsilon: 1e-6})
	spend(b, "unified", must(filter.NewUnified(1e6, 0.25)), loss.ZCDP{Rho: 1e-9, Delta: 1e-15})
}

func spend[L any](b *testing.B, name string, f filter.Filter[L], l L) {
	done := 0
	for _, before := range []int{10, 1_000, 1_000_000} {
		b.Run(fmt.Sprintf("%s/after=%d", name, before), func(b *testing.B) {
			for ; done < before; done++ {
				if err := f.Spend(l); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := f.Spend(l); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReserveAndSettle is one noise-reduction mechanism from admission to its
// charge.
func BenchmarkReserveAndSettle(b *testing.B) {
	u := must(filter.NewUnified(1e6, 0))
	worst, stopped := loss.ZCDP{Rho: 1e-6}, loss.ZCDP{Rho: 1e-9}
	b.ReportAllocs()
	for b.Loop() {
		if err := u.Reserve(worst); err != nil {
			b.Fatal(err)
		}
		if err := u.Settle(worst, stopped); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRefusal is the cost of what does not fit.
func BenchmarkRefusal(b *testing.B) {
	a := must(filter.NewAdvanced(loss.Approx{Epsilon: 1, Delta: 1e-6}))
	b.ReportAllocs()
	for b.Loop() {
		if a.Spend(loss.Approx{Epsilon: 1}) == nil {
			b.Fatal("the whole ε at once was accepted")
		}
	}
}

// BenchmarkAdvancedLeft is the dearest of the Lefts: it searches.
func BenchmarkAdvancedLeft(b *testing.B) {
	a := must(filter.NewAdvanced(loss.Approx{Epsilon: 1, Delta: 1e-6}))
	b.ReportAllocs()
	for b.Loop() {
		if a.Left().Epsilon <= 0 {
			b.Fatal("nothing is left of a fresh filter")
		}
	}
}

func TestUpdatesDoNotAllocate(t *testing.T) {
	each(t, func(t *testing.T, s subject) {
		m, n, huge := s.fresh(), s.scaled(1e-9), s.scaled(100)
		if s.name == "renyi" || s.name == "renyi orders" {
			t.Skip("the list form of these losses allocates its curve; see TestRenyiUpdatesDoNotAllocate")
		}
		got := testing.AllocsPerRun(1000, func() {
			if !m.fits(n) || m.spend(n) != nil || m.spend(huge) == nil {
				t.Fatal("an update failed")
			}
		})
		if got != 0 {
			t.Errorf("an update allocates %v times", got)
		}
	})
}

func TestRenyiUpdatesDoNotAllocate(t *testing.T) {
	one := must(filter.NewRenyi(8, 1))
	many := must(filter.NewRenyiOrders(loss.RDP{{Alpha: 2, Epsilon: 1}, {Alpha: 8, Epsilon: 1}}))
	l := loss.RDP{{Alpha: 2, Epsilon: 1e-6}, {Alpha: 8, Epsilon: 1e-6}}
	for _, f := range []filter.Filter[loss.RDP]{one, many} {
		if got := testing.AllocsPerRun(1000, func() {
			if !f.Fits(l) || f.Spend(l) != nil {
				t.Fatal("an update failed")
			}
		}); got != 0 {
			t.Errorf("an update of %T allocates %v times", f, got)
		}
	}
}
