package noisereduction

import (
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/state/units"
)

// threshold decides whether a private key is released.
type threshold struct {
	limit    *big.Int // in units of 2^-exponent: a key passes iff y₁ > limit
	exponent uint
}

// newThreshold returns the greatest τ(c) = ⌈c + σ₁·z(c²·δ)⌉ over all contributions c from 1 to C,
// rounded up to the lattice of the first rung. Here z(p) = −Φ⁻¹(p), δ = DeltaKey, and σ₁ is the
// sampler's standard deviation. A key with a single contribution c, from one user, passes with
// probability P(c + σ₁·Z > τ) ≤ c²·δ. (If y₁ is rounded to the lattice, no probability moves from
// below τ to above it: y₁ > τ implies y₁ ≥ τ + one step, so the unrounded y exceeds τ.)
//
// It is enough to check c = 1 and c = C, because τ(c) is convex (docs/guarantee.md, section 4).
func newThreshold(first units.Precision, private Private) *threshold {
	exponent := latticeExponent(first)
	limit := limitOf(first, private.DeltaKey, 1, exponent)
	if l := limitOf(first, private.DeltaKey, private.Contribution, exponent); l.Cmp(limit) > 0 {
		limit = l
	}
	return &threshold{limit: limit, exponent: exponent}
}

// limitOf returns τ(c) in units of 2^-exponent. perKey is DeltaKey.
func limitOf(first units.Precision, perKey units.Delta, c uint64, exponent uint) *big.Int {
	q, t := scaledDeviation(first, exponent)
	count := new(big.Int).SetUint64(c)
	delta := new(big.Int).Mul(perKey.Big(), count)
	z := upperQuantile(shifted(new(big.Rat).SetInt(delta.Mul(delta, count)), -precisionBits))
	distance := new(big.Rat).SetInt(z.Mul(z, new(big.Int).SetUint64(q)))
	limit := ceil(shifted(distance, -int(t)-quantileBits))
	return limit.Add(limit, count.Lsh(count, exponent))
}

// Threshold returns τ, which a private key's first noisy count must exceed; -Inf for public keys.
func (p *Plan) Threshold() float64 {
	if p.threshold == nil {
		return math.Inf(-1)
	}
	limit, _ := new(big.Float).SetInt(p.threshold.limit).Float64()
	return math.Ldexp(limit, -int(p.threshold.exponent))
}
