package noisereduction_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// A deployment's ladder under the unified filter: its finest rung is reserved, and the rung that
// was reached is charged.
func ExamplePrice() {
	filter, err := accounting.NewUnifiedFor(loss.Approx{Epsilon: 2, Delta: 1e-6}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	finest, err1 := units.PrecisionFromSigma(10)
	reached, err2 := units.PrecisionFromSigma(312) // as in a Result
	if err1 != nil || err2 != nil {
		fmt.Println(err1, err2)
		return
	}
	const contribution = 2
	worst := noisereduction.Price{Precision: finest, Contribution: contribution}
	price := noisereduction.Result{Precision: reached}.Price(contribution)
	if err := filter.Reserve(worst.ZCDP()); err != nil {
		fmt.Println(err)
		return
	}
	if err := filter.Settle(worst.ZCDP(), price.ZCDP()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("reserved %.4f, charged %.7f, μ = %.5f\n", worst.ZCDP().Rho, filter.Spent().Rho, price.GDP().Mu)
	// Output: reserved 0.0200, charged 0.0000205, μ = 0.00641
}

// Every price is at least c²·u, exactly, and above it by a rounding only.
func TestRulePricesOfAReleaseAreRoundedUp(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 41, 500))
	boundary, err := accounting.NewMixtureFor(1e-6, 1)
	if err != nil {
		t.Fatal(err)
	}
	rat := func(f float64) *big.Rat { return new(big.Rat).SetFloat64(f) }
	for range 500 {
		p := noisereduction.Price{
			Precision:    units.Precision{Hi: rng.Uint64() >> 1 >> rng.IntN(63), Lo: rng.Uint64()},
			Contribution: 1 + rng.Uint64()>>rng.IntN(64)>>1,
		}
		exact := new(big.Rat).SetInt(new(big.Int).SetUint64(p.Contribution))
		exact.Mul(exact, exact)
		exact.Mul(exact, new(big.Rat).SetFrac(p.Precision.Big(), new(big.Int).Lsh(big.NewInt(1), units.FinestBits)))
		mu, twice := p.GDP().Mu, 2*p.ZCDP().Rho
		for _, square := range []*big.Rat{rat(twice), new(big.Rat).Mul(rat(mu), rat(mu))} {
			if over := new(big.Rat).Quo(square, exact); over.Cmp(rat(1)) < 0 || over.Cmp(rat(1+0x1p-50)) > 0 {
				t.Fatalf("%+v: %v is charged for %v", p, square.FloatString(30), exact.FloatString(30))
			}
		}
		c, variance := float64(p.Contribution), 1/p.Precision.Float()
		if price, err := p.ExPost(boundary); c < 0x1p99 && variance > 0x1p-199 && variance < 0x1p199 {
			want, err2 := boundary.At(c*(1-0x1p-50), variance*(1+0x1p-50))
			if err != nil || err2 != nil || price.Epsilon < want.Epsilon || price.Epsilon > want.Epsilon*(1+1e-9) ||
				math.IsInf(price.Epsilon, 0) {
				t.Fatalf("%+v: ex-post %v (%v), want a little above %v (%v)", p, price, err, want, err2)
			}
		}
	}
}
