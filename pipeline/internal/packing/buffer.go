package packing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state"
	"github.com/tollgate-dp/tollgate/transforms"
)

// maxBatchUsers bounds the users of one packed batch, and so the size of an element.
const maxBatchUsers = 32 << 10

// Buffer holds what was read for one turn that is not open yet. Not for concurrent use.
type Buffer struct {
	Records uint64 // how many events were added
	shards  []*shardBuffer
	// First holds, for each partition of the events topic, the first event that was
	// added from it: a restart reads from there on.
	First map[int32]Mark
}

// Mark is an offset of a partition from which to read again.
type Mark struct {
	Offset     int64
	AppendTime int64 // the largest append time before it, Unix milliseconds; calendar.Never without one
}

// shardBuffer is what the users of one shard contributed: a row for a user and
// period, with a chain of entries. A user may have several rows, which SPEND
// adds up.
type shardBuffer struct {
	records uint64
	indexes map[string][]uint32 // by key: its first labels, at most fewLabels
	more    map[moreLabel]uint32
	labels  []schemas.Label
	rows    []row
	entries []entry
	values  []recordOf
}

// fewLabels are the labels of a key that are looked through one by one: nearly
// every key has fewer.
const fewLabels = 8

// moreLabel is a label beyond the first ones of a key; first is the index of the key's
// first label.
type moreLabel struct {
	first  uint32
	passes uint64
}

type row struct {
	id     state.AccountID
	period int64
	last   int32 // entry
}

// entry is a number of events of one label; before is the row's entry before
// it, −1 for none.
type entry struct {
	label, n uint32
	before   int32
}

// recordOf is a record that a sum may take, with its row.
type recordOf struct {
	row int32
	schemas.RecordValue
}

// User is a user whose account id was computed, with the row that was last
// written for the user: in most input a user's events of a turn stand close
// together. A User is used with the buffers of one session of reading.
type User struct {
	ID     state.AccountID
	Shard  int // of the account: schemas.ShardOf the id
	in     *shardBuffer
	period int64
	row    int32
}

// Contribution is an accepted event on its way to a shard.
type Contribution struct {
	User   *User
	Period int64            // the budget period of the event, as calendar.Turns.PeriodOf numbers it
	Label  schemas.Label    // its key and the filters that it passes; Add copies the key
	Sums   bool             // some sum may take the event: Value and ID are kept
	Value  int64            // without meaning unless Sums
	ID     schemas.RecordID // without meaning unless Sums
}

// New returns an empty buffer for a deployment with so many account shards.
func New(shards int) *Buffer {
	return &Buffer{shards: make([]*shardBuffer, shards), First: map[int32]Mark{}}
}

// Add adds an event that was read from a partition at an offset, at. Events of a
// partition come in the order of their offsets.
func (b *Buffer) Add(c *Contribution, partition int32, at Mark) {
	b.Records++
	if _, seen := b.First[partition]; !seen {
		b.First[partition] = at
	}
	s := b.shards[c.User.Shard]
	if s == nil {
		s = &shardBuffer{indexes: map[string][]uint32{}}
		b.shards[c.User.Shard] = s
	}
	s.add(c)
}

func (s *shardBuffer) add(c *Contribution) {
	s.records++
	label := s.index(c.Label)
	u := c.User
	if u.in != s || u.period != c.Period {
		u.in, u.period, u.row = s, c.Period, int32(len(s.rows))
		s.rows = append(s.rows, row{u.ID, c.Period, -1})
	}
	r := &s.rows[u.row]
	if c.Sums {
		s.values = append(s.values, recordOf{u.row, schemas.RecordValue{Key: label, N: 1, Value: c.Value, ID: c.ID}})
	}
	// A row with many labels gets some entries twice.
	for at, tries := r.last, 0; at >= 0 && tries < 16; at, tries = s.entries[at].before, tries+1 {
		if e := &s.entries[at]; e.label == label && e.n < 1<<31 {
			e.n++
			return
		}
	}
	s.entries = append(s.entries, entry{label, 1, r.last})
	r.last = int32(len(s.entries) - 1)
}

// index returns a label's index in the dictionary. A key has few labels, one for every
// set of filters that its events pass, unless records were made to pass many such sets:
// these must not make each other dearer.
func (s *shardBuffer) index(l schemas.Label) uint32 {
	indexes := s.indexes[string(l.Key)]
	for _, p := range indexes {
		if s.labels[p].Passes == l.Passes {
			return p
		}
	}
	p := uint32(len(s.labels))
	if len(indexes) < fewLabels {
		key := string(l.Key)
		s.indexes[key] = append(indexes, p)
		s.labels = append(s.labels, schemas.Label{Key: []byte(key), Passes: l.Passes})
		return p
	}
	at := moreLabel{indexes[0], l.Passes}
	if known, ok := s.more[at]; ok {
		return known
	}
	if s.more == nil {
		s.more = map[moreLabel]uint32{}
	}
	s.more[at] = p
	s.labels = append(s.labels, schemas.Label{Key: s.labels[indexes[0]].Key, Passes: l.Passes})
	return p
}

// Contributions appends the turn's contributions to out, packed for every shard in
// batches, and empties the buffer: nothing can be added afterwards. epoch is the offset
// of the EPOCH in which the turn is opened.
func (b *Buffer) Contributions(out []transforms.Element, epoch int64, turn uint64) ([]transforms.Element, error) {
	var pack packer
	for n, s := range b.shards {
		if s == nil {
			continue
		}
		var err error
		if out, err = pack.batches(out, s, schemas.Contributions{Epoch: epoch, Turn: turn, Shard: uint32(n)}); err != nil {
			return nil, err
		}
		*s = shardBuffer{} // known users still point at it
	}
	return out, nil
}

// packer is the scratch of packing.
type packer struct {
	users   []schemas.ContribUser
	entries []schemas.KeyCount
	values  []schemas.RecordValue
}

// batches appends the shard's rows in batches, each with the head given.
func (p *packer) batches(out []transforms.Element, s *shardBuffer, batch schemas.Contributions) ([]transforms.Element, error) {
	slices.SortStableFunc(s.values, func(a, b recordOf) int { return cmp.Compare(a.row, b.row) })
	batch.Records, batch.Labels = s.records, s.labels
	value := 0
	for from := 0; from < len(s.rows); from += maxBatchUsers {
		to := min(from+maxBatchUsers, len(s.rows))
		p.users, p.entries, p.values = p.users[:0], p.entries[:0], p.values[:0]
		for n := from; n < to; n++ {
			r := &s.rows[n]
			entries := len(p.entries)
			for at := r.last; at >= 0; at = s.entries[at].before {
				p.entries = append(p.entries, schemas.KeyCount{Key: s.entries[at].label, N: s.entries[at].n})
			}
			values := len(p.values)
			for ; value < len(s.values) && s.values[value].row == int32(n); value++ {
				p.values = append(p.values, s.values[value].RecordValue)
			}
			p.users = append(p.users, schemas.ContribUser{ID: r.id, Period: r.period, Entries: p.entries[entries:len(p.entries):len(p.entries)],
				Records: p.values[values:len(p.values):len(p.values)]})
		}
		batch.Users = p.users
		data, err := schemas.EncodeContributions(batch)
		if err != nil {
			return nil, fmt.Errorf("packing turn %d: %w", batch.Turn, err)
		}
		out = append(out, transforms.Element{Shard: int(batch.Shard), Data: data})
		batch.Records = 0 // counted once, with the first batch
	}
	return out, nil
}
