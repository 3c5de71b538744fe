package reference

import (
	"bytes"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Visit is one record of one individual as a metric sees it.
type Visit struct {
	Key    string
	Value  int64
	Record schemas.RecordID
}

// Offer is what one individual would contribute to one metric window if everything could be paid
// for: the keys and records that the caps keep.
type Offer struct {
	Keys []OfferedKey // in the order of their ranks
	// Beyond counts the records beyond the caps.
	Beyond uint64
}

// OfferedKey is what the records of one key come to: a number of events, 1 for a user, or a signed
// total; Values are the clamped values in the order in which records are chosen.
type OfferedKey struct {
	Key     string
	Total   *big.Int
	Records uint64
	Values  []int64
}

func (o OfferedKey) equal(other OfferedKey) bool {
	return o.Key == other.Key && o.Records == other.Records && o.Total.Cmp(other.Total) == 0 &&
		slices.Equal(o.Values, other.Values)
}

// Contribution is what one individual contributes to one metric window.
type Contribution struct {
	Admitted bool
	// Counts are the keys with what they get: a number of events, 1 for a user, a signed total.
	Counts map[string]int64
	// Further are, by further component, what the chosen values of each key come to.
	Further []map[string]int64
	// Values are, for quantiles and histograms, the chosen values of each key.
	Values map[string][]int64
	// Counted and Beyond are how many of the offered records count, and how many were beyond the
	// allowance.
	Counted, Beyond uint64
}

// chooses reports whether a kind looks at records one by one: which of them count follows from
// their rank.
func chooses(kind string) bool { return hasTree(kind) || components(kind) != nil }

// Offer applies the caps: the MaxKeysPerUser keys of least rank stay, each with MaxEventsPerKey
// records. 0 is no cap.
func (c *Config) Offer(h *schemas.Hasher, metric int, of Owner, visits []Visit) Offer {
	spec := c.Metrics[metric]
	if len(visits) == 1 { // within any caps
		o := ofKey(h, spec, of, visits)
		o.Key = visits[0].Key
		return Offer{Keys: []OfferedKey{o}}
	}
	byKey := map[string][]Visit{}
	for _, v := range visits {
		byKey[v.Key] = append(byKey[v.Key], v)
	}
	name := spec.Name
	if spec.KeysFrom != "" {
		name = spec.KeysFrom // both keep the same keys
	}
	keys := leastFirst(slices.Sorted(maps.Keys(byKey)), func(key string) [16]byte {
		return h.ClipRank(name, of.ID, of.Period, []byte(key))
	})
	var offer Offer
	for i, key := range keys {
		n := uint64(len(byKey[key]))
		if spec.MaxKeysPerUser > 0 && i >= int(spec.MaxKeysPerUser) {
			offer.Beyond += n
			continue
		}
		o := ofKey(h, spec, of, byKey[key])
		o.Key = key
		offer.Beyond += n - o.Records
		offer.Keys = append(offer.Keys, o)
	}
	return offer
}

// ofKey returns what the records of one kept key come to.
func ofKey(h *schemas.Hasher, spec schemas.MetricSpec, of Owner, visits []Visit) OfferedKey {
	o := OfferedKey{Total: big.NewInt(1), Records: uint64(len(visits))}
	if spec.Kind == "distinct_users" {
		return o
	}
	if spec.MaxEventsPerKey > 0 {
		o.Records = min(o.Records, uint64(spec.MaxEventsPerKey))
	}
	o.Total = whole(o.Records).Num()
	if spec.Kind != "sum" && !chooses(spec.Kind) {
		return o
	}
	visits = leastFirst(visits, func(v Visit) [16]byte { return h.RecordRank(spec.Name, of.ID, of.Period, v.Record) })
	sum := new(big.Int)
	for _, v := range visits[:o.Records] {
		if spec.Kind != "sum" || spec.Min != 0 || spec.Max != 0 { // a sum may have no range
			v.Value = min(max(v.Value, spec.Min), spec.Max)
		}
		o.Values = append(o.Values, v.Value)
		sum.Add(sum, big.NewInt(v.Value))
	}
	if spec.Kind == "sum" {
		o.Total = sum
	}
	return o
}

// Fill chooses what of an offer counts. The same most m in all keys is the greatest that is
// available; after it, one more in each key that has more and for which it still fits, in the order
// of ranks. A user of whom nothing counts is not admitted.
func (c *Config) Fill(metric int, offer Offer, available *big.Int) Contribution {
	price := func(o OfferedKey, n *big.Int) *big.Int { return c.priceOf(metric, o, n) }
	size := func(o OfferedKey) *big.Int { return new(big.Int).Abs(o.Total) }
	largest := new(big.Int)
	for _, o := range offer.Keys {
		largest = largerOf(largest, size(o))
	}
	largest = smallerOf(largest, big.NewInt(math.MaxInt64)) // no account pays for more
	sum := func(m *big.Int) *big.Int {
		all := new(big.Int)
		for _, o := range offer.Keys {
			all.Add(all, price(o, smallerOf(m, size(o))))
		}
		return all
	}
	m, all := largest, sum(largest)
	if all.Cmp(available) > 0 {
		m = greatest(new(big.Int), largest, func(m *big.Int) bool { return sum(m).Cmp(available) <= 0 })
		all = sum(m)
	}
	b := Contribution{Counts: map[string]int64{}}
	for range c.FurtherOf(metric) {
		b.Further = append(b.Further, map[string]int64{})
	}
	rest := all.Sub(available, all)
	for _, o := range offer.Keys {
		n := smallerOf(m, size(o))
		if size(o).Cmp(m) > 0 {
			more := new(big.Int).Add(m, big.NewInt(1))
			if extra := new(big.Int).Sub(price(o, more), price(o, n)); extra.Cmp(rest) <= 0 {
				n = more
				rest.Sub(rest, extra)
			}
		}
		c.contribute(metric, &b, o, n)
	}
	return b
}

// priceOf returns what n of a key's total would cost at most: of a kind that looks at records, what
// the dearest of its first records up to n cost for each component.
func (c *Config) priceOf(metric int, o OfferedKey, n *big.Int) *big.Int {
	sum := Charge(n.Int64(), c.Top(metric, ""))
	if !chooses(c.Metrics[metric].Kind) {
		return sum
	}
	first := o.Values[:n.Int64()]
	for j, at := range c.FurtherOf(metric) {
		dearest := new(big.Int)
		for i := range first {
			dearest = largerOf(dearest,
				Charge(component(c.ComponentsOf(metric)[j], c.Metrics[metric], first[:i+1]), c.Top(at, "")))
		}
		sum.Add(sum, dearest)
	}
	return sum.Add(sum, c.ChargeTrees(metric, map[string][]int64{o.Key: first}, c.Top))
}

// contribute adds what n of a key's total come to.
func (c *Config) contribute(metric int, b *Contribution, o OfferedKey, n *big.Int) {
	if n.Sign() == 0 && o.Total.Sign() != 0 {
		b.Beyond += o.Records
		return
	}
	b.Admitted = true
	b.Counts[o.Key] = n.Int64() * int64(o.Total.Sign())
	counted := o.Records
	if o.Total.CmpAbs(n) != 0 { // the same part of the records as of the total
		part := new(big.Rat).SetFrac(n, new(big.Int).Abs(o.Total))
		counted = floor(part.Mul(part, whole(o.Records))).Uint64()
	}
	b.Counted += counted
	b.Beyond += o.Records - counted
	if !chooses(c.Metrics[metric].Kind) {
		return
	}
	first := o.Values[:n.Int64()]
	for j, kind := range c.ComponentsOf(metric) {
		b.Further[j][o.Key] = component(kind, c.Metrics[metric], first)
	}
	if hasTree(c.Metrics[metric].Kind) {
		if b.Values == nil {
			b.Values = map[string][]int64{}
		}
		b.Values[o.Key] = first
	}
}

// component is what clamped values come to in a further component.
func component(kind string, spec schemas.MetricSpec, values []int64) (sum int64) {
	for _, v := range values {
		switch kind {
		case "mean_events":
			sum++
		case "mean_offset":
			sum += 2*v - spec.Min - spec.Max
		case "mean_square": // in quarters, twice the squared distance from the middle, less its greatest
			sum += 8*v*v - 8*v*(spec.Min+spec.Max) + 2*(spec.Min+spec.Max)*(spec.Min+spec.Max) -
				(spec.Max-spec.Min)*(spec.Max-spec.Min)
		}
	}
	return sum
}

// leastFirst orders by rank; among equal ranks the order stays.
func leastFirst[T any](all []T, rank func(T) [16]byte) []T {
	type ranked struct {
		what T
		rank [16]byte
	}
	if len(all) < 2 {
		return all
	}
	list := make([]ranked, 0, len(all))
	for _, what := range all {
		list = append(list, ranked{what, rank(what)})
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return bytes.Compare(a.rank[:], b.rank[:]) })
	var out []T
	for _, r := range list {
		out = append(out, r.what)
	}
	return out
}

// Takes says whether a key belongs to a metric: with public keys those of the list, else every one.
func Takes(spec schemas.MetricSpec, key string) bool {
	if spec.KeyMode != "public" {
		return true
	}
	for _, public := range spec.PublicKeys {
		if string(public) == key {
			return true
		}
	}
	return false
}

// greatestTotal returns the most that the caps allow one individual in one key: c_max.
func greatestTotal(m schemas.MetricSpec) *big.Int {
	events := big.NewInt(schemas.MostEvents)
	if m.MaxEventsPerKey > 0 {
		events = big.NewInt(int64(m.MaxEventsPerKey))
	}
	far := new(big.Int).Sub(big.NewInt(m.Max), big.NewInt(m.Min))
	switch m.Kind {
	case "distinct_users", "quantile", "bucket_share":
		return big.NewInt(1)
	case "sum":
		return events.Mul(events, largerOf(new(big.Int).Abs(big.NewInt(m.Min)), new(big.Int).Abs(big.NewInt(m.Max))))
	case "events", "mean", "variance", "standard_deviation", "quantiles", "quantile_nodes", "quantile_log_nodes",
		"histogram", "histogram_buckets", "mean_events", "counted":
		return events
	case "mean_offset":
		return events.Mul(events, far)
	case "mean_square":
		return events.Mul(events, far.Mul(far, far))
	}
	return new(big.Int) // of a kind that is not computed here
}

// most returns the most that one individual adds to one key: what the caps allow, and what a full
// bucket pays for.
func most(m schemas.MetricSpec) *big.Int {
	total := greatestTotal(m)
	if m.Burst == 0 {
		return total
	}
	paid := new(big.Rat).SetFrac(new(big.Int).Lsh(whole(uint64(m.Burst)).Num(), 40), m.Top.Big())
	root := floor(paid)
	return smallerOf(total, largerOf(root.Sqrt(root), big.NewInt(1)))
}
