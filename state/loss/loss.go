package loss

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Approx is (ε, δ)-differential privacy (Dwork et al., 2006): the probability of every event with
// an individual is at most e^ε times the probability without the individual, plus δ, and vice
// versa. With Delta 0 it is pure ε-differential privacy.
type Approx struct {
	Epsilon float64 // at least 0, finite
	Delta   float64 // at least 0, below 1
}

// Validate returns a *units.RangeError that names epsilon or delta if it is out of range.
func (a Approx) Validate() error {
	return cmp.Or(atLeastZero("epsilon", a.Epsilon), probability("delta", a.Delta))
}

// Split returns the greatest loss that fits k times into a by basic composition: ε/k and δ/k,
// rounded down. k must be at least 1. The error is a *units.RangeError.
func (a Approx) Split(k int) (Approx, error) {
	if err := errors.Join(a.Validate(), atLeastOne(k)); err != nil {
		return Approx{}, err
	}
	parts := rounding.IntegerUp(uint64(k))
	return Approx{Epsilon: rounding.QuotientDown(a.Epsilon, parts), Delta: rounding.QuotientDown(a.Delta, parts)}, nil
}

// ZCDP is δ-approximate ρ-zero-concentrated differential privacy (Bun and Steinke, 2016, Definition
// 8.1): except on an event of probability δ on either side, the Rényi divergence of every order α >
// 1 is at most ρ·α. With Delta 0 it is plain ρ-zCDP.
type ZCDP struct {
	Rho   float64 // at least 0, finite
	Delta float64 // at least 0, below 1
}

// Validate returns a *units.RangeError that names rho or delta if it is out of range.
func (z ZCDP) Validate() error {
	return cmp.Or(atLeastZero("rho", z.Rho), probability("delta", z.Delta))
}

// Split returns the greatest loss that fits k times into z: ρ/k and δ/k, rounded down. k must be at
// least 1. The error is a *units.RangeError.
func (z ZCDP) Split(k int) (ZCDP, error) {
	if err := errors.Join(z.Validate(), atLeastOne(k)); err != nil {
		return ZCDP{}, err
	}
	parts := rounding.IntegerUp(uint64(k))
	return ZCDP{Rho: rounding.QuotientDown(z.Rho, parts), Delta: rounding.QuotientDown(z.Delta, parts)}, nil
}

// GDP is μ-Gaussian differential privacy (Dong, Roth and Su, 2022, Definition 2.6): distinguishing
// the two inputs is at least as hard as distinguishing N(0, 1) from N(μ, 1).
type GDP struct {
	Mu float64 // at least 0, finite
}

// Validate returns a *units.RangeError that names mu if it is out of range.
func (g GDP) Validate() error { return atLeastZero("mu", g.Mu) }

// Split returns the greatest loss that fits k times into g: μ/√k, rounded down. k must be at least
// 1. The error is a *units.RangeError.
func (g GDP) Split(k int) (GDP, error) {
	if err := errors.Join(g.Validate(), atLeastOne(k)); err != nil {
		return GDP{}, err
	}
	square := bigmath.Square(g.Mu)
	times := bigmath.Zero().SetInt64(int64(k))
	mu := g.Mu / math.Sqrt(float64(k))
	for bigmath.Zero().Mul(times, bigmath.Square(mu)).Cmp(square) <= 0 && mu < g.Mu {
		mu = math.Nextafter(mu, math.Inf(1))
	}
	for bigmath.Zero().Mul(times, bigmath.Square(mu)).Cmp(square) > 0 {
		mu = math.Nextafter(mu, 0)
	}
	return GDP{Mu: mu}, nil
}

// GDPOfSquare returns the least μ whose square is at least m, where m is in the units of accounts.
// The result is exact if m is the square of a float64.
func GDPOfSquare(m units.Mu2) GDP {
	square := bigmath.Zero().SetUint64(uint64(m))
	return GDP{Mu: bigmath.RootUp(square.SetMantExp(square, -units.Mu2Bits))}
}

// Square returns the square of μ in the units of accounts, rounded up, and true. If the square does
// not fit or μ is invalid, Square returns units.MaxMu2, which no account can pay, and false.
func (g GDP) Square() (units.Mu2, bool) {
	if g.Validate() != nil {
		return units.MaxMu2, false
	}
	square := bigmath.Square(g.Mu)
	whole, accuracy := square.SetMantExp(square, units.Mu2Bits).Uint64() // rounded down
	if whole == uint64(units.MaxMu2) {
		return units.MaxMu2, false
	}
	if accuracy == big.Below {
		whole++
	}
	return units.Mu2(whole), true
}

// Order is one point of a Rényi curve: the Rényi divergence of order Alpha is at
// most Epsilon, in both directions.
type Order struct {
	Alpha   float64 // above 1, finite
	Epsilon float64 // at least 0; +Inf if nothing is known at this order
}

// RDP is Rényi differential privacy (Mironov, 2017, Definition 4) at one or more ascending orders.
type RDP []Order

// Validate returns a *units.RangeError if an alpha or epsilon is out of range, if there is no
// order, or if the orders do not ascend.
func (r RDP) Validate() error {
	if len(r) == 0 {
		return &units.RangeError{Parameter: "orders", Value: 0, Range: "at least one"}
	}
	last := 1.0
	for _, o := range r {
		if !(o.Alpha > last && o.Alpha <= math.MaxFloat64) {
			return &units.RangeError{Parameter: "alpha", Value: o.Alpha,
				Range: fmt.Sprintf("finite and above %v", last)}
		}
		if !(o.Epsilon >= 0) {
			return &units.RangeError{Parameter: "epsilon", Value: o.Epsilon, Range: "at least 0"}
		}
		last = o.Alpha
	}
	return nil
}

func atLeastOne(k int) error { return units.Require(k >= 1, "k", float64(k), "at least 1") }

func atLeastZero(name string, v float64) error {
	return units.Require(v >= 0 && v <= math.MaxFloat64, name, v, "finite and at least 0")
}

func probability(name string, v float64) error {
	return units.Require(v >= 0 && v < 1, name, v, "at least 0 and below 1")
}
