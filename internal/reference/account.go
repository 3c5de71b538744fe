package reference

import (
	"math/big"

	"github.com/tollgate-dp/tollgate/state"
)

// Account is what one user has lost: Spent in units of 2^-40, Keys in units of 2^-80.
type Account struct {
	Spent *big.Int
	Keys  *big.Int
}

// Charge is ⌈c²·u·2^-40⌉: what a user who contributed c pays for a count released at precision u (units of 2^-80).
func Charge(c uint64, u *big.Int) *big.Int {
	contribution := new(big.Int).SetUint64(c)
	product := new(big.Int).Mul(contribution, contribution)
	product.Mul(product, u)
	return ceilDiv(product, new(big.Int).Lsh(big.NewInt(1), 40))
}

// member is one user's part in one turn: what was put aside, and where.
type member struct {
	id    state.AccountID
	pairs []pairPart // in the order of the configuration
}

// pairPart is what a user brings to one (metric, window) after clipping.
type pairPart struct {
	metric   int
	counts   map[string]uint64 // key → contribution
	admitted bool
}

// worst is the hold: every contribution at the top of the ladder.
func (p pairPart) worst(top *big.Int) *big.Int {
	sum := new(big.Int)
	for _, c := range p.counts {
		sum.Add(sum, Charge(c, top))
	}
	return sum
}

// admit decides over all pairs of one user in one turn, in the order of the configuration: each is held in full or skipped in
// full, and what is held counts against the pairs behind it. The δ of private keys is spent here and never comes back.
func (c Config) admit(account *Account, m *member) {
	held := new(big.Int)
	for i := range m.pairs {
		part := &m.pairs[i]
		spec := c.Metrics[part.metric]
		hold := part.worst(spec.Top.Big())
		delta := new(big.Int)
		if spec.KeyMode == "private" {
			delta.Mul(big.NewInt(int64(len(part.counts))), spec.DeltaKey.Big())
		}
		total := new(big.Int).Add(account.Spent, held)
		total.Add(total, hold)
		keys := new(big.Int).Add(account.Keys, delta)
		if total.Cmp(c.Budget.Mu2) > 0 || keys.Cmp(c.Budget.Keys) > 0 {
			continue
		}
		part.admitted = true
		held.Add(held, hold)
		account.Keys = keys
	}
}

// settle charges what was released: the precision at which each (metric, key) stopped.
func settle(account *Account, m *member, stopped map[metricKey]*big.Int) {
	for _, part := range m.pairs {
		if !part.admitted {
			continue
		}
		for key, c := range part.counts {
			account.Spent.Add(account.Spent, Charge(c, stopped[metricKey{part.metric, key}]))
		}
	}
}
