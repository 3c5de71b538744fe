package spend

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
)

// clipper applies a metric's bounds to one user's contributions. Which keys
// stay is decided by a keyed hash of the user's own keys, never by order,
// partition or other users. Not for concurrent use.
type clipper struct {
	rules  *Rules
	hasher *schemas.Hasher
	kept   []schemas.KeyCount
	ranked []rankedKey
}

type rankedKey struct {
	rank [16]byte
	at   schemas.KeyCount
}

func newClipper(r *Rules) *clipper {
	return &clipper{rules: r, hasher: schemas.NewHasher(r.UserHash)}
}

// keep returns what the metric counts of a user's entries, ascending by key,
// with the tally of the rest. The result is valid until the next call.
func (c *clipper) keep(m *metric, id state.AccountID, period int64, keys [][]byte, entries []schemas.KeyCount) ([]schemas.KeyCount, schemas.PairTally) {
	var tally schemas.PairTally
	c.kept = c.kept[:0]
	for _, e := range entries {
		if m.takes(keys[e.Key]) {
			c.kept = append(c.kept, e)
		} else {
			tally.Filtered += uint64(e.N)
		}
	}
	if limit := int(m.spec.MaxKeysPerUser); len(c.kept) > limit {
		c.leastRanks(m, id, period, keys)
		for _, r := range c.ranked[limit:] {
			tally.Clipped += uint64(r.at.N)
		}
		c.kept = c.kept[:0]
		for _, r := range c.ranked[:limit] {
			c.kept = append(c.kept, r.at)
		}
		slices.SortFunc(c.kept, func(a, b schemas.KeyCount) int { return cmp.Compare(a.Key, b.Key) })
	}
	for i := range c.kept {
		if over := c.kept[i].N; over > m.spec.MaxEventsPerKey {
			tally.Clipped += uint64(over - m.spec.MaxEventsPerKey)
			c.kept[i].N = m.spec.MaxEventsPerKey
		}
	}
	return c.kept, tally
}

func (c *clipper) leastRanks(m *metric, id state.AccountID, period int64, keys [][]byte) {
	c.ranked = c.ranked[:0]
	for _, e := range c.kept {
		c.ranked = append(c.ranked, rankedKey{c.hasher.ClipRank(m.spec.Name, id, period, keys[e.Key]), e})
	}
	slices.SortFunc(c.ranked, func(a, b rankedKey) int { return bytes.Compare(a.rank[:], b.rank[:]) })
}
