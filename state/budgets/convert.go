package budgets

import (
	"cmp"
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// MinMu and MaxMu are the limits of the μ of a conversion.
	MinMu = 1e-15
	MaxMu = 4096
)

// Conversion states that a mechanism that is μ-GDP (accountant gdp) or ρ-zCDP with ρ = μ²/2
// (accountant zcdp) is (ε, δ)-DP. Computed numbers are rounded so that this is true: ε and δ up,
// and the μ and ρ that (ε, δ) permits down.
type Conversion struct {
	Epsilon    float64
	Delta      float64
	Mu         float64
	Rho        float64
	Accountant Accountant
}

// ConvertEpsilonDelta returns the greatest μ (and ρ) that (ε, δ) permits, rounded down. The error
// is a *units.RangeError unless 0 < ε ≤ MaxEpsilon, MinDelta ≤ δ < 1 and μ is from MinMu to MaxMu;
// or it is an *UnknownAccountantError.
func ConvertEpsilonDelta(epsilon, delta float64, a Accountant) (Conversion, error) {
	if err := cmp.Or(checkEpsilon(epsilon), CheckDelta(delta), a.check()); err != nil {
		return Conversion{}, err
	}
	beyond := math.Nextafter(MaxMu, math.Inf(1))
	above := leastFloat(math.Nextafter(MinMu, 0), beyond, bigmath.New(delta), true,
		func(mu float64) float64 { return logDelta(mu, epsilon, a) },
		func(mu float64) *big.Float { return deltaUpper(bigmath.Square(mu), epsilon, a) })
	if above == MinMu || above == beyond {
		return Conversion{}, &units.RangeError{
			Parameter: "epsilon", Value: epsilon,
			Range: fmt.Sprintf("such that mu lies between 1e-15 and 4096 at delta %v", delta),
		}
	}
	mu := math.Nextafter(above, 0)
	return Conversion{Epsilon: epsilon, Delta: delta, Mu: mu, Rho: bigmath.RoundDown(bigmath.Half(bigmath.Square(mu))),
		Accountant: a}, nil
}

// LargestSquare returns the greatest μ² (2ρ) that (ε, δ) permits, rounded down by less than a
// relative 2^-58. It is more precise than the float64 μ of ConvertEpsilonDelta. The computed δ of
// the result at ε, rounded up, is at most delta. Ranges and errors are as for ConvertEpsilonDelta.
func LargestSquare(epsilon, delta float64, a Accountant) (*big.Float, error) {
	c, err := ConvertEpsilonDelta(epsilon, delta, a)
	if err != nil {
		return nil, err
	}
	target := bigmath.New(delta)
	low, high := bigmath.Square(c.Mu), bigmath.Square(math.Nextafter(c.Mu, math.Inf(1)))
	// Between two close values, δ is linear in μ² to about as many digits as they share.
	least := deltaUpper(low, epsilon, a)
	part := bigmath.Zero().Sub(target, least)
	part.Quo(part, bigmath.Zero().Sub(deltaUpper(high, epsilon, a), least))
	width := high.Sub(high, low)
	for bits := -40; bits < -1; bits += 4 {
		step := bigmath.Zero().Sub(part, bigmath.Zero().SetMantExp(bigmath.New(1), bits))
		if step.Sign() <= 0 {
			break
		}
		step.Mul(step, width)
		if step.Add(step, low); deltaUpper(step, epsilon, a).Cmp(target) <= 0 {
			return step, nil
		}
	}
	return low, nil
}

// ConvertEpsilonMu returns the δ of μ at ε, rounded up. The error is a *units.RangeError unless 0 <
// ε ≤ MaxEpsilon and MinMu ≤ μ ≤ MaxMu, or an *UnknownAccountantError.
func ConvertEpsilonMu(epsilon, mu float64, a Accountant) (Conversion, error) {
	if err := checkMu(mu); err != nil {
		return Conversion{}, err
	}
	c := Conversion{Epsilon: epsilon, Mu: mu, Rho: bigmath.RoundUp(bigmath.Half(bigmath.Square(mu))), Accountant: a}
	return c.withDelta(bigmath.Square(mu))
}

// ConvertEpsilonRho does the same as ConvertEpsilonMu for μ = √(2ρ), MinMu²/2 ≤ ρ ≤ MaxMu²/2. The μ
// of the result is rounded up.
func ConvertEpsilonRho(epsilon, rho float64, a Accountant) (Conversion, error) {
	mu2, err := fromRho(rho)
	if err != nil {
		return Conversion{}, err
	}
	c := Conversion{Epsilon: epsilon, Mu: bigmath.RootUp(mu2), Rho: rho, Accountant: a}
	return c.withDelta(mu2)
}

// ConvertDeltaMu returns the ε of μ at δ, rounded up, which may be 0. The error is a
// *units.RangeError unless MinDelta ≤ δ < 1 and MinMu ≤ μ ≤ MaxMu, or an *UnknownAccountantError.
func ConvertDeltaMu(delta, mu float64, a Accountant) (Conversion, error) {
	if err := checkMu(mu); err != nil {
		return Conversion{}, err
	}
	c := Conversion{Delta: delta, Mu: mu, Rho: bigmath.RoundUp(bigmath.Half(bigmath.Square(mu))), Accountant: a}
	return c.withEpsilon(bigmath.Square(mu))
}

// ConvertDeltaRho does the same as ConvertDeltaMu for μ = √(2ρ), MinMu²/2 ≤ ρ ≤ MaxMu²/2. The μ of
// the result is rounded up.
func ConvertDeltaRho(delta, rho float64, a Accountant) (Conversion, error) {
	mu2, err := fromRho(rho)
	if err != nil {
		return Conversion{}, err
	}
	c := Conversion{Delta: delta, Mu: bigmath.RootUp(mu2), Rho: rho, Accountant: a}
	return c.withEpsilon(mu2)
}

func (c Conversion) withDelta(mu2 *big.Float) (Conversion, error) {
	if err := cmp.Or(checkEpsilon(c.Epsilon), c.Accountant.check()); err != nil {
		return Conversion{}, err
	}
	c.Delta = bigmath.RoundUp(deltaUpper(mu2, c.Epsilon, c.Accountant))
	return c, nil
}

func (c Conversion) withEpsilon(mu2 *big.Float) (Conversion, error) {
	if err := cmp.Or(CheckDelta(c.Delta), c.Accountant.check()); err != nil {
		return Conversion{}, err
	}
	c.Epsilon = epsilonUpper(mu2, c.Delta, c.Accountant)
	return c, nil
}

func fromRho(rho float64) (*big.Float, error) {
	if !(rho >= MinMu*MinMu/2 && rho <= MaxMu*MaxMu/2) {
		return nil, &units.RangeError{Parameter: "rho", Value: rho, Range: "between 5e-31 and 8388608"}
	}
	return bigmath.Zero().Mul(bigmath.New(rho), bigmath.New(2)), nil
}

func checkMu(mu float64) error {
	return units.Require(mu >= MinMu && mu <= MaxMu, "mu", mu, "between 1e-15 and 4096")
}
