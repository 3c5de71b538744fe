package spend

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/state/units"
)

// clipper chooses the counted part of one user's contributions, within a metric's caps, if any, and
// the user's allowance. The choice depends on the user's own records and allowance, and on keyed
// hashes of them, never on order, partition or other users. Not for concurrent use.
type clipper struct {
	rules  *Rules
	hasher *schemas.Hasher
	m      *metric
	w      *contributions
	u      *schemas.ContribUser

	userKeys []ownKey
	sizes    []uint64            // by user key: the countable part
	records  []rankedRecord      // of the user's keys, if the metric reads values
	upper    bool                // prices are upper bounds, which need no ranks
	ranks    map[uint32][16]byte // known ranks of a Person's keys; nil in a run
	water    water

	kept []kept
	// further has the user's parts of the further components of counts, for each of kept in turn.
	further []int64
	leaves  []leafCount // for the trees of kept, in their order and by leaf
	// counted is the number of the user's counted events, by window; 0 if the user is not admitted.
	counted []uint64
}

// kept is the counted part of one user and key.
type kept struct {
	key   uint32 // index into the keys of the contributions
	total int64  // the user's part of the count, see metrickind.Kind
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

// ownKey is one of the user's keys.
type ownKey struct {
	key     uint32
	n       uint64 // its events
	within  uint64 // the number of them within the cap
	total   int64  // their total, unless the metric is one with prefixes
	records [2]int // from and to: theirs, among the clipper's records
	ranked  bool   // these are in order of ranks
	rank    [16]byte
}

type rankedRecord struct {
	rank [16]byte
	id   schemas.RecordID
	n    uint32
	val  int64
}

// errRecords is returned if some of a sum's records are missing.
var errRecords = errors.New("a user's records do not add up to the number of the user's events")

func newClipper(r *Rules) *clipper {
	return &clipper{rules: r, hasher: schemas.NewHasher(r.UserHash.Reveal())}
}

// begin starts a user with the given number of windows, not yet admitted to any.
func (c *clipper) begin(windows int) {
	c.counted = append(c.counted[:0], make([]uint64, windows)...)
}

// window returns what window i's metric counts of a user's contributions, as clipUser does. The
// user's admissions to the windows before it must be known.
func (c *clipper) window(m *metric, e *endedWindows, i int, u *member,
	allowance units.Mu2) ([]kept, schemas.WindowTally, error) {
	if m.kind.Share {
		kept, tally := c.divide(m, e.taken[i], u.byWindow[i], c.counted[e.bases[i]])
		return kept, tally, nil
	}
	return c.clipUser(m, e.contributions[i], e.taken[i], u.byWindow[i], allowance)
}

// divide returns what a share counts of a user's contributions: the events that its metric has
// counted, and the others, together at most the share's own bound. Keys are indexes into the
// public keys of the share.
func (c *clipper) divide(m *metric, taken []bool, u *schemas.ContribUser,
	counted uint64) ([]kept, schemas.WindowTally) {
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
	tally.Beyond = all - tally.Counted
	return c.kept, tally
}

// clipUser returns the user's contributions that the metric counts within the allowance, ascending
// by key, and the tally of the user's records: each is beyond a cap or the allowance, or counted.
// c.further has the user's parts of further components for the same keys, and c.leaves those of
// their trees. The lists are valid until the next call.
func (c *clipper) clipUser(m *metric, w *contributions, taken []bool, u *schemas.ContribUser,
	allowance units.Mu2) (out []kept, tally schemas.WindowTally, err error) {
	c.m, c.w, c.u = m, w, u
	c.userKeys, c.sizes, c.records = c.userKeys[:0], c.sizes[:0], c.records[:0]
	for _, e := range u.Entries {
		if !taken[e.Key] {
			continue
		}
		key := w.keyOf[e.Key]
		if n := len(c.userKeys); n > 0 && c.userKeys[n-1].key == key {
			c.userKeys[n-1].n += uint64(e.N)
			continue
		}
		c.userKeys = append(c.userKeys, ownKey{key: key, n: uint64(e.N)})
	}
	if limit := int(m.spec.MaxKeysPerUser); limit > 0 && len(c.userKeys) > limit {
		c.leastRanks()
		for _, k := range c.userKeys[limit:] {
			tally.Beyond += k.n
		}
		c.userKeys = c.userKeys[:limit]
		slices.SortFunc(c.userKeys, func(a, b ownKey) int { return cmp.Compare(a.key, b.key) })
	}
	for i := range c.userKeys {
		k := &c.userKeys[i]
		if m.valued {
			if err := c.collect(k, taken); err != nil {
				return nil, tally, err
			}
		} else {
			k.within, k.total = m.kind.Contribution(k.n, m.bounds)
		}
		c.sizes = append(c.sizes, size(k.total))
		if m.prefixes() {
			c.sizes[i] = k.within
		}
	}
	c.kept, c.further, c.leaves = c.kept[:0], c.further[:0], c.leaves[:0]
	for i, n := range c.choose(allowance) {
		k, all := &c.userKeys[i], c.sizes[i]
		counted := c.eventsOf(k, n, all)
		tally.Counted += counted
		tally.Beyond += k.n - counted
		if n > 0 || all == 0 {
			c.count(k, n)
		}
	}
	return c.kept, tally, nil
}

// eventsOf returns the number of a key's events that count if part of their total counts.
func (c *clipper) eventsOf(k *ownKey, part, all uint64) uint64 {
	switch {
	case part == all:
		return k.within
	case all == math.MaxInt64: // and perhaps more
		exact, _ := c.addUp(k, k.within)
		events := new(big.Int).SetUint64(k.within)
		events.Mul(events, new(big.Int).SetUint64(part))
		return events.Quo(events, exact[0].Abs().Big()).Uint64()
	}
	high, low := bits.Mul64(k.within, part)
	events, _ := bits.Div64(high, low, all)
	return events
}

// choose returns the counted amount of each of the user's keys.
func (c *clipper) choose(allowance units.Mu2) []uint64 {
	if c.m.prefixes() {
		c.upper = true
		_, fits := costOf(c.sizes, math.MaxUint64, allowance, c)
		if c.upper = false; fits {
			return c.sizes
		}
		for i := range c.userKeys {
			c.rankRecords(&c.userKeys[i])
		}
	}
	return c.water.fill(c.sizes, allowance, c)
}

// count adds n to the counted amount of a key.
func (c *clipper) count(k *ownKey, n uint64) {
	total := int64(n)
	if c.m.prefixes() {
		sums, _ := c.addUp(k, n)
		total = clamped(sums[0])
		for _, sum := range sums[1:len(c.m.values)] {
			c.further = append(c.further, clamped(sum))
		}
		if c.m.nodes >= 0 {
			c.addLeaves(k, n)
		}
	} else if k.total < 0 {
		total = -total
	}
	c.kept = append(c.kept, kept{k.key, total})
}

func (c *clipper) leastRanks() {
	for i := range c.userKeys {
		c.userKeys[i].rank = c.rank(i)
	}
	slices.SortFunc(c.userKeys, func(a, b ownKey) int { return bytes.Compare(a.rank[:], b.rank[:]) })
}

// rank implements priced.
func (c *clipper) rank(i int) [16]byte {
	key := c.userKeys[i].key
	rank, known := c.ranks[key]
	if !known {
		rank = c.hasher.ClipRank(c.m.rank, c.u.ID, c.u.Period, c.w.keys[key])
		if c.ranks != nil {
			c.ranks[key] = rank
		}
	}
	return rank
}

// price implements priced. For a metric with prefixes, it is the price of the first n events of a
// key by rank, with each sum at its maximum over the first 1, 2, … n: so it does not fall as n
// grows.
func (c *clipper) price(i int, n uint64) (units.Mu2, bool) {
	m := c.m
	if !m.prefixes() {
		return units.Charge(n, m.spec.Top)
	}
	_, peaks := c.addUp(&c.userKeys[i], n)
	sum, ok := units.Charge(peaks[0], m.spec.Top)
	for j, component := range m.further {
		charge, fits := units.Charge(peaks[j+1], c.rules.metrics[component].spec.Top)
		sum, ok = addCharge(sum, charge, fits && ok)
	}
	if m.nodes >= 0 && ok {
		var charge units.Mu2
		charge, ok = c.priceOfTree(&c.userKeys[i], n)
		sum, ok = addCharge(sum, charge, ok)
	}
	return sum, ok
}

func addCharge(sum, charge units.Mu2, fits bool) (units.Mu2, bool) {
	sum, ok := sum.Add(charge)
	return sum, ok && fits
}

// priceOfTree returns the price of all nodes of the tree of a key's first n events.
func (c *clipper) priceOfTree(k *ownKey, n uint64) (units.Mu2, bool) {
	levels, top := c.m.scale.Levels(), c.rules.metrics[c.m.nodes].spec.Top
	if c.upper {
		return units.ChargeSquares(uint64(levels)*n*n, top)
	}
	from := len(c.leaves)
	c.addLeaves(k, n)
	squares := metrickind.Squares(c.leaves[from:], levels, nil)
	c.leaves = c.leaves[:from]
	return units.ChargeSquares(squares, top)
}

// collect collects the records of a key that are within the cap: those with the least ranks.
func (c *clipper) collect(k *ownKey, taken []bool) error {
	m, from := c.m, len(c.records)
	var n uint64
	first, _ := slices.BinarySearchFunc(c.u.Records, k.key, func(v schemas.RecordValue, key uint32) int {
		return cmp.Compare(c.w.keyOf[v.Key], key)
	})
	for i := first; i < len(c.u.Records) && c.w.keyOf[c.u.Records[i].Key] == k.key; i++ {
		if v := &c.u.Records[i]; taken[v.Key] {
			n += uint64(v.N)
			c.records = append(c.records,
				rankedRecord{id: v.ID, n: v.N, val: min(max(v.Value, m.bounds.Min), m.bounds.Max)})
		}
	}
	// Both numbers saturate, and the number of a label before its records' together.
	if n < k.n || n > k.n && k.n < math.MaxUint32 {
		return errRecords
	}
	k.records, k.within = [2]int{from, len(c.records)}, min(n, uint64(m.bounds.Events))
	if k.within < n {
		c.rankRecords(k)
	}
	if !m.prefixes() {
		sums, _ := c.addUp(k, k.within)
		k.total = clamped(sums[0])
	}
	return nil
}

// rankRecords sorts the records of a key by rank.
func (c *clipper) rankRecords(k *ownKey) {
	if k.ranked {
		return
	}
	k.ranked = true
	records := c.records[k.records[0]:k.records[1]]
	for i := range records {
		records[i].rank = c.hasher.RecordRank(c.m.spec.Name, c.u.ID, c.u.Period, records[i].id)
	}
	slices.SortFunc(records, func(a, b rankedRecord) int { return bytes.Compare(a.rank[:], b.rank[:]) })
}

// addUp returns the sum of the first n events of a key for each component, and the maximum of each
// sum over the first 1, 2, … n; if c.upper, a bound on that which holds in every order.
func (c *clipper) addUp(k *ownKey,
	n uint64) (sums [metrickind.MaxComponents]int128.Int, peaks [metrickind.MaxComponents]uint64) {
	for _, r := range c.records[k.records[0]:k.records[1]] {
		if n == 0 {
			break
		}
		part := min(uint64(r.n), n)
		n -= part
		for i, value := range c.m.values {
			add := value(r.val, c.m.bounds)
			if c.upper {
				add = max(add, -add)
			}
			sums[i] = sums[i].AddTimes(add, part)
			// Between equal records, a sum moves in one direction.
			peaks[i] = max(peaks[i], size(clamped(sums[i])))
		}
	}
	return sums, peaks
}

// clamped clamps a sum to a value that no account can pay for.
func clamped(sum int128.Int) int64 { return sum.Clamp(-math.MaxInt64, math.MaxInt64) }

// addLeaves adds the first n events of a key to c.leaves.
func (c *clipper) addLeaves(k *ownKey, n uint64) {
	from := len(c.leaves)
	for _, r := range c.records[k.records[0]:k.records[1]] {
		if n == 0 {
			break
		}
		part := min(uint64(r.n), n)
		n -= part
		c.leaves = append(c.leaves, leafCount{k.key, c.m.scale.Leaf(r.val), uint32(part)})
	}
	c.leaves = mergeLeaves(c.leaves, from)
}
