package budgets

import (
	"math/big"

	"github.com/tollgate-dp/tollgate/state/units"
)

// KeyDelta returns the probability that a private key may pass for a contribution of 1 to a first
// rung with precision u: the contribution's share of B² times δ_keys, rounded down to a multiple of
// 2^-80. A contribution c pays at least c² times as much, and may pass with c² times this δ. So an
// account pays for at most δ_keys, however it is spent.
func (b Budget) KeyDelta(u units.Precision) units.Delta {
	if b.Mu2 == 0 {
		return units.Delta{}
	}
	whole := new(big.Int).Lsh(new(big.Int).SetUint64(uint64(b.Mu2)), units.FinestBits-units.Mu2Bits)
	delta, err := units.DeltaFromBig(whole.Quo(new(big.Int).Mul(b.Keys.Big(), u.Big()), whole))
	if err != nil { // so precise that every key passes
		delta, _ = units.DeltaFromFloat(1)
	}
	return delta
}
