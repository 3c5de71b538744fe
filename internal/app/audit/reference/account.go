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

// Owner is the unit of privacy: a user in one budget period, with an account of its own.
type Owner struct {
	ID     accounts.ID
	Period int64
}

// Compare orders individuals by ID and then by period.
func (o Owner) Compare(b Owner) int {
	return cmp.Or(bytes.Compare(o.ID[:], b.ID[:]), cmp.Compare(o.Period, b.Period))
}

// Account is the account of one individual.
type Account struct {
	Spent   int64    // the privacy loss so far, in units of 2^-40
	Buckets []Bucket // buckets of the metrics that have charged the account
}

// Bucket is a token bucket.
type Bucket struct {
	Metric  string
	Balance int64
	At      int64 // time of the balance, as returned by Config.Elapsed
}

// unaffordable is a price that no account can pay: it exceeds every budget and burst. Higher prices
// are lowered to it, so that the sum of two prices fits an int64.
const unaffordable = 1<<62 - 1

func addPrices(a, b int64) int64 { return min(a+b, unaffordable) }

func (a Account) clone() Account { return Account{a.Spent, slices.Clone(a.Buckets)} }

// Elapsed returns the time since an individual's budget period began, or since 1970 without
// periods.
func (c *Config) Elapsed(owner Owner, millis int64) int64 {
	if c.Period != 0 {
		return millis - owner.Period*c.Period
	}
	return millis
}

// paid returns ⌊elapsed·refill/horizon⌋, the amount that flows into a metric's buckets within the
// elapsed time if they never become full.
func paid(m *schemas.MetricSpec, elapsed int64) int128.Uint {
	high, low := bits.Mul64(uint64(max(elapsed, 0)), uint64(m.Refill))
	horizon := uint64(m.Horizon)
	low, _ = bits.Div64(high%horizon, low, horizon)
	return int128.Uint{Hi: high / horizon, Lo: low}
}

// BucketAt returns the account's bucket of a metric at a time. An unused bucket is full.
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

// Available returns the most that a window of a metric may cost: the rest of the budget or, if the
// metric has a bucket with a lower balance, that balance.
func (c *Config) Available(a *Account, metric int, elapsed int64) int64 {
	left := c.Budget - a.Spent
	if m := &c.Metrics[metric]; m.Burst != 0 {
		left = min(left, a.BucketAt(m, elapsed).Balance)
	}
	return left
}

// Pay charges a price to the account and to the metric's bucket.
func (a *Account) Pay(m *schemas.MetricSpec, elapsed, price int64) {
	a.Spent = addPrices(a.Spent, price)
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

// carry converts an account of the previous generation to this one. A metric's new bucket is as far
// below its burst as the old bucket was below its own burst when the generation changed.
func (c *Config) carry(before *Config, owner Owner, a Account) Account {
	elapsed, carried := c.Elapsed(owner, c.Since), Account{Spent: a.Spent}
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

// Charge returns ⌈c²·u·2^-40⌉, the price of a contribution c, of either sign, to a count released
// at precision u (units of 2^-80).
func Charge(c int64, u units.Precision) int64 {
	n := uint64(max(c, -c)) // also right for the least int64: 2^63
	if n < 1<<32 {
		return chargeSquares(n*n, u)
	}
	product := bigOf(n)
	product.Mul(product, product).Mul(product, u.Big())
	product = ceilDiv(product, big.NewInt(1<<40))
	if !product.IsInt64() {
		return unaffordable
	}
	return min(product.Int64(), unaffordable)
}

// chargeSquares returns ⌈sum·u·2^-40⌉.
func chargeSquares(sum uint64, u units.Precision) int64 {
	over, high := bits.Mul64(sum, u.Hi)
	carry, low := bits.Mul64(sum, u.Lo)
	high, wrapped := bits.Add64(high, carry, 0)
	if over > 0 || wrapped > 0 || high >= 1<<38 {
		return unaffordable
	}
	low, carry = bits.Add64(low, 1<<40-1, 0)
	return min(int64((high+carry)<<24|low>>40), unaffordable)
}

// Member is one individual's part in one turn.
type Member struct {
	Owner  Owner
	Parts  []WindowPart // in the order of the configuration
	Listed bool         // set by the caller once it has found the member in the ledger
}

// Admitted reports whether a member is admitted to any window.
func (m *Member) Admitted() bool {
	return slices.ContainsFunc(m.Parts, func(p WindowPart) bool { return p.Admitted })
}

// WindowPart is an individual's part in one metric window: the offer, and the contribution that the
// account can pay for.
type WindowPart struct {
	Metric    int
	offer     Offer  // empty for a share
	events    uint64 // for a share: the records of its metric
	kept      uint64 // for a share: the records that the cap keeps
	available int64  // the most that the window could cost when the contribution was decided
	Contribution
}

// Price returns the price of a contribution. precision returns the precision of a key's draw, or 0
// if the key was not drawn.
func (c *Config) Price(metric int, b Contribution, precision func(metric int, key string) units.Precision) int64 {
	sum := int64(0)
	for _, k := range b.Keys {
		sum = addPrices(sum, Charge(k.Count, precision(metric, k.Key)))
		for j, extra := range c.ExtraOf(metric) {
			sum = addPrices(sum, Charge(k.Extra[j], precision(extra, k.Key)))
		}
		sum = addPrices(sum, c.chargeTree(metric, k.Key, k.Values, precision))
	}
	return sum
}

// Top returns the precision that determines reserved prices.
func (c *Config) Top(metric int, _ string) units.Precision { return c.Metrics[metric].Top }

// admit decides whether one individual is admitted to each metric window of a turn, in the order of
// the configuration. A reserved price counts as spent for later windows.
func (c *Config) admit(account *Account, m *Member, elapsed int64) {
	for i := range m.Parts {
		part := &m.Parts[i]
		part.available = c.Available(account, part.Metric, elapsed)
		c.contributionOf(m, part)
		if part.Admitted {
			account.Pay(&c.Metrics[part.Metric], elapsed, c.Price(part.Metric, part.Contribution, c.Top))
		}
	}
}

// contributionOf computes the contribution to a window from the available amount.
func (c *Config) contributionOf(m *Member, part *WindowPart) {
	if c.Metrics[part.Metric].Kind == "counted" {
		part.Contribution = c.divide(m, *part, part.available)
	} else {
		part.Contribution = c.Fill(part.Metric, part.offer, part.available)
	}
}

// Part returns a member's part in a metric's window, or nil if the member has none.
func (m *Member) Part(metric int) *WindowPart {
	for i := range m.Parts {
		if m.Parts[i].Metric == metric {
			return &m.Parts[i]
		}
	}
	return nil
}

// Matches computes the contributions of other and reports whether they equal those of m. other is
// the same individual with some of m's visits, and has a part in each window to which m is
// admitted.
func (m *Member) Matches(c *Config, other *Member) bool {
	for i := range other.Parts {
		part := &other.Parts[i]
		want := m.Part(part.Metric)
		if slices.EqualFunc(part.offer.Keys, want.offer.Keys, OfferedKey.equal) && part.events == want.events {
			part.Contribution = want.Contribution // the same offer leads to the same contribution
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

// divide returns a member's contribution to a share. The contribution to the metric whose events
// the share divides must be decided before.
func (c *Config) divide(m *Member, share WindowPart, available int64) Contribution {
	included := uint64(0)
	if part := m.Part(c.countedIn(&c.Metrics[share.Metric])); part != nil {
		included = part.Counted
	}
	return c.Divide(share.Metric, share.events, included, share.kept, available)
}

// Divide returns an individual's contribution to the two keys of a share, or none if the
// contribution costs more than is available. events is the number of the individual's events,
// included the number of events that the base metric counts, and kept the number that the share's
// cap keeps. The key "counted" receives ⌊included·kept/events + ½⌋ of the kept events: the base
// metric's ratio, to the nearest event.
func (c *Config) Divide(metric int, events, included, kept uint64, available int64) Contribution {
	b := Contribution{Admitted: true, Counted: kept}
	if kept > 0 {
		product := bigOf(included)
		// (2·included·kept + events) / (2·events)
		product.Mul(product.Lsh(product, 1), bigOf(kept)).Add(product, bigOf(events))
		counted := product.Quo(product, new(big.Int).Lsh(bigOf(events), 1)).Int64()
		for i, n := range []int64{counted, int64(kept) - counted} {
			if n > 0 {
				b.Keys = append(b.Keys, KeyContribution{Key: [...]string{"counted", "left_out"}[i], Count: n})
			}
		}
	}
	if c.Price(metric, b, c.Top) > available {
		return Contribution{Beyond: kept}
	}
	return b
}

// settle charges a member for the precision at which each (metric, key) stopped. Every key was
// drawn, except a key that a metric takes from another metric that did not release it. Such a key
// costs nothing.
func (c *Config) settle(account *Account, m *Member, elapsed int64, stopped map[Cell]units.Precision) (err error) {
	for _, part := range m.Parts {
		if !part.Admitted {
			continue
		}
		spec := &c.Metrics[part.Metric]
		account.Pay(spec, elapsed, c.Price(part.Metric, part.Contribution, func(i int, key string) units.Precision {
			u := stopped[Cell{i, key}]
			if u.IsZero() && i == part.Metric && spec.KeyMode != schemas.KeysFrom {
				err = fmt.Errorf("metric %q has no draw for a key with contributions", spec.Name)
			}
			return u
		}))
	}
	return err
}
