package reference

import (
	"bytes"
	"maps"
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

// Contribution is what one individual contributes to one metric window after clipping.
type Contribution struct {
	// Counts are the kept keys with what they get: a number of events, 1 for a user, a signed
	// total.
	Counts map[string]int64
	// Further are, by further component, what the clamped values of each kept key come to.
	Further []map[string]int64
	// Values are, for quantiles and histograms, the clamped values of each kept key.
	Values map[string][]int64
	// Kept counts the records that they come from; ClippedKeys those of keys beyond
	// MaxKeysPerUser, and ClippedEvents those beyond MaxEventsPerKey of a key that stays.
	Kept, ClippedKeys, ClippedEvents uint64
}

// Contribute bounds what one individual brings: the MaxKeysPerUser keys of least rank stay, each
// with what its records come to. further are the kinds of the metric's further components.
func Contribute(h *schemas.Hasher, spec schemas.MetricSpec, further []string, of Owner, visits []Visit) Contribution {
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
	c := Contribution{Counts: map[string]int64{}, Values: map[string][]int64{}}
	for range further {
		c.Further = append(c.Further, map[string]int64{})
	}
	for i, key := range keys {
		n := uint64(len(byKey[key]))
		if i >= int(spec.MaxKeysPerUser) {
			c.ClippedKeys += n
			continue
		}
		count, kept, values := ofKey(h, spec, of, byKey[key])
		for j, kind := range further {
			c.Further[j][key] = component(kind, spec, values)
		}
		if hasTree(spec.Kind) {
			c.Values[key] = values
		}
		c.Counts[key] = count
		c.Kept += kept
		c.ClippedEvents += n - kept
	}
	return c
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
			sum += 8*v*v - 8*v*(spec.Min+spec.Max) + 2*(spec.Min+spec.Max)*(spec.Min+spec.Max) - (spec.Max-spec.Min)*(spec.Max-spec.Min)
		}
	}
	return sum
}

// ofKey returns what the records of one kept key come to, how many of them are in it, and to what
// the values that count are clamped.
func ofKey(h *schemas.Hasher, spec schemas.MetricSpec, of Owner, visits []Visit) (count int64, kept uint64, values []int64) {
	n := uint64(len(visits))
	switch spec.Kind {
	case "distinct_users":
		return 1, n, nil
	case "sum", "mean", "variance", "standard_deviation", "quantiles", "histogram":
		visits = leastFirst(visits, func(v Visit) [16]byte { return h.RecordRank(spec.Name, of.ID, of.Period, v.Record) })
		visits = visits[:min(n, uint64(spec.MaxEventsPerKey))]
		for _, v := range visits {
			values = append(values, min(max(v.Value, spec.Min), spec.Max))
			count += values[len(values)-1]
		}
		if spec.Kind != "sum" { // whose first component is the number of values
			count = int64(len(values))
		}
		return count, uint64(len(visits)), values
	case "events":
		kept = min(n, uint64(spec.MaxEventsPerKey))
		return int64(kept), kept, nil
	}
	return 0, 0, nil // of a kind that is not computed here: TestEveryKindIsComputedASecondTime
}

// leastFirst orders by rank; among equal ranks the order stays.
func leastFirst[T any](all []T, rank func(T) [16]byte) []T {
	type ranked struct {
		what T
		rank [16]byte
	}
	var list []ranked
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

// greatestTotal returns the most that one individual can bring to one key: c_max.
func greatestTotal(m schemas.MetricSpec) *big.Int {
	switch m.Kind {
	case "distinct_users", "quantile", "bucket_share":
		return big.NewInt(1)
	case "sum":
		low, high := new(big.Int).Abs(big.NewInt(m.Min)), new(big.Int).Abs(big.NewInt(m.Max))
		if low.Cmp(high) > 0 {
			high = low
		}
		return high.Mul(high, big.NewInt(int64(m.MaxEventsPerKey)))
	case "events", "mean", "variance", "standard_deviation", "quantiles", "quantile_nodes", "quantile_log_nodes", "histogram", "histogram_buckets", "mean_events", "counted":
		return big.NewInt(int64(m.MaxEventsPerKey))
	case "mean_offset":
		return new(big.Int).Mul(new(big.Int).Sub(big.NewInt(m.Max), big.NewInt(m.Min)), big.NewInt(int64(m.MaxEventsPerKey)))
	}
	if m.Kind == "mean_square" {
		far := new(big.Int).Sub(big.NewInt(m.Max), big.NewInt(m.Min))
		return far.Mul(far, far).Mul(far, big.NewInt(int64(m.MaxEventsPerKey)))
	}
	return new(big.Int) // as in ofKey
}
