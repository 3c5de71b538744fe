package reference

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"

	"github.com/tollgate-dp/tollgate/state"
)

// Owner is the unit of privacy, an individual with an account of its own: a user in one budget period.
type Owner struct {
	ID     state.AccountID
	Period int64
}

func compareOwners(a, b Owner) int {
	if order := bytes.Compare(a.ID[:], b.ID[:]); order != 0 {
		return order
	}
	return cmp.Compare(a.Period, b.Period)
}

// Account is what one individual has lost: Spent in units of 2^-40, Keys in units of 2^-80.
type Account struct {
	Spent *big.Int
	Keys  *big.Int
}

// Charge is ⌈c²·u·2^-40⌉: what an individual who contributed c, of either sign, pays for a count released at precision u (units of
// 2^-80).
func Charge(c int64, u *big.Int) *big.Int {
	contribution := big.NewInt(c)
	product := new(big.Int).Mul(contribution, contribution)
	product.Mul(product, u)
	return ceilDiv(product, new(big.Int).Lsh(big.NewInt(1), 40))
}

// member is one individual's part in one turn: what was put aside, and where.
type member struct {
	owner Owner
	pairs []pairPart // in the order of the configuration
}

// pairPart is what an individual brings to one (metric, window) after clipping: at least one key.
type pairPart struct {
	metric   int
	counts   map[string]int64 // key → contribution
	records  uint64           // behind them
	admitted bool
	refusal  Refusal // why not
}

// worst is the hold: every contribution at the top of the ladder, and the user at the top of coverage's.
func (c Config) worst(p pairPart) *big.Int {
	sum := new(big.Int)
	for _, n := range p.counts {
		sum.Add(sum, Charge(n, c.Metrics[p.metric].Top.Big()))
	}
	if coverage, ok := c.coverageOf(p.metric); ok {
		sum.Add(sum, Charge(1, c.Metrics[coverage].Top.Big()))
	}
	return sum
}

// delta is what the private keys of a pair cost: each its δ_key. Keys that are public or taken from another metric cost nothing.
func (c Config) delta(p pairPart) *big.Int {
	spec := c.Metrics[p.metric]
	if spec.KeyMode != "private" {
		return new(big.Int)
	}
	return new(big.Int).Mul(big.NewInt(int64(len(p.counts))), spec.DeltaKey.Big())
}

// admit decides over all pairs of one individual in one turn, in the order of the configuration: each is held in full or skipped in
// full, and what is held, also since the turns before in the same span, counts against the pairs behind it. The δ of private keys is
// spent here and never comes back.
func (c Config) admit(account *Account, held *big.Int, m *member) {
	for i := range m.pairs {
		part := &m.pairs[i]
		hold := c.worst(*part)
		total := new(big.Int).Add(account.Spent, held)
		total.Add(total, hold)
		keys := new(big.Int).Add(account.Keys, c.delta(*part))
		part.refusal = Refusal{total.Cmp(c.Budget.Mu2) > 0, keys.Cmp(c.Budget.Keys) > 0}
		if part.refusal != (Refusal{}) {
			continue
		}
		part.admitted = true
		held.Add(held, hold)
		account.Keys = keys
	}
}

// settle charges what was drawn: the precision at which each (metric, key) stopped. A key that another metric did not release was
// not drawn and costs nothing; every other key was.
func (c Config) settle(account *Account, m *member, stopped map[metricKey]*big.Int) error {
	for _, part := range m.pairs {
		if !part.admitted {
			continue
		}
		for key, n := range part.counts {
			u, drawn := stopped[metricKey{part.metric, key}]
			if !drawn && c.Metrics[part.metric].KeyMode != "from" {
				return fmt.Errorf("metric %q drew nothing for a key with contributions", c.Metrics[part.metric].Name)
			}
			if drawn {
				account.Spent.Add(account.Spent, Charge(n, u))
			}
		}
		if coverage, ok := c.coverageOf(part.metric); ok {
			account.Spent.Add(account.Spent, Charge(1, stopped[metricKey{coverage, ""}]))
		}
	}
	return nil
}
