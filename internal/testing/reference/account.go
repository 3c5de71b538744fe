package reference

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/big"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Owner is the unit of privacy, an individual with an account of its own: a user in one budget
// period.
type Owner struct {
	ID     accounts.ID
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

// Charge returns ⌈c²·u·2^-40⌉: what an individual who contributed c, of either sign, pays for a
// count released at precision u (units of 2^-80).
func Charge(c int64, u *big.Int) *big.Int {
	contribution := big.NewInt(c)
	product := new(big.Int).Mul(contribution, contribution)
	product.Mul(product, u)
	return ceilDiv(product, new(big.Int).Lsh(big.NewInt(1), 40))
}

// member is one individual's part in one turn.
type member struct {
	owner Owner
	parts []windowPart // in the order of the configuration
}

// windowPart is what an individual contributes to one metric window after clipping: at least one
// key.
type windowPart struct {
	metric   int
	counts   map[string]int64   // key → contribution
	further  []map[string]int64 // by further component
	values   map[string][]int64 // of quantiles and histograms: key → clamped values
	records  uint64             // that they come from
	all      uint64             // of a share: the records of its metric
	admitted bool
	refusal  Refusal // why not
}

// worst returns the reservation: every contribution at the top of the ladder.
func (c Config) worst(p windowPart) *big.Int {
	sum := new(big.Int)
	for _, n := range p.counts {
		sum.Add(sum, Charge(n, c.Metrics[p.metric].Top.Big()))
	}
	for j, at := range c.FurtherOf(p.metric) {
		for _, n := range p.further[j] {
			sum.Add(sum, Charge(n, c.Metrics[at].Top.Big()))
		}
	}
	top := func(at int, _ string) *big.Int { return c.Metrics[at].Top.Big() }
	return sum.Add(sum, c.ChargeTrees(p.metric, p.values, top))
}

// delta returns what the private keys of a metric window cost: each its δ_key. Keys that are public
// or taken from another metric cost nothing.
func (c Config) delta(p windowPart) *big.Int {
	spec := c.Metrics[p.metric]
	if spec.KeyMode != "private" {
		return new(big.Int)
	}
	return new(big.Int).Mul(big.NewInt(int64(len(p.counts))), spec.DeltaKey.Big())
}

// admit decides over all metric windows of one individual in one turn, in the order of the
// configuration: each is reserved in full or skipped in full. What is reserved, also by the turns
// before in the same span, counts against the metric windows after it. The δ of private keys is
// spent here and never comes back.
func (c Config) admit(account *Account, reserved *big.Int, m *member) {
	for i := range m.parts {
		part := &m.parts[i]
		limit := c.Budget.Mu2
		if c.Metrics[part.metric].Kind == "counted" {
			c.divide(m, part)
		} else {
			limit = new(big.Int).Sub(limit, c.keptForShares())
		}
		worst := c.worst(*part)
		total := new(big.Int).Add(account.Spent, reserved)
		total.Add(total, worst)
		keys := new(big.Int).Add(account.Keys, c.delta(*part))
		part.refusal = Refusal{total.Cmp(limit) > 0, keys.Cmp(c.Budget.Keys) > 0}
		if part.refusal != (Refusal{}) {
			continue
		}
		part.admitted = true
		reserved.Add(reserved, worst)
		account.Keys = keys
	}
}

// divide sets what an individual brings to a share, now that it is decided about its metric.
func (c Config) divide(m *member, share *windowPart) {
	in := uint64(0)
	for _, part := range m.parts {
		if part.metric == c.countedIn(c.Metrics[share.metric]) && part.admitted {
			in = part.records
		}
	}
	maps.Copy(share.counts, Divide(share.all, in, share.records))
}

// Divide returns what an individual brings to the two keys of a share: of all events, in of which
// are counted, so many as are kept, in the same ratio, rounded to the nearest event: ⌊in·kept/all +
// ½⌋.
func Divide(all, in, kept uint64) map[string]int64 {
	counts := map[string]int64{}
	if kept == 0 {
		return counts
	}
	ratio := new(big.Rat).Mul(whole(in), whole(kept))
	counted := floor(ratio.Quo(ratio, whole(all)).Add(ratio, big.NewRat(1, 2))).Int64()
	for key, n := range map[string]int64{"counted": counted, "left_out": int64(kept) - counted} {
		if n > 0 {
			counts[key] = n
		}
	}
	return counts
}

// settle charges what was drawn: the precision at which each (metric, key) stopped. A key that
// another metric did not release was not drawn and costs nothing; every other key was.
func (c Config) settle(account *Account, m *member, stopped map[metricKey]*big.Int) error {
	for _, part := range m.parts {
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
		for j, at := range c.FurtherOf(part.metric) {
			for key, n := range part.further[j] {
				if u, drawn := stopped[metricKey{at, key}]; drawn {
					account.Spent.Add(account.Spent, Charge(n, u))
				}
			}
		}
		drawn := func(at int, cell string) *big.Int { return stopped[metricKey{at, cell}] }
		account.Spent.Add(account.Spent, c.ChargeTrees(part.metric, part.values, drawn))
	}
	return nil
}
