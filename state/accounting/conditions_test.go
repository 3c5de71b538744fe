package accounting_test

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// The conditions of the theorems with formulas in them, evaluated in 384 bits in the form of the
// papers rather than of the filters.

// impliesSimply returns the condition ε ≥ ρ + 2·√(ρ·ln 1/δ') for δ' = δ − approximate, and Σ δ_i ≤
// approximate: Rogers et al. 2023, Theorem 2; without approximate, Feldman and
// Zrnic, Theorem 4.9 with Fact 2.4.
func impliesSimply(p loss.Approx, approximate float64) func([]*big.Float) bool {
	rest := new(big.Float).SetPrec(exactBits).Sub(exact(p.Delta), exact(approximate))
	l := bigmath.Log(new(big.Float).SetPrec(bigmath.Bits).Set(rest))
	l.Neg(l)
	return func(sums []*big.Float) bool {
		epsilon := bigmath.Zero().Mul(sums[0], l)
		epsilon.Sqrt(epsilon)
		epsilon.Mul(epsilon, bigmath.New(2))
		epsilon.Add(epsilon, sums[0])
		if epsilon.Cmp(exact(p.Epsilon)) > 0 {
			return false
		}
		return len(sums) == 1 || sums[1].Cmp(exact(approximate)) <= 0
	}
}

// least is the μ² below which no promise here is in danger.
var least = exact(0x1p-100)

// impliesGaussian is δ ≥ Φ(−ε/μ + μ/2) − e^ε·Φ(−ε/μ − μ/2) at the root of the sum.
func impliesGaussian(p loss.Approx) func([]*big.Float) bool {
	return func(sums []*big.Float) bool {
		if sums[0].Cmp(least) < 0 {
			return true
		}
		delta := bigmath.GaussianDelta(bigmath.Zero().Set(sums[0]), bigmath.New(p.Epsilon))
		return delta.Cmp(bigmath.New(p.Delta)) <= 0
	}
}

// advancedAddends returns ε(e^ε − 1)/2 and ε² for the ε of a loss, and its δ as it is.
func advancedAddends(x float64, i int) []*big.Float {
	if i == 1 {
		return asIs(x, i)
	}
	return []*big.Float{excess(x), square(x)}
}

func excess(x float64) *big.Float {
	if x == 0 {
		return exact(0)
	}
	if x > 1e6 {
		return exact(math.Inf(1))
	}
	v := bigmath.Exp(bigmath.New(x))
	v.Sub(v, bigmath.New(1))
	if x < 0x1p-60 { // e^x − 1 cancels; x + x² is above it
		v.Add(bigmath.New(x), bigmath.Square(x))
	}
	v.Mul(v, bigmath.New(x))
	return v.Mul(v, bigmath.New(0.5)).SetPrec(exactBits)
}

// advancedCondition returns the condition of Rogers et al. 2016, Theorem 5.1, on Σ
// ε(e^ε − 1)/2, Σ ε² and Σ δ.
func advancedCondition(p loss.Approx) func([]*big.Float) bool {
	return func(sums []*big.Float) bool {
		if sums[2].Cmp(exact(p.Delta/2)) > 0 {
			return false
		}
		return advancedEpsilon(p, sums[0], sums[1]).Cmp(bigmath.New(p.Epsilon)) <= 0
	}
}

func advancedEpsilon(p loss.Approx, excess, squares *big.Float) *big.Float {
	l1 := bigmath.Log(bigmath.New(p.Delta))
	l1.Neg(l1)
	l2 := bigmath.Zero().Add(l1, bigmath.Log(bigmath.New(2)))
	factor, _ := bigmath.Zero().SetString("28.04")
	factor.Mul(factor, l1) // 28.04·ln 1/δ

	beta := bigmath.Zero().Quo(bigmath.Square(p.Epsilon), factor)
	inner := bigmath.Zero().Quo(bigmath.Zero().Mul(factor, squares), bigmath.Square(p.Epsilon))
	inner = bigmath.Log(inner.Add(inner, bigmath.New(1)))
	inner.Mul(inner, bigmath.New(0.5))
	inner.Add(inner, bigmath.New(1))

	root := bigmath.Zero().Add(squares, beta)
	root.Mul(root, bigmath.New(2))
	root.Mul(root, inner)
	root.Mul(root, l2)
	root.Sqrt(root)
	return root.Add(root, excess)
}
