package protected

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// furthest is how far below the best a score counts, in logarithms of likeliness: what is worse
// is as
// likely as this.
const furthest = 100

// rangeOf is the ε of a choice by the exponential mechanism that is μ-GDP: where no user moves the
// difference of two scores by more than r, choosing i with a probability in proportion to
// exp(ε·score_i/r) has likelihood ratios within [e^(t−ε), e^t] for some t in [0, ε], and is no
// easier to tell apart than N(0, 1) and N(μ, 1) with μ = 2·Φ⁻¹(1/(1 + e^(−ε/2))):
// docs/guarantee.md,
// section 10.
func rangeOf(mu float64) float64 {
	below := math.Erfc(mu/(2*math.Sqrt2)) / 2 // Φ(−μ/2)
	return 2 * (math.Log1p(-below) - math.Log(below)) * (1 - 1e-6)
}

// likeliness returns whole numbers in proportion to exp(ε·score/r); 1e-6 of ε is left for their
// rounding.
func likeliness(scores []float64, epsilon, r float64) []*big.Int {
	best := slices.Max(scores)
	out := make([]*big.Int, len(scores))
	for i, s := range scores {
		w := math.Exp(max(-furthest, epsilon*((s-best)/r)))
		out[i], _ = new(big.Float).SetMantExp(big.NewFloat(w), 200).Int(nil) // exact: e^−100 is above 2^−145
	}
	return out
}

// pick chooses one of some scores, of which no user moves the difference of two by more than r.
func (a *asker) pick(mu float64, scores []float64, r float64) int {
	a.n++
	epsilon := rangeOf(mu)
	weights, all := likeliness(scores, epsilon, r), new(big.Int)
	for _, w := range weights {
		all.Add(all, w)
	}
	digits := secret.Keyed(a.c.o.Key.Secret.Reveal(), "tollgate plan pick v1", a.id[:], fmt.Append(nil, a.n, epsilon, r), fmt.Append(nil, scores))
	at := new(big.Int).SetBytes(digits[:])
	at.Rsh(at.Mul(at, all), 8*uint(len(digits)))
	for i, w := range weights {
		if at.Sub(at, w); at.Sign() < 0 {
			return i
		}
	}
	return len(scores) - 1
}
