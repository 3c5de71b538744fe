package mechanisms

import (
	"math"
	"math/big"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Gaussian releases a number with Gaussian noise. The noise is sampled exactly from the real
// Gaussian distribution (Karney, 2016), and then rounded to a lattice with at least 2^40 points per
// standard deviation. Rounding after the noise costs nothing. It is safe for concurrent use, one
// Source per goroutine.
type Gaussian struct {
	lattice   lattice
	precision units.Precision
	scratch   sync.Pool
}

// A units.Precision is a multiple of 2^-precisionBits.
const precisionBits = 80

// NewGaussian returns the mechanism with standard deviation sigma, from 2^-23 to 2^40. 1/σ² is
// rounded down to units of 2^-80, so the standard deviation is at least sigma. Prices are for the
// rounded value. The error is a *units.RangeError.
func NewGaussian(sigma float64) (*Gaussian, error) {
	if err := checkScale("sigma", sigma, greatestScale); err != nil {
		return nil, err
	}
	variance := new(big.Rat).SetFloat64(sigma)
	variance.Mul(variance, variance)
	scaled := new(big.Int).Lsh(variance.Denom(), precisionBits)
	precision, err := units.PrecisionFromBig(scaled.Quo(scaled, variance.Num()))
	if err != nil {
		return nil, err
	}
	g := &Gaussian{lattice: latticeFor(sigma, 40), precision: precision}
	g.scratch.New = func() any { return new(noisereduction.Gauss) }
	return g, nil
}

// Release rounds the value to the lattice and returns it with noise. The error is a
// *units.RangeError for a value that is not finite or beyond 2^900, or ErrDigits.
func (g *Gaussian) Release(value float64, src Source) (float64, error) {
	base, err := g.lattice.nearest(value)
	if err != nil {
		return 0, err
	}
	gauss := g.scratch.Get().(*noisereduction.Gauss)
	defer g.scratch.Put(gauss)
	noise, err := gauss.Rounded(g.precision, g.lattice.exponent, src)
	if err != nil {
		return 0, ErrDigits
	}
	return g.lattice.noisy(base, noise), nil
}

// GDP returns the price of a release for an individual who changes the value by at most
// sensitivity: μ = sensitivity/σ (Dong, Roth and Su, 2022, Theorem 2.7). The sensitivity is rounded
// up to the lattice, and σ does not exceed the σ of the noise.
func (g *Gaussian) GDP(sensitivity float64) (loss.GDP, error) {
	squared, err := g.squared(sensitivity)
	if err != nil {
		return loss.GDP{}, err
	}
	return loss.GDP{Mu: rounding.RootUp(squared)}, nil
}

// Lipschitz returns the price of a release of g(q(X_1), …, q(X_n)) for individual i alone: μ =
// L·‖q(X_i)‖/σ, rounded up. constant is L and norm is ‖q(X_i)‖; both must be at least 0 (Feldman
// and Zrnic, 2021, Example 2.8). Charge the price to a filter per user: a user with a small q(X_i)
// pays little.
//
// The price bounds the influence of i, whatever the other records are: if q(X_i) is replaced by the
// origin, as if the user were left out, g moves by at most L·‖q(X_i) − 0‖. The constant must
// therefore hold for all values of the other arguments, and must not depend on them. The norm is
// that of i's own record.
//
// The bound must hold for g as it is computed, so add its floating-point error to L·‖q(X_i)‖. If g
// has several integer coordinates, release it with DiscreteGaussian. It then costs
// accounting.SquaredNorm.ZCDP of ‖q(X_i)‖² at σ/L.
func (g *Gaussian) Lipschitz(constant, norm float64) (loss.GDP, error) {
	if err := units.Require(constant >= 0, "Lipschitz constant", constant, "at least 0"); err != nil {
		return loss.GDP{}, err
	}
	return g.GDP(rounding.ProductUp(constant, norm))
}

// ZCDP returns the price as ρ = sensitivity²/(2σ²) (Bun and Steinke, 2016, Proposition 1.6),
// rounded like GDP.
func (g *Gaussian) ZCDP(sensitivity float64) (loss.ZCDP, error) {
	squared, err := g.squared(sensitivity)
	if err != nil {
		return loss.ZCDP{}, err
	}
	return loss.ZCDP{Rho: rounding.ProductUp(squared, 0.5)}, nil
}

// RDP returns the price at the given orders, α·sensitivity²/(2σ²) (Mironov, 2017, Proposition 7),
// rounded like GDP.
func (g *Gaussian) RDP(sensitivity float64, orders ...float64) (loss.RDP, error) {
	z, err := g.ZCDP(sensitivity)
	if err != nil {
		return nil, err
	}
	return conversion.ZCDPToRDP(z, orders)
}

// Approx returns the least ε for delta, by the exact privacy curve of Gaussian noise.
func (g *Gaussian) Approx(sensitivity, delta float64) (loss.Approx, error) {
	mu, err := g.GDP(sensitivity)
	if err != nil {
		return loss.Approx{}, err
	}
	epsilon, err := conversion.GDPToEpsilon(mu, delta)
	if err != nil {
		return loss.Approx{}, err
	}
	return loss.Approx{Epsilon: epsilon, Delta: delta}, nil
}

// squared returns μ² = (steps·spacing)²·u, rounded up, where u is the precision.
func (g *Gaussian) squared(sensitivity float64) (float64, error) {
	steps, err := g.lattice.steps(sensitivity)
	if err != nil {
		return 0, err
	}
	exact := new(big.Float).SetPrec(256).SetInt(g.precision.Big())
	exact.SetMantExp(exact, -precisionBits-2*int(g.lattice.exponent))
	k := new(big.Float).SetFloat64(steps)
	exact.Mul(exact, k)
	return priceUp(exact.Mul(exact, k), sensitivity)
}

// priceUp rounds a price up. It returns an error if the price overflows a float64.
func priceUp(exact *big.Float, sensitivity float64) (float64, error) {
	price, _ := exact.Float64()
	if new(big.Float).SetFloat64(price).Cmp(exact) < 0 {
		price = math.Nextafter(price, math.Inf(1))
	}
	if price > math.MaxFloat64 {
		return 0, &units.RangeError{Parameter: "sensitivity", Value: sensitivity,
			Range: "such that its price is finite"}
	}
	return price, nil
}
