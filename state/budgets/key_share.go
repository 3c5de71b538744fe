package budgets

import (
	"math/big"

	"github.com/tollgate-dp/tollgate/state/units"
)

// KeyDelta returns the largest permitted probability that a private key is released because of a
// contribution of 1 to a first rung with precision u. It is the contribution's share of B² times
// δ_keys, rounded down to a multiple of 2^-80. For a contribution c, the charge is at least c²
// times as large, and the probability may be c² times as large. So an account pays for at most
// δ_keys in total, however it is spent.
func (b Budget) KeyDelta(u units.Precision) units.Delta {
	if b.Mu2 == 0 {
		return units.Delta{}
	}
	whole := new(big.Int).Lsh(new(big.Int).SetUint64(uint64(b.Mu2)), units.FinestBits-units.Mu2Bits)
	delta, err := units.DeltaFromBig(whole.Quo(new(big.Int).Mul(b.Keys.Big(), u.Big()), whole))
	if err != nil { // u is so precise that every key may be released
		delta, _ = units.DeltaFromFloat(1)
	}
	return delta
}
