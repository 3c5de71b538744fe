package noisereduction

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/state/units"
)

// threshold decides whether a private key exists in the public record.
type threshold struct {
	limit    *big.Int // in units of 2^-exponent: pass iff y₁ > limit
	exponent uint
}

// newThreshold returns τ = ⌈C + σ₁·z⌉ up to the lattice of the first rung,
// z = −Φ⁻¹(δ_key) and σ₁ the deviation that the sampler uses. A key to which
// only one user contributes has a count of at most C, so that it passes with
// probability at most P(C + σ₁·Z > τ) ≤ δ_key. (Rounding y₁ to the lattice
// moves no mass across a lattice point from below τ to above it: y₁ > τ
// implies y₁ ≥ τ + one step, so the unrounded y exceeds τ.)
func newThreshold(first units.Precision, private Private) *threshold {
	exponent := latticeExponent(first)
	q, t := scaledDeviation(first, exponent)
	delta := new(big.Rat).SetInt(private.DeltaKey.Big())
	z := upperQuantile(shifted(delta, -precisionBits))
	distance := new(big.Rat).SetInt(z.Mul(z, new(big.Int).SetUint64(q)))
	limit := ceil(shifted(distance, -int(t)-quantileBits))
	count := new(big.Int).SetUint64(private.Contribution)
	return &threshold{limit: limit.Add(limit, count.Lsh(count, exponent)), exponent: exponent}
}

// Threshold returns τ: a private key is released iff its first noisy count
// exceeds it. -Inf for public keys.
func (p *Plan) Threshold() float64 {
	if p.threshold == nil {
		return math.Inf(-1)
	}
	limit, _ := new(big.Float).SetInt(p.threshold.limit).Float64()
	return math.Ldexp(limit, -int(p.threshold.exponent))
}
