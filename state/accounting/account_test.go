package accounting_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// An account of the pipeline and a filter of the library accept, reserve, settle and refuse the
// same losses: proofs about one hold for the other.
func TestRuleAnAccountDecidesAsAFilterDoes(t *testing.T) {
	const most = 1 << 50 // whole numbers of units that a float64 has
	mu2 := func(m units.Mu2) float64 { return math.Ldexp(float64(m), -units.Mu2Bits) }
	// near draws a loss up to the rest, just above it, or anything.
	near := func(t *rapid.T, left uint64, name string) uint64 {
		return rapid.OneOf(rapid.Uint64Range(0, left), rapid.SampledFrom([]uint64{left, left + 1}), rapid.Uint64Range(0,
			most)).Draw(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := budgets.Budget{Mu2: units.Mu2(rapid.Uint64Range(1, most).Draw(t, "B²"))}
		var a accounts.Account
		f := must.Have(accounting.NewUnified(mu2(b.Mu2), 0))
		var open []loss.ZCDP
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			if len(open) > 0 && rapid.Bool().Draw(t, "settle") {
				worst := open[0]
				m := units.Mu2(math.Ldexp(worst.Rho, units.Mu2Bits))
				actual := units.Mu2(near(t, uint64(m), "actual"))
				ofAccount, ofFilter := a.Settle(m, actual), f.Settle(worst, loss.ZCDP{Rho: mu2(actual)})
				if errors.Is(ofAccount, accounts.ErrSettle) != errors.Is(ofFilter, accounts.ErrSettle) {
					t.Fatalf("settling %d of %d: account %v, filter %v", actual, m, ofAccount, ofFilter)
				}
				if ofAccount == nil {
					open = open[1:]
				}
				continue
			}
			m := units.Mu2(near(t, uint64(b.Mu2-a.Spent-a.Reserved), "worst"))
			worst := loss.ZCDP{Rho: mu2(m)}
			if a.Fits(b, m) != f.Fits(worst) {
				t.Fatalf("%d: account %v, filter %v", m, a.Fits(b, m), f.Fits(worst))
			}
			ofAccount, ofFilter := a.Reserve(b, m), f.Reserve(worst)
			if errors.Is(ofAccount, accounts.ErrOverBudget) != errors.Is(ofFilter, accounting.ErrExceeded) {
				t.Fatalf("%d: account %v, filter %v", m, ofAccount, ofFilter)
			}
			if ofAccount == nil {
				open = append(open, worst)
			}
			if want := (loss.ZCDP{Rho: mu2(a.Spent)}); f.Spent() != want || f.Reserved().Rho != mu2(a.Reserved) {
				t.Fatalf("account %+v, filter %v spent and %v reserved", a, f.Spent(), f.Reserved())
			}
		}
	})
	// If nothing is reserved it is the Gaussian filter, of the square of μ.
	rapid.Check(t, func(t *rapid.T) {
		mu := func(root uint64) float64 { return math.Ldexp(float64(root), -units.Mu2Bits/2) }
		root := rapid.Uint64Range(1, 1<<25).Draw(t, "B")
		b := budgets.Budget{Mu2: units.Mu2(root * root)}
		var a accounts.Account
		f := must.Have(accounting.NewGaussian(mu(root)))
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			part := near(t, uint64(math.Sqrt(float64(b.Mu2-a.Spent))), "μ") % (1 << 25)
			m := units.Mu2(part * part)
			if a.Fits(b, m) != f.Fits(loss.GDP{Mu: mu(part)}) {
				t.Fatalf("%d of %d, %d spent: account and filter differ", m, b.Mu2, a.Spent)
			}
			if a.Reserve(b, m) == nil {
				must.Have(0, errors.Join(a.Settle(m, m), f.Spend(loss.GDP{Mu: mu(part)})))
			}
		}
	})
}
