package reference

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"math/bits"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Owner is the unit of privacy, an individual with an account of its own: a user in one budget
// period.
type Owner struct {
	ID     accounts.ID
	Period int64
}

// Compare orders individuals.
func (o Owner) Compare(b Owner) int {
	return cmp.Or(bytes.Compare(o.ID[:], b.ID[:]), cmp.Compare(o.Period, b.Period))
}

// Account is what one individual has lost, in units of 2^-40, and the buckets of the metrics that
// have taken something.
type Account struct {
	Spent   int64
	Buckets []Bucket
}

// Bucket is a token bucket: what was in it when it was last refilled. Times are milliseconds since
// the individual's horizon began.
type Bucket struct {
	Metric      string
	Balance, At int64
}

// endless is above every budget and bucket, and what dearer things cost: two of them add up to an
// int64.
const endless = 1<<62 - 1

func plus(a, b int64) int64 { return min(a+b, endless) }

func (a Account) clone() Account { return Account{a.Spent, slices.Clone(a.Buckets)} }

// Elapsed returns how long an individual's budget period has lasted at a time or, without periods,
// the time since 1970.
func (c *Config) Elapsed(of Owner, millis int64) int64 {
	if c.Period != 0 {
		return millis - of.Period*c.Period
	}
	return millis
}

// paid returns what a bucket has been refilled with, had it always had room.
func paid(m *schemas.MetricSpec, elapsed int64) int128.Uint {
	high, low := bits.Mul64(uint64(max(elapsed, 0)), uint64(m.Refill))
	horizon := uint64(m.Horizon)
	low, _ = bits.Div64(high%horizon, low, horizon)
	return int128.Uint{Hi: high / horizon, Lo: low}
}

// BucketAt returns the bucket of a metric as it is after so long. A bucket that was never used is
// full.
func (a *Account) BucketAt(m *schemas.MetricSpec, elapsed int64) Bucket {
	full := Bucket{m.Name, int64(m.Burst), elapsed}
	i := a.bucket(m.Name)
	if i < 0 {
		return full
	}
	b := a.Buckets[i]
	refill, _ := paid(m, elapsed).Sub(paid(m, b.At))
	if missing := uint64(full.Balance - b.Balance); refill.Hi > 0 || refill.Lo >= missing {
		return full
	}
	return Bucket{m.Name, b.Balance + int64(refill.Lo), elapsed}
}

func (a *Account) bucket(metric string) int {
	return slices.IndexFunc(a.Buckets, func(b Bucket) bool { return b.Metric == metric })
}

// Available returns what a window of a metric may cost: what is left of the budget and, if the
// metric has a bucket, no more than is in it.
func (c *Config) Available(a *Account, metric int, elapsed int64) int64 {
	left := c.Budget - a.Spent
	if m := &c.Metrics[metric]; m.Burst != 0 {
		left = min(left, a.BucketAt(m, elapsed).Balance)
	}
	return left
}

// Take takes a price out of the account, and out of the bucket of the metric.
func (a *Account) Take(m *schemas.MetricSpec, elapsed, price int64) {
	a.Spent = plus(a.Spent, price)
	if m.Burst == 0 {
		return
	}
	b := a.BucketAt(m, elapsed)
	b.Balance -= price
	if i := a.bucket(m.Name); i >= 0 {
		a.Buckets[i] = b
	} else {
		a.Buckets = append(a.Buckets, b)
	}
}

// carry returns an account under the generation after another one: what was missing in a bucket
// when the change came is missing in the bucket that the metric has now.
func (c *Config) carry(before *Config, of Owner, a Account) Account {
	elapsed, carried := c.Elapsed(of, c.Since), Account{Spent: a.Spent}
	for _, b := range a.Buckets {
		was, _ := before.metric(b.Metric)
		now, kept := c.metric(b.Metric)
		if !kept || c.Metrics[now].Burst == 0 {
			continue
		}
		b = a.BucketAt(&before.Metrics[was], elapsed)
		b.Balance += int64(c.Metrics[now].Burst) - int64(before.Metrics[was].Burst)
		carried.Buckets = append(carried.Buckets, b)
	}
	return carried
}

// Charge returns ⌈c²·u·2^-40⌉: what an individual who contributed c, of either sign, pays for a
// count released at precision u (units of 2^-80).
func Charge(c int64, u units.Precision) int64 {
	n := uint64(max(c, -c)) // 2^63, too, if -c is c
	if n < 1<<32 {
		return chargeSquares(n*n, u)
	}
	product := bigOf(n)
	product.Mul(product, product).Mul(product, u.Big())
	product = ceilDiv(product, big.NewInt(1<<40))
	if !product.IsInt64() {
		return endless
	}
	return min(product.Int64(), endless)
}

// chargeSquares returns ⌈sum·u·2^-40⌉.
func chargeSquares(sum uint64, u units.Precision) int64 {
	over, high := bits.Mul64(sum, u.Hi)
	carry, low := bits.Mul64(sum, u.Lo)
	high, wrapped := bits.Add64(high, carry, 0)
	if over > 0 || wrapped > 0 || high >= 1<<38 {
		return endless
	}
	low, carry = bits.Add64(low, 1<<40-1, 0)
	return min(int64((high+carry)<<24|low>>40), endless)
}

// Member is one individual's part in one turn.
type Member struct {
	Owner Owner
	Parts []WindowPart // in the order of the configuration
	// Listed is for the caller, to note that it has seen the member.
	Listed bool
}

// Admitted reports whether a member is admitted to any window.
func (m *Member) Admitted() bool {
	return slices.ContainsFunc(m.Parts, func(p WindowPart) bool { return p.Admitted })
}

// WindowPart is what an individual contributes to one metric window: of an offer, as much as the
// account allows.
type WindowPart struct {
	Metric int
	offer  Offer  // but for shares
	all    uint64 // of a share: the records of its metric, and how many of them the cap keeps
	kept   uint64
	// available is what the window could cost when it was decided.
	available int64
	Contribution
}

// Price returns what a contribution costs at given precisions, 0 for what is not drawn.
func (c *Config) Price(metric int, b Contribution, precision func(metric int, key string) units.Precision) int64 {
	sum := int64(0)
	for _, k := range b.Keys {
		sum = plus(sum, Charge(k.Count, precision(metric, k.Key)))
		for j, at := range c.FurtherOf(metric) {
			sum = plus(sum, Charge(k.Further[j], precision(at, k.Key)))
		}
		sum = plus(sum, c.chargeTree(metric, k.Key, k.Values, precision))
	}
	return sum
}

// Top is the precision at which everything is reserved.
func (c *Config) Top(metric int, _ string) units.Precision { return c.Metrics[metric].Top }

// admit decides over all metric windows of one individual in one turn, in the order of the
// configuration. Everything that is reserved counts as spent for the metric windows after it.
func (c *Config) admit(account *Account, m *Member, elapsed int64) {
	for i := range m.Parts {
		part := &m.Parts[i]
		part.available = c.Available(account, part.Metric, elapsed)
		c.contributionOf(m, part)
		if part.Admitted {
			account.Take(&c.Metrics[part.Metric], elapsed, c.Price(part.Metric, part.Contribution, c.Top))
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
		if !part.Admitted || !slices.EqualFunc(part.Keys, want.Keys, KeyContribution.equal) {
			return false
		}
	}
	return true
}

// divide returns what an individual brings to a share, now that it is decided about its metric:
// everything or nothing.
func (c *Config) divide(m *Member, share WindowPart, available int64) Contribution {
	in := uint64(0)
	if part := m.Part(c.countedIn(&c.Metrics[share.Metric])); part != nil {
		in = part.Counted
	}
	return c.Divide(share.Metric, share.all, in, share.kept, available)
}

// Divide returns what an individual brings to the two keys of a share, or nothing if it costs more
// than is available: of all events, in of which are counted, so many as are kept, in the same
// ratio, rounded to the nearest event: ⌊in·kept/all + ½⌋.
func (c *Config) Divide(share int, all, in, kept uint64, available int64) Contribution {
	b := Contribution{Admitted: true, Counted: kept}
	if kept > 0 {
		product := bigOf(in)
		product.Mul(product.Lsh(product, 1), bigOf(kept)).Add(product, bigOf(all)) // (2·in·kept + all) / (2·all)
		counted := product.Quo(product, new(big.Int).Lsh(bigOf(all), 1)).Int64()
		for i, n := range []int64{counted, int64(kept) - counted} {
			if n > 0 {
				b.Keys = append(b.Keys, KeyContribution{Key: [...]string{"counted", "left_out"}[i], Count: n})
			}
		}
	}
	if c.Price(share, b, c.Top) > available {
		return Contribution{Beyond: kept}
	}
	return b
}

// settle charges what was drawn: the precision at which each (metric, key) stopped. A key that
// another metric did not release was not drawn and costs nothing; every other key was.
func (c *Config) settle(account *Account, m *Member, elapsed int64, stopped map[Cell]units.Precision) (err error) {
	for _, part := range m.Parts {
		if !part.Admitted {
			continue
		}
		spec := &c.Metrics[part.Metric]
		account.Take(spec, elapsed, c.Price(part.Metric, part.Contribution, func(at int, key string) units.Precision {
			u := stopped[Cell{at, key}]
			if u.IsZero() && at == part.Metric && spec.KeyMode != schemas.KeysFrom {
				err = fmt.Errorf("metric %q drew nothing for a key with contributions", spec.Name)
			}
			return u
		}))
	}
	return err
}
