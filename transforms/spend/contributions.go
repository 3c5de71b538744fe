package spend

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/runs"
	"github.com/tollgate-dp/tollgate/schemas"
)

// contributions holds the events of a shard's users in one interval of event time. It consists of a
// sorted dictionary of labels and, for each user and budget period, the number of events with each
// label. It does not depend on the order in which events arrive, or on how they are packed.
type contributions struct {
	labels   []schemas.Label
	users    []schemas.ContribUser // ascending by (ID, Period), entries and records ascending
	filtered []uint64              // by metric: number of records that are not counted in the metric
	keys     [][]byte              // distinct keys of the labels, ascending
	keyOf    []uint32              // by label: index of its key
}

// merged holds reusable memory for the users of merged contributions.
type merged struct {
	refs, spare []userRef
	users       []schemas.ContribUser
	entries     []schemas.KeyCount
}

// mergeBatches merges the batches of one shard and turn. It also returns their number of records.
// The users in the result are valid until m is used again.
func mergeBatches(r *Rules, m *merged, batches []schemas.Contributions) (*contributions, uint64, error) {
	parts := make([]*contributions, len(batches))
	var records uint64
	for i := range batches {
		records += batches[i].Records
		parts[i] = &contributions{labels: batches[i].Labels, users: batches[i].Users}
	}
	c, err := m.merge(parts)
	if err != nil {
		return nil, 0, err
	}
	c.filtered = c.countFiltered(r)
	return c, records, nil
}

// merge merges contributions, in any order, and adds up the numbers of filtered records.
func (m *merged) merge(parts []*contributions) (*contributions, error) {
	c := &contributions{}
	for _, p := range parts {
		for i, n := range p.filtered {
			if i == len(c.filtered) {
				c.filtered = append(c.filtered, 0)
			}
			c.filtered[i] += n
		}
	}
	if err := m.join(c, parts, c.mergeLabels(parts)); err != nil {
		return nil, err
	}
	c.index()
	return c, nil
}

// labelRef is the position of a label among the parts. lead is the beginning of the label's key:
// most comparisons use only lead and do not read the label.
type labelRef struct {
	lead        uint64
	part, label uint32
}

// mergeLabels merges the dictionaries of the parts. It returns the new numbers of their labels.
func (c *contributions) mergeLabels(parts []*contributions) [][]uint32 {
	renumbered := make([][]uint32, len(parts))
	labels := 0
	for _, p := range parts {
		labels += len(p.labels)
	}
	refs := make([]labelRef, 0, labels)
	for i, p := range parts {
		renumbered[i] = make([]uint32, len(p.labels))
		for l := range p.labels {
			refs = append(refs, labelRef{leadOf(p.labels[l].Key), uint32(i), uint32(l)})
		}
	}
	labelAt := func(r labelRef) *schemas.Label { return &parts[r.part].labels[r.label] }
	refs, _ = runs.Sort(refs, nil, func(a, b labelRef) int {
		if a.lead != b.lead {
			return cmp.Compare(a.lead, b.lead)
		}
		return labelAt(a).Compare(*labelAt(b))
	})
	c.labels = make([]schemas.Label, 0, len(refs)/max(1, len(parts)))
	for i := range refs {
		l := labelAt(refs[i])
		if n := len(c.labels); n == 0 || c.labels[n-1].Compare(*l) != 0 {
			c.labels = append(c.labels, *l)
		}
		renumbered[refs[i].part][refs[i].label] = uint32(len(c.labels) - 1)
	}
	return renumbered
}

// leadOf returns the first eight bytes of a key as a number. Different numbers order the keys.
func leadOf(key []byte) uint64 {
	var lead [8]byte
	copy(lead[:], key)
	return binary.BigEndian.Uint64(lead[:])
}

// userRef is the position of a user among the parts. lead is the beginning of the account id:
// nearly all comparisons use only lead and do not read the user.
type userRef struct {
	lead       uint64
	part, user uint32
}

// join merges the users of the parts and renumbers their labels.
func (m *merged) join(c *contributions, parts []*contributions, renumbered [][]uint32) error {
	users, entries := 0, 0
	for _, p := range parts {
		users += len(p.users)
	}
	refs := slices.Grow(m.refs[:0], users)
	for i, p := range parts {
		for u := range p.users {
			entries += len(p.users[u].Entries)
			refs = append(refs, userRef{binary.BigEndian.Uint64(p.users[u].ID[:]), uint32(i), uint32(u)})
		}
	}
	userAt := func(r userRef) *schemas.ContribUser { return &parts[r.part].users[r.user] }
	compare := func(a, b userRef) int {
		if a.lead != b.lead {
			return cmp.Compare(a.lead, b.lead)
		}
		return schemas.CompareUsers(userAt(a), userAt(b))
	}
	refs, m.spare = runs.Sort(refs, m.spare, compare)
	arena := slices.Grow(m.entries[:0], entries)
	c.users = slices.Grow(m.users[:0], users)
	for i := 0; i < len(refs); {
		first := refs[i]
		u := schemas.ContribUser{ID: userAt(first).ID, Period: userAt(first).Period}
		from := len(arena)
		for ; i < len(refs) && compare(refs[i], first) == 0; i++ {
			var err error
			if arena, u.Records, err = renumber(arena, u.Records, userAt(refs[i]), renumbered[refs[i].part]); err !=
				nil {
				return err
			}
		}
		merged := mergeEntries(arena[from:])
		arena = arena[:from+len(merged)]
		u.Entries = arena[from:len(arena):len(arena)]
		u.Records = mergeRecords(u.Records)
		c.users = append(c.users, u)
	}
	m.refs, m.entries, m.users = refs, arena, c.users
	return nil
}

// renumber appends a user's entries and records with the new numbers of their labels.
func renumber(entries []schemas.KeyCount, records []schemas.RecordValue, u *schemas.ContribUser,
	renumbered []uint32) ([]schemas.KeyCount, []schemas.RecordValue, error) {
	for _, e := range u.Entries {
		if int(e.Key) >= len(renumbered) {
			return nil, nil, errDictionary
		}
		entries = append(entries, schemas.KeyCount{Key: renumbered[e.Key], N: e.N})
	}
	for _, v := range u.Records {
		if int(v.Key) >= len(renumbered) {
			return nil, nil, errDictionary
		}
		v.Key = renumbered[v.Key]
		records = append(records, v)
	}
	return entries, records, nil
}

var errDictionary = errors.New("merging contributions: a label's index points past its dictionary")

// mergeEntries sorts entries and adds up those with the same label. Sums saturate far above caps.
func mergeEntries(entries []schemas.KeyCount) []schemas.KeyCount {
	if len(entries) < 2 {
		return entries
	}
	slices.SortFunc(entries, func(a, b schemas.KeyCount) int { return cmp.Compare(a.Key, b.Key) })
	merged := entries[:0]
	for _, e := range entries {
		if n := len(merged); n > 0 && merged[n-1].Key == e.Key {
			merged[n-1].N = addSaturating(merged[n-1].N, e.N)
			continue
		}
		merged = append(merged, e)
	}
	return merged
}

func mergeRecords(records []schemas.RecordValue) []schemas.RecordValue {
	if len(records) < 2 {
		return records
	}
	slices.SortFunc(records, func(a, b schemas.RecordValue) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), bytes.Compare(a.ID[:], b.ID[:]))
	})
	merged := records[:0]
	for _, v := range records {
		if n := len(merged); n > 0 && merged[n-1].Key == v.Key && merged[n-1].ID == v.ID {
			merged[n-1].N = addSaturating(merged[n-1].N, v.N)
			continue
		}
		merged = append(merged, v)
	}
	return merged
}

func addSaturating(a, b uint32) uint32 {
	return uint32(min(uint64(a)+uint64(b), math.MaxUint32))
}

// index sets keys and keyOf.
func (c *contributions) index() {
	c.keyOf = make([]uint32, len(c.labels))
	for i, l := range c.labels {
		if i == 0 || !bytes.Equal(c.labels[i-1].Key, l.Key) {
			c.keys = append(c.keys, l.Key)
		}
		c.keyOf[i] = uint32(len(c.keys) - 1)
	}
}

// countFiltered counts, for every metric, the records that are not counted in it.
func (c *contributions) countFiltered(r *Rules) []uint64 {
	totals := make([]uint64, len(c.labels))
	for i := range c.users {
		for _, e := range c.users[i].Entries {
			totals[e.Key] += uint64(e.N)
		}
	}
	filtered := make([]uint64, len(r.metrics))
	for i := range r.metrics {
		if !r.metrics[i].kind.Admits() {
			continue // derived metrics have no records
		}
		for l, n := range totals {
			if !r.metrics[i].counts(c.labels[l]) {
				filtered[i] += n
			}
		}
	}
	return filtered
}

// removeForgotten removes users who were forgotten. Their records are tallied as filtered.
func (c *contributions) removeForgotten(a *shardAccounts) {
	c.users = slices.DeleteFunc(c.users, func(u schemas.ContribUser) bool {
		if !a.isForgotten(u.ID) {
			return false
		}
		for _, e := range u.Entries {
			for i := range a.rules.metrics {
				if m := &a.rules.metrics[i]; m.kind.Admits() && m.counts(c.labels[e.Key]) {
					c.filtered[i] += uint64(e.N)
				}
			}
		}
		return true
	})
}

// matches reports, for every label, whether a metric counts the label's events.
func (c *contributions) matches(m *metric) []bool {
	out := make([]bool, len(c.labels))
	for i, l := range c.labels {
		out[i] = m.counts(l)
	}
	return out
}
