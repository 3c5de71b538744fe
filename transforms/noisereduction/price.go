package noisereduction

import (
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Price is the cost of a release for an individual. With the unified filter
// (accounting.NewUnified), Reserve the price of Spec.Top before the release, and Settle the price
// of Result.Precision after it. Earlier rungs add nothing to the price of the last rung. A private
// key that did not pass has the same price as any other release; the δ of its threshold is not
// included. All numbers are rounded up.
type Price struct {
	Precision    units.Precision
	Contribution uint64 // greatest amount that the individual adds to the count
}

// Price returns the price of the release for an individual with this contribution.
func (r Result) Price(contribution uint64) Price { return Price{r.Precision, contribution} }

// GDP returns μ = c·√u.
func (p Price) GDP() loss.GDP { return loss.GDP{Mu: rounding.RootUp(p.square())} }

// ZCDP returns ρ = c²·u/2.
func (p Price) ZCDP() loss.ZCDP { return loss.ZCDP{Rho: p.square() / 2} }

// ExPost returns the realised loss, for accounting.NewExPost and odometers of realised losses. The
// loss holds except with probability δ of the boundary, which is fixed before the release and spent
// when the release begins. The error is a *units.RangeError from accounting.Mixture.At.
func (p Price) ExPost(boundary accounting.Mixture) (loss.Approx, error) {
	variance := rounding.QuotientDown(1,
		up(new(big.Float).SetMantExp(new(big.Float).SetInt(p.Precision.Big()), -units.FinestBits)))
	return boundary.At(rounding.IntegerUp(p.Contribution), variance) //nolint:wrapcheck // names its own parameters
}

// square returns c²·u, rounded up. The product has at most 256 bits.
func (p Price) square() float64 {
	c := new(big.Int).SetUint64(p.Contribution)
	c.Mul(c, c)
	exact := new(big.Float).SetInt(c.Mul(c, p.Precision.Big()))
	return up(exact.SetMantExp(exact, -units.FinestBits))
}

// up returns the least float64 that is not below x.
func up(x *big.Float) float64 {
	f, _ := x.SetMode(big.ToPositiveInf).SetPrec(53).Float64()
	return f
}
