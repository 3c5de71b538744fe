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

// clipper chooses the part of one user's contributions that is counted, within the caps of the
// metric and the user's allowance (affordable.go). The choice depends only on the user's own
// records and allowance, and on keyed hashes of them, but never on order, partition or other users.
// A clipper is not safe for concurrent use.
type clipper struct {
	rules  *Rules
	hasher *schemas.Hasher
	m      *metric
	w      *contributions
	u      *schemas.ContribUser

	userKeys    []userKey
	sizes       []uint64               // by user key: the countable part
	records     []rankedRecord         // records of the user's keys, if the metric reads values
	upperBounds bool                   // whether prices are upper bounds, which need no ranks
	ranks       map[metricKey][16]byte // cached ranks of the keys of a Person; nil in a run
	water       water

	kept    []kept
	extra   []int64     // by kept key and additional component: the user's contribution
	leaves  []leafCount // by kept key: the leaves of the key's tree
	counted []uint64    // by window: number of counted events; 0 if the user is not admitted
}

// kept is the part of a user's contribution to a key that is counted.
type kept struct {
	key   uint32 // index into the keys of the contributions
	total int64  // the user's contribution to the count, see metrickind.Kind
}

// contribution returns the size of the contribution: the count's sensitivity to this user.
func (k kept) contribution() uint64 { return size(k.total) }

// size returns |n|, even for n = −2⁶³.
func size(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// userKey is one key of the user.
type userKey struct {
	key     uint32
	n       uint64 // number of events
	within  uint64 // number of events within the cap
	total   int64  // total of the events within the cap; unused if metric.prefixes
	records [2]int // start and end of the key's records in clipper.records
	ranked  bool   // whether these records are sorted by rank
	rank    [16]byte
}

type rankedRecord struct {
	rank [16]byte
	id   schemas.RecordID
	n    uint32
	val  int64
}

// errRecords is returned if a metric needs the individual records and some are missing.
var errRecords = errors.New("a user's records do not add up to the number of the user's events")

func newClipper(r *Rules) *clipper {
	return &clipper{rules: r, hasher: schemas.NewHasher(r.UserHash.Reveal())}
}

// beginUser starts a new user, who is not yet admitted to any of the given number of windows.
func (c *clipper) beginUser(windows int) {
	c.counted = append(c.counted[:0], make([]uint64, windows)...)
}

// clipWindow returns the counted part of a user's contributions to window i; see clipUser. The
// user's admissions to all earlier windows must have been decided.
func (c *clipper) clipWindow(m *metric, e *endedWindows, i int, u *member,
	allowance units.Mu2) ([]kept, schemas.WindowTally, error) {
	if m.kind.Share {
		kept, tally := c.divide(m, e.matches[i], u.byWindow[i], c.counted[e.bases[i]])
		return kept, tally, nil
	}
	return c.clipUser(m, e.contributions[i], e.matches[i], u.byWindow[i], allowance)
}

// divide returns a user's contribution to a metric's share of counted events: the number of events
// that the metric counted, and the number that it left out. Their sum is at most the cap of the
// share. The keys in the result are indexes into the share's public keys.
func (c *clipper) divide(m *metric, matches []bool, u *schemas.ContribUser,
	counted uint64) ([]kept, schemas.WindowTally) {
	var tally schemas.WindowTally
	c.kept, c.extra, c.leaves = c.kept[:0], c.extra[:0], c.leaves[:0]
	var all uint64
	for _, e := range u.Entries {
		if matches[e.Key] {
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

// clipUser returns the user's contributions within the metric's caps and the allowance, ascending
// by key. tally counts every event of the user as counted, or as beyond a cap or the allowance.
// c.further and c.leaves then hold the additional components and the leaves of the same keys. All
// these lists are valid until the next call.
func (c *clipper) clipUser(m *metric, w *contributions, matches []bool, u *schemas.ContribUser,
	allowance units.Mu2) (out []kept, tally schemas.WindowTally, err error) {
	c.m, c.w, c.u = m, w, u
	c.userKeys, c.sizes, c.records = c.userKeys[:0], c.sizes[:0], c.records[:0]
	for _, e := range u.Entries {
		if !matches[e.Key] {
			continue
		}
		key := w.keyOf[e.Key]
		if n := len(c.userKeys); n > 0 && c.userKeys[n-1].key == key {
			c.userKeys[n-1].n += uint64(e.N)
			continue
		}
		c.userKeys = append(c.userKeys, userKey{key: key, n: uint64(e.N)})
	}
	if limit := int(m.spec.MaxKeysPerUser); limit > 0 && len(c.userKeys) > limit {
		c.sortKeysByRank()
		for _, k := range c.userKeys[limit:] {
			tally.Beyond += k.n
		}
		c.userKeys = c.userKeys[:limit]
		slices.SortFunc(c.userKeys, func(a, b userKey) int { return cmp.Compare(a.key, b.key) })
	}
	for i := range c.userKeys {
		k := &c.userKeys[i]
		if m.valued {
			if err := c.collectRecords(k, matches); err != nil {
				return nil, tally, err
			}
		} else {
			k.within, k.total = m.kind.Contribution(k.n, m.bounds)
		}
		c.sizes = append(c.sizes, size(k.total))
		if m.countsByRank() {
			c.sizes[i] = k.within
		}
	}
	c.kept, c.extra, c.leaves = c.kept[:0], c.extra[:0], c.leaves[:0]
	for i, n := range c.affordable(allowance) {
		k, full := &c.userKeys[i], c.sizes[i]
		counted := c.eventsOf(k, n, full)
		tally.Counted += counted
		tally.Beyond += k.n - counted
		if n > 0 || full == 0 {
			c.addKept(k, n)
		}
	}
	return c.kept, tally, nil
}

// eventsOf returns how many events of a key count if part of its total amount is counted.
func (c *clipper) eventsOf(k *userKey, part, total uint64) uint64 {
	switch {
	case part == total:
		return k.within
	case total == math.MaxInt64: // the total may have been clamped
		exact, _ := c.addUp(k, k.within)
		events := new(big.Int).SetUint64(k.within)
		events.Mul(events, new(big.Int).SetUint64(part))
		return events.Quo(events, exact[0].Abs().Big()).Uint64()
	}
	high, low := bits.Mul64(k.within, part)
	events, _ := bits.Div64(high, low, total)
	return events
}

// addKept adds a key, with the counted amount n, to c.kept.
func (c *clipper) addKept(k *userKey, n uint64) {
	total := int64(n)
	if c.m.countsByRank() {
		sums, _ := c.addUp(k, n)
		total = clamped(sums[0])
		for _, sum := range sums[1:len(c.m.values)] {
			c.extra = append(c.extra, clamped(sum))
		}
		if c.m.nodes >= 0 {
			c.addLeaves(k, n)
		}
	} else if k.total < 0 {
		total = -total
	}
	c.kept = append(c.kept, kept{k.key, total})
}

// sortKeysByRank sorts the user's keys by rank.
func (c *clipper) sortKeysByRank() {
	for i := range c.userKeys {
		c.userKeys[i].rank = c.rank(i)
	}
	slices.SortFunc(c.userKeys, func(a, b userKey) int { return bytes.Compare(a.rank[:], b.rank[:]) })
}

// rank implements pricer.
func (c *clipper) rank(i int) [16]byte {
	key := metricKey{c.m, c.userKeys[i].key}
	rank, known := c.ranks[key]
	if !known {
		rank = c.hasher.ClipRank(c.m.rank, c.u.ID, c.u.Period, c.w.keys[key.key])
		if c.ranks != nil {
			c.ranks[key] = rank
		}
	}
	return rank
}

// metricKey identifies a key of the user in the windows of one metric.
type metricKey struct {
	m   *metric
	key uint32
}

// collectRecords collects a key's records and applies the cap, which keeps the least ranks.
func (c *clipper) collectRecords(k *userKey, matches []bool) error {
	m, from := c.m, len(c.records)
	var n uint64
	first, _ := slices.BinarySearchFunc(c.u.Records, k.key, func(v schemas.RecordValue, key uint32) int {
		return cmp.Compare(c.w.keyOf[v.Key], key)
	})
	for i := first; i < len(c.u.Records) && c.w.keyOf[c.u.Records[i].Key] == k.key; i++ {
		if v := &c.u.Records[i]; matches[v.Key] {
			n += uint64(v.N)
			c.records = append(c.records,
				rankedRecord{id: v.ID, n: v.N, val: min(max(v.Value, m.bounds.Min), m.bounds.Max)})
		}
	}
	// Both numbers saturate. A label's number may saturate before the sum of its records does.
	if n < k.n || n > k.n && k.n < math.MaxUint32 {
		return errRecords
	}
	k.records, k.within = [2]int{from, len(c.records)}, min(n, uint64(m.bounds.Events))
	if k.within < n {
		c.rankRecords(k)
	}
	if !m.countsByRank() {
		sums, _ := c.addUp(k, k.within)
		k.total = clamped(sums[0])
	}
	return nil
}

// rankRecords sorts the records of a key by rank.
func (c *clipper) rankRecords(k *userKey) {
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

// addUp returns, for each component, the sum over the first n events of a key. peaks holds the
// maximum of each sum over the first 1, 2, … n events. With c.upperBounds, the results are bounds
// that hold in every order of the events.
func (c *clipper) addUp(k *userKey,
	n uint64) (sums [metrickind.MaxComponents]int128.Int, peaks [metrickind.MaxComponents]uint64) {
	for _, r := range c.records[k.records[0]:k.records[1]] {
		if n == 0 {
			break
		}
		part := min(uint64(r.n), n)
		n -= part
		for i, value := range c.m.values {
			add := value(r.val, c.m.bounds)
			if c.upperBounds {
				add = max(add, -add)
			}
			sums[i] = sums[i].AddTimes(add, part)
			// Within equal records, a sum only rises or only falls.
			peaks[i] = max(peaks[i], size(clamped(sums[i])))
		}
	}
	return sums, peaks
}

// clamped clamps a sum to a value that no account can pay for.
func clamped(sum int128.Int) int64 { return sum.Clamp(-math.MaxInt64, math.MaxInt64) }

// addLeaves adds the first n events of a key to c.leaves.
func (c *clipper) addLeaves(k *userKey, n uint64) {
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
