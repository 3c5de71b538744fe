package spend

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// clipper applies a metric's bounds to one user's contributions. What stays is
// decided by a keyed hash of the user's own keys and records, never by order,
// partition or other users. Not for concurrent use.
type clipper struct {
	hasher *schemas.Hasher
	own    []ownKey
	kept   []kept
	// further is what the user adds to the further components of counts: of each of kept, one after
	// the other.
	further []int64
	leaves  []leafCount // of the trees of kept, in their order and by leaf
	sums    []rankedRecord
	// counted is, by window, how many of the user's events count there; 0 where the user is not
	// admitted.
	counted []uint64
}

// kept is what a metric counts of one user and key.
type kept struct {
	key   uint32 // index into the keys of the contributions
	total int64  // what the user adds to the count, see metrickind.Kind
}

// contribution returns the sensitivity: by how much the user changes the count.
func (k kept) contribution() uint64 { return size(k.total) }

// size is |n|, for −2⁶³ as well.
func size(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// ownKey is one of the user's keys, with its number of events.
type ownKey struct {
	key  uint32
	n    uint64
	rank [16]byte
}

type rankedRecord struct {
	rank [16]byte
	n    uint32
	val  int64
}

// errRecords says that some of a sum's records are missing.
var errRecords = errors.New("a user's records do not add up to the number of the user's events")

func newClipper(r *Rules) *clipper { return &clipper{hasher: schemas.NewHasher(r.UserHash.Reveal())} }

// begin turns to a user of so many windows, who is admitted to none of them yet.
func (c *clipper) begin(windows int) {
	c.counted = append(c.counted[:0], make([]uint64, windows)...)
}

// window returns what window i's metric counts of a user's contributions, as keep does. The user's
// admissions to the windows before it must be known.
func (c *clipper) window(m *metric, e *endedWindows, i int, u *member) ([]kept, schemas.WindowTally, error) {
	if m.kind.Share {
		kept, tally := c.divide(m, e.taken[i], u.of[i], c.counted[e.of[i]])
		return kept, tally, nil
	}
	return c.keep(m, e.contributions[i], e.taken[i], u.of[i])
}

// divide returns what a share counts of a user's contributions: the events that its metric has
// counted, and the others, together at most the share's own bound. Keys are indexes into the
// public keys of the share.
func (c *clipper) divide(m *metric, taken []bool, u *schemas.ContribUser, counted uint64) ([]kept, schemas.WindowTally) {
	var tally schemas.WindowTally
	c.kept, c.further, c.leaves = c.kept[:0], c.further[:0], c.leaves[:0]
	var all uint64
	for _, e := range u.Entries {
		if taken[e.Key] {
			all += uint64(e.N)
		}
	}
	if all == 0 {
		return nil, tally
	}
	in, out := metrickind.Divide(counted, all-counted, uint64(m.spec.MaxEventsPerKey))
	for key, n := range [...]uint64{in, out} { // in the order of the public keys
		if n > 0 {
			c.kept = append(c.kept, kept{uint32(key), int64(n)})
			tally.Counted += n
		}
	}
	tally.ClippedEvents = all - tally.Counted
	return c.kept, tally
}

// keep returns what the metric counts of a user's contributions, ascending by
// key, and the tally of the user's records: all of them are clipped by one bound or counted. What
// the user adds to further components is in c.further, for the same keys, and to their trees in
// c.leaves. The lists are valid until the next call.
func (c *clipper) keep(m *metric, w *contributions, taken []bool, u *schemas.ContribUser) (out []kept, tally schemas.WindowTally, err error) {
	c.own = c.own[:0]
	for _, e := range u.Entries {
		if !taken[e.Key] {
			continue
		}
		key := w.keyOf[e.Key]
		if n := len(c.own); n > 0 && c.own[n-1].key == key {
			c.own[n-1].n += uint64(e.N)
			continue
		}
		c.own = append(c.own, ownKey{key: key, n: uint64(e.N)})
	}
	if limit := int(m.spec.MaxKeysPerUser); len(c.own) > limit {
		c.leastRanks(m, w, u)
		for _, k := range c.own[limit:] {
			tally.ClippedKeys += k.n
		}
		c.own = c.own[:limit]
		slices.SortFunc(c.own, func(a, b ownKey) int { return cmp.Compare(a.key, b.key) })
	}
	c.kept, c.further, c.leaves = c.kept[:0], c.further[:0], c.leaves[:0]
	bounds := m.spec.Bounds()
	for _, k := range c.own {
		var stays uint64
		var total int64
		if m.kind.Values {
			stays = min(k.n, uint64(bounds.Events))
			sums, err := c.add(m, w, taken, u, k)
			if err != nil {
				return nil, tally, err
			}
			total = sums[0]
			c.further = append(c.further, sums[1:1+len(m.further)]...)
		} else {
			stays, total = m.kind.Contribution(k.n, bounds)
		}
		tally.Counted += stays
		tally.ClippedEvents += k.n - stays
		c.kept = append(c.kept, kept{k.key, total})
	}
	return c.kept, tally, nil
}

func (c *clipper) leastRanks(m *metric, w *contributions, u *schemas.ContribUser) {
	for i := range c.own {
		c.own[i].rank = c.hasher.ClipRank(m.rank, u.ID, u.Period, w.keys[c.own[i].key])
	}
	slices.SortFunc(c.own, func(a, b ownKey) int { return bytes.Compare(a.rank[:], b.rank[:]) })
}

// add adds up what the records of a key that stay, those with the least ranks, add to each
// component by their clamped values.
func (c *clipper) add(m *metric, w *contributions, taken []bool, u *schemas.ContribUser, k ownKey) (sums [metrickind.MaxComponents]int64, err error) {
	c.sums = c.sums[:0]
	var n uint64
	first, _ := slices.BinarySearchFunc(u.Records, k.key, func(v schemas.RecordValue, key uint32) int { return cmp.Compare(w.keyOf[v.Key], key) })
	for i := first; i < len(u.Records) && w.keyOf[u.Records[i].Key] == k.key; i++ {
		v := &u.Records[i]
		if !taken[v.Key] {
			continue
		}
		n += uint64(v.N)
		c.sums = append(c.sums, rankedRecord{n: v.N, val: min(max(v.Value, m.spec.Min), m.spec.Max)})
		if k.n > uint64(m.spec.MaxEventsPerKey) {
			c.sums[len(c.sums)-1].rank = c.hasher.RecordRank(m.spec.Name, u.ID, u.Period, v.ID)
		}
	}
	if n != k.n {
		return sums, errRecords
	}
	room := uint64(m.spec.MaxEventsPerKey)
	if n > room {
		slices.SortFunc(c.sums, func(a, b rankedRecord) int { return bytes.Compare(a.rank[:], b.rank[:]) })
	}
	bounds, tree := m.spec.Bounds(), len(c.leaves)
	for _, r := range c.sums {
		take := min(uint64(r.n), room)
		if m.nodes >= 0 && take > 0 {
			c.leaves = append(c.leaves, leafCount{k.key, m.scale.Leaf(r.val), uint32(take)})
		}
		for i, value := range m.values {
			sums[i] += int64(take) * value(r.val, bounds)
		}
		room -= take
	}
	c.leaves = mergeLeaves(c.leaves, tree)
	return sums, nil
}
