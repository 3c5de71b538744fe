package reference

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/schemas"
)

// Visit is one record of one individual, with the fields that a metric uses.
type Visit struct {
	Key    string
	Value  int64
	Record schemas.RecordID
}

// Offer is the contribution that one individual would make to one metric window if the account
// could pay for all of it. It consists of the keys and records that the caps keep.
type Offer struct {
	Keys []OfferedKey // in the order of their ranks
	// Beyond counts the records beyond the caps.
	Beyond uint64
}

// OfferedKey sums up the records of one key.
type OfferedKey struct {
	Key     string
	Total   int128.Int // a number of events, 1 for a user, or a signed total
	Records uint64
	Values  []int64 // clamped values, in the order in which records are chosen
}

func (o OfferedKey) equal(other OfferedKey) bool {
	return o.Key == other.Key && o.Records == other.Records && o.Total == other.Total &&
		slices.Equal(o.Values, other.Values)
}

// size returns |Total| or, if that does not fit, an amount that no account can pay for.
func (o *OfferedKey) size() int64 {
	if n := o.Total.Abs(); n.Hi == 0 && n.Lo < math.MaxInt64 {
		return int64(n.Lo)
	}
	return math.MaxInt64
}

// Contribution is the contribution of one individual to one metric window.
type Contribution struct {
	Admitted bool
	Keys     []KeyContribution
	Counted  uint64 // number of offered records that count
	Beyond   uint64 // number of offered records beyond the allowance
}

// KeyContribution is the contribution to one key.
type KeyContribution struct {
	Key    string
	Count  int64   // a number of events, 1 for a user, or a signed total
	Extra  []int64 // sums of the chosen values, by additional component
	Values []int64 // for quantiles and histograms: the chosen values
}

func (k KeyContribution) equal(o KeyContribution) bool {
	return k.Key == o.Key && k.Count == o.Count && slices.Equal(k.Extra, o.Extra) && slices.Equal(k.Values,
		o.Values)
}

// selectsRecords reports whether a kind selects records one by one, by their ranks.
func selectsRecords(kind string) bool { return hasTree(kind) || components(kind) != nil }

// Offer applies the caps: the MaxKeysPerUser keys with the least ranks stay, each with
// MaxEventsPerKey records. 0 means no cap.
func (c *Config) Offer(h *schemas.Hasher, metric int, owner Owner, visits []Visit) Offer {
	spec := &c.Metrics[metric]
	if len(visits) == 1 { // every cap permits one record
		return Offer{Keys: []OfferedKey{offerOfKey(h, spec, owner, visits)}}
	}
	byKey := map[string][]Visit{}
	for _, v := range visits {
		byKey[v.Key] = append(byKey[v.Key], v)
	}
	name := cmp.Or(spec.KeysFrom, spec.Name) // a metric that takes its keys from another one keeps the same keys
	keys := leastFirst(slices.Sorted(maps.Keys(byKey)), func(key string) [16]byte {
		return h.ClipRank(name, owner.ID, owner.Period, []byte(key))
	})
	var offer Offer
	for i, key := range keys {
		if n := uint64(len(byKey[key])); spec.MaxKeysPerUser > 0 && i >= int(spec.MaxKeysPerUser) {
			offer.Beyond += n
		} else {
			o := offerOfKey(h, spec, owner, byKey[key])
			offer.Beyond += n - o.Records
			offer.Keys = append(offer.Keys, o)
		}
	}
	return offer
}

// offerOfKey sums up the records of one kept key.
func offerOfKey(h *schemas.Hasher, spec *schemas.MetricSpec, owner Owner, visits []Visit) OfferedKey {
	o := OfferedKey{Key: visits[0].Key, Total: int128.Int{Lo: 1}, Records: uint64(len(visits))}
	if spec.Kind == "distinct_users" {
		return o
	}
	if spec.MaxEventsPerKey > 0 {
		o.Records = min(o.Records, uint64(spec.MaxEventsPerKey))
	}
	o.Total.Lo = o.Records
	if spec.Kind != "sum" && !selectsRecords(spec.Kind) {
		return o
	}
	visits = leastFirst(visits, func(v Visit) [16]byte {
		return h.RecordRank(spec.Name, owner.ID, owner.Period, v.Record)
	})
	var sum int128.Int
	for _, v := range visits[:o.Records] {
		if spec.Kind != "sum" || spec.Min != 0 || spec.Max != 0 { // a sum may have no range
			v.Value = min(max(v.Value, spec.Min), spec.Max)
		}
		o.Values = append(o.Values, v.Value)
		sum = sum.Add(v.Value)
	}
	if spec.Kind == "sum" {
		o.Total = sum
	}
	return o
}

// Fill chooses the part of an offer that counts. It caps all keys at m, the greatest common cap
// that the account can pay for. Then, in the order of ranks, each key with a total above m is
// raised to m + 1 if the remaining amount pays for it. A user without contribution is not admitted.
func (c *Config) Fill(metric int, offer Offer, available int64) Contribution {
	largest := int64(0)
	for i := range offer.Keys {
		largest = max(largest, offer.Keys[i].size())
	}
	cost := func(m int64) (sum int64) {
		for i := range offer.Keys {
			o := &offer.Keys[i]
			sum = addPrices(sum, c.priceOf(metric, o, min(m, o.size())))
		}
		return sum
	}
	m := largest
	if cost(m) > available { // bisection: m lies in [0, largest)
		m = 0
		for unpayable := largest; unpayable-m > 1; {
			if middle := m + (unpayable-m)/2; cost(middle) <= available {
				m = middle
			} else {
				unpayable = middle
			}
		}
	}
	b := Contribution{Keys: make([]KeyContribution, 0, len(offer.Keys))}
	remaining := available - cost(m)
	for i := range offer.Keys {
		o := &offer.Keys[i]
		n := min(m, o.size())
		if o.size() > m {
			if extra := c.priceOf(metric, o, m+1) - c.priceOf(metric, o, n); extra <= remaining {
				n, remaining = m+1, remaining-extra
			}
		}
		c.contribute(metric, &b, o, n)
	}
	return b
}

// priceOf returns the highest possible price of n of a key's total. If the kind selects records,
// each component costs as much as the most expensive prefix of the first n records.
func (c *Config) priceOf(metric int, o *OfferedKey, n int64) int64 {
	sum := Charge(n, c.Top(metric, ""))
	if !selectsRecords(c.Metrics[metric].Kind) {
		return sum
	}
	first, kinds := o.Values[:n], c.ComponentsOf(metric)
	for j, extra := range c.ExtraOf(metric) {
		highest := int64(0)
		for i := range first {
			highest = max(highest, Charge(component(kinds[j], c.Metrics[metric], first[:i+1]), c.Top(extra, "")))
		}
		sum = addPrices(sum, highest)
	}
	return addPrices(sum, c.chargeTree(metric, o.Key, first, c.Top))
}

// contribute adds n of a key's total to a contribution.
func (c *Config) contribute(metric int, b *Contribution, o *OfferedKey, n int64) {
	if n == 0 && o.Total != (int128.Int{}) {
		b.Beyond += o.Records
		return
	}
	b.Admitted = true
	k := KeyContribution{Key: o.Key, Count: n}
	if o.Total.Hi < 0 {
		k.Count = -n
	}
	counted := o.Records
	if all := o.Total.Abs(); all != (int128.Uint{Lo: uint64(n)}) { // records count in proportion to the total
		part := new(big.Int).Mul(big.NewInt(n), bigOf(o.Records))
		counted = part.Quo(part, all.Big()).Uint64()
	}
	b.Counted += counted
	b.Beyond += o.Records - counted
	if selectsRecords(c.Metrics[metric].Kind) {
		for _, kind := range c.ComponentsOf(metric) {
			k.Extra = append(k.Extra, component(kind, c.Metrics[metric], o.Values[:n]))
		}
		if hasTree(c.Metrics[metric].Kind) {
			k.Values = o.Values[:n]
		}
	}
	b.Keys = append(b.Keys, k)
}

// component returns the sum that the clamped values add to an additional component.
func component(kind string, spec schemas.MetricSpec, values []int64) (sum int64) {
	for _, v := range values {
		switch kind {
		case "mean_events":
			sum++
		case "mean_offset":
			sum += 2*v - spec.Min - spec.Max
		case "mean_square": // 2d² − (max − min)², where d = 2v − min − max
			sum += 8*v*v - 8*v*(spec.Min+spec.Max) + 2*(spec.Min+spec.Max)*(spec.Min+spec.Max) -
				(spec.Max-spec.Min)*(spec.Max-spec.Min)
		}
	}
	return sum
}

// leastFirst sorts all in place by ascending rank. The sort is stable.
func leastFirst[T any](all []T, rank func(T) [16]byte) []T {
	type ranked struct {
		item T
		rank [16]byte
	}
	if len(all) < 2 {
		return all
	}
	list := make([]ranked, len(all))
	for i, item := range all {
		list[i] = ranked{item, rank(item)}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return bytes.Compare(a.rank[:], b.rank[:]) })
	for i, r := range list {
		all[i] = r.item
	}
	return all
}

// HasKey reports whether a key belongs to a metric: every key does, unless the metric has a list of
// public keys.
func HasKey(spec *schemas.MetricSpec, key string) bool {
	return spec.KeyMode != "public" ||
		slices.ContainsFunc(spec.PublicKeys, func(public []byte) bool { return string(public) == key })
}

// greatestTotal returns c_max, the most that one individual can add to one key under the caps.
func greatestTotal(m schemas.MetricSpec) *big.Int {
	events := big.NewInt(cmp.Or(int64(m.MaxEventsPerKey), schemas.MostEvents))
	span := new(big.Int).Sub(big.NewInt(m.Max), big.NewInt(m.Min))
	switch m.Kind {
	case "distinct_users", "quantile", "bucket_share":
		return big.NewInt(1)
	case "sum":
		bound := new(big.Int).Neg(big.NewInt(m.Min))
		if most := big.NewInt(m.Max); bound.CmpAbs(most) < 0 {
			bound = most
		}
		return events.Mul(events, bound.Abs(bound))
	case "events", "mean", "variance", "standard_deviation", "quantiles", "quantile_nodes", "quantile_log_nodes",
		"histogram", "histogram_buckets", "mean_events", "counted":
		return events
	case "mean_offset":
		return events.Mul(events, span)
	case "mean_square":
		return events.Mul(events, span.Mul(span, span))
	}
	return new(big.Int) // a kind that is not computed here
}

// greatestPayable returns the most that one individual can add to one key, under the caps and, if
// the metric has an allowance, from a full bucket.
func greatestPayable(m schemas.MetricSpec) *big.Int {
	total := greatestTotal(m)
	if m.Burst > 0 {
		paid := new(big.Int).Lsh(bigOf(uint64(m.Burst)), 40)
		root := paid.Sqrt(paid.Div(paid, m.Top.Big()))
		if root.Sign() == 0 {
			root.SetInt64(1)
		}
		if root.Cmp(total) < 0 {
			return root
		}
	}
	return total
}
