package reference

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"math/bits"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
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

// Account is what one individual has lost, in units of 2^-40, and the buckets of the metrics that
// have taken something, by name.
type Account struct {
	Spent   *big.Int
	Buckets map[string]Bucket
}

// Bucket is a token bucket: what was in it when it was last refilled. Times are milliseconds since
// the individual's horizon began.
type Bucket struct {
	Balance *big.Int
	At      int64
}

func newAccount() Account { return Account{new(big.Int), map[string]Bucket{}} }

func (a Account) clone() Account { return Account{new(big.Int).Set(a.Spent), maps.Clone(a.Buckets)} }

// Elapsed returns how long an individual's budget period has lasted at a time or, without periods,
// the time since 1970.
func (c *Config) Elapsed(of Owner, millis int64) int64 {
	if c.Period != 0 {
		return millis - of.Period*c.Period
	}
	return millis
}

// paid returns what a bucket has been refilled with, had it always had room.
func paid(m *schemas.MetricSpec, elapsed int64) *big.Int {
	high, low := bits.Mul64(uint64(max(elapsed, 0)), uint64(m.Refill))
	if high < uint64(m.Horizon) {
		low, _ = bits.Div64(high, low, uint64(m.Horizon))
		return bigOf(low)
	}
	part := bigOf(high)
	part.Lsh(part, 64).Add(part, bigOf(low))
	return part.Quo(part, big.NewInt(m.Horizon))
}

// BucketAt returns the bucket of a metric as it is after so long. A bucket that was never used is
// full.
func (a Account) BucketAt(m schemas.MetricSpec, elapsed int64) Bucket {
	burst := bigOf(uint64(m.Burst))
	b, used := a.Buckets[m.Name]
	if !used {
		return Bucket{burst, elapsed}
	}
	balance := new(big.Int).Sub(paid(&m, elapsed), paid(&m, b.At))
	if balance.Add(balance, b.Balance); balance.Cmp(burst) > 0 {
		balance = burst
	}
	return Bucket{balance, elapsed}
}

// Available returns what a window of a metric may cost: what is left of the budget and, if the
// metric has a bucket, no more than is in it.
func (c *Config) Available(a Account, m schemas.MetricSpec, elapsed int64) *big.Int {
	left := new(big.Int).Sub(c.Budget.Mu2, a.Spent)
	if m.Burst == 0 {
		return left
	}
	if balance := a.BucketAt(m, elapsed).Balance; balance.Cmp(left) < 0 {
		return balance
	}
	return left
}

// Take takes a price out of the account, and out of the bucket of the metric.
func (a *Account) Take(m schemas.MetricSpec, elapsed int64, price *big.Int) {
	a.Spent = new(big.Int).Add(a.Spent, price)
	if m.Burst != 0 {
		b := a.BucketAt(m, elapsed)
		a.Buckets[m.Name] = Bucket{new(big.Int).Sub(b.Balance, price), elapsed}
	}
}

// carry returns an account under the generation after another one: what was missing in a bucket
// when the change came is missing in the bucket that the metric has now.
func (c *Config) carry(before *Config, of Owner, a Account) Account {
	elapsed := c.Elapsed(of, c.Since)
	buckets := map[string]Bucket{}
	for name := range a.Buckets {
		was, _ := before.metric(name)
		now, kept := c.metric(name)
		if !kept || c.Metrics[now].Burst == 0 {
			continue
		}
		balance := new(big.Int).Sub(a.BucketAt(before.Metrics[was], elapsed).Balance,
			bigOf(uint64(before.Metrics[was].Burst)))
		buckets[name] = Bucket{balance.Add(balance, bigOf(uint64(c.Metrics[now].Burst))), elapsed}
	}
	return Account{a.Spent, buckets}
}

// Charge returns ⌈c²·u·2^-40⌉: what an individual who contributed c, of either sign, pays for a
// count released at precision u (units of 2^-80).
func Charge(c int64, u *big.Int) *big.Int {
	product := big.NewInt(c)
	product.Mul(product, product).Mul(product, u)
	return ceilShift(product)
}

// Member is one individual's part in one turn.
type Member struct {
	Owner Owner
	Parts []WindowPart // in the order of the configuration
}

// WindowPart is what an individual contributes to one metric window: of an offer, as much as the
// account allows.
type WindowPart struct {
	Metric int
	offer  Offer  // but for shares
	all    uint64 // of a share: the records of its metric, and how many of them the cap keeps
	kept   uint64
	// available is what the window could cost when it was decided.
	available *big.Int
	Contribution
}

// Price returns what a contribution costs at given precisions, nil or 0 for what is not drawn.
func (c *Config) Price(metric int, b Contribution, precision func(metric int, key string) *big.Int) *big.Int {
	sum := new(big.Int)
	add := func(at int, counts map[string]int64) {
		for key, n := range counts {
			if u := precision(at, key); u != nil {
				sum.Add(sum, Charge(n, u))
			}
		}
	}
	add(metric, b.Counts)
	for j, at := range c.FurtherOf(metric) {
		add(at, b.Further[j])
	}
	return sum.Add(sum, c.ChargeTrees(metric, b.Values, precision))
}

// Top is the precision at which everything is reserved.
func (c *Config) Top(metric int, _ string) *big.Int {
	if c.tops != nil {
		return c.tops[metric]
	}
	return c.Metrics[metric].Top.Big()
}

// admit decides over all metric windows of one individual in one turn, in the order of the
// configuration. Everything that is reserved counts as spent for the metric windows after it.
func (c *Config) admit(account *Account, m *Member, elapsed int64) {
	for i := range m.Parts {
		part := &m.Parts[i]
		spec := c.Metrics[part.Metric]
		part.available = c.Available(*account, spec, elapsed)
		c.contributionOf(m, part)
		if part.Admitted {
			account.Take(spec, elapsed, c.Price(part.Metric, part.Contribution, c.Top))
		}
	}
}

// contributionOf works out what an individual brings to a window, from what is available.
func (c *Config) contributionOf(m *Member, part *WindowPart) {
	if c.Metrics[part.Metric].Kind == "counted" {
		part.Contribution = c.divide(m, *part, part.available)
	} else {
		part.Contribution = c.Fill(part.Metric, part.offer, part.available)
	}
}

// Part returns a member's part in a metric; nil if it has none.
func (m *Member) Part(metric int) *WindowPart {
	for i := range m.Parts {
		if m.Parts[i].Metric == metric {
			return &m.Parts[i]
		}
	}
	return nil
}

// Again works out for another member, which has some of the visits of m, whether it brings the same
// to all windows to which m is admitted; its parts are those.
func (m *Member) Again(c *Config, other *Member) bool {
	for i := range other.Parts {
		part := &other.Parts[i]
		want := m.Part(part.Metric)
		if slices.EqualFunc(part.offer.Keys, want.offer.Keys, OfferedKey.equal) && part.all == want.all {
			part.Contribution = want.Contribution // of the same offer
			continue
		}
		part.available = want.available
		c.contributionOf(other, part)
		if !part.Admitted || !maps.Equal(part.Counts, want.Counts) ||
			!slices.EqualFunc(part.Further, want.Further, maps.Equal[map[string]int64, map[string]int64]) ||
			!maps.EqualFunc(part.Values, want.Values, slices.Equal[[]int64]) {
			return false
		}
	}
	return true
}

// divide returns what an individual brings to a share, now that it is decided about its metric:
// everything or nothing.
func (c *Config) divide(m *Member, share WindowPart, available *big.Int) Contribution {
	in := uint64(0)
	for _, part := range m.Parts {
		if part.Metric == c.countedIn(c.Metrics[share.Metric]) {
			in = part.Counted
		}
	}
	b := Contribution{Admitted: true, Counts: Divide(share.all, in, share.kept), Counted: share.kept}
	if c.Price(share.Metric, b, c.Top).Cmp(available) > 0 {
		return Contribution{Beyond: share.kept}
	}
	return b
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
func (c *Config) settle(account *Account, m *Member, elapsed int64, stopped map[Cell]*big.Int) error {
	for _, part := range m.Parts {
		if !part.Admitted {
			continue
		}
		spec := c.Metrics[part.Metric]
		for key := range part.Counts {
			if stopped[Cell{part.Metric, key}] == nil && spec.KeyMode != "from" {
				return fmt.Errorf("metric %q drew nothing for a key with contributions", spec.Name)
			}
		}
		account.Take(spec, elapsed, c.Price(part.Metric, part.Contribution, func(at int, key string) *big.Int {
			return stopped[Cell{at, key}]
		}))
	}
	return nil
}
