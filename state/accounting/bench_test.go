package accounting_test

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// BenchmarkUpdate is the cost of one update after 10, 10^3 and 10^6 of them: flat, and without
// allocation.
func BenchmarkUpdate(b *testing.B) {
	// Large enough for any number of the losses below.
	p := loss.Approx{Epsilon: 5e5, Delta: 0.25}
	orders, budget, cost := []float64{}, numbers{}, numbers{}
	for i := range 31 {
		orders, budget, cost = append(orders, float64(i+2)), append(budget, 1e6), append(cost, 1e-9*float64(i+2))
	}
	curve := renyi(orders...)
	tiny, rho := loss.Approx{Epsilon: 1e-6, Delta: 1e-15}, loss.ZCDP{Rho: 1e-9}
	update(b, "basic", must.Have(accounting.NewBasic(p)).Spend, tiny)
	update(b, "advanced", must.Have(accounting.NewAdvanced(p)).Spend, tiny)
	update(b, "renyi31orders", must.Have(accounting.NewRenyi(curve(budget))).Spend, curve(cost))
	update(b, "zcdp", must.Have(accounting.NewZCDP(p)).Spend, rho)
	update(b, "approxzcdp", must.Have(accounting.NewApproxZCDP(1e6, 0.25)).Spend, rho)
	update(b, "gdp", must.Have(accounting.NewGaussian(1e3)).Spend, loss.GDP{Mu: 1e-5})
	update(b, "basicodometer", must.Have(accounting.NewBasicOdometer(0.25)).Record, tiny)
	update(b, "advancedodometer", must.Have(accounting.NewAdvancedOdometer(0.25, 1000)).Record, tiny)
	update(b, "concentrated", must.Have(accounting.NewConcentratedOdometer(1e-6, 1)).Record, rho)
	update(b, "renyiodometer7orders", must.Have(accounting.NewRenyiOdometer(1e-6, orders[:7])).Record, curve(cost))
	update(b, "gdptotal", accounting.NewGaussianTotal().Record, loss.GDP{Mu: 1e-5})
	users := must.Have(accounting.NewPerUser[string](accounting.ForRound, gdp(1e3)))
	update(b, "peruser", func(round []pair[loss.GDP]) error { return second(users.Round(all(round))) },
		[]pair[loss.GDP]{{"ann", loss.GDP{Mu: 1e-5}}})
}

func update[L any](b *testing.B, name string, take func(L) error, l L) {
	done := 0
	for _, before := range []int{10, 1_000, 1_000_000} {
		b.Run(fmt.Sprintf("%s/after=%d", name, before), func(b *testing.B) {
			for ; done < before; done++ {
				must.Have(0, take(l))
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := take(l); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
