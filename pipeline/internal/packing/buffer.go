package packing

import (
	"hash/maphash"
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/transforms"
)

// maxBatchUsers limits the users in a packed batch, and so the size of an element.
const maxBatchUsers = 32 << 10

// maxSpareBytes limits the memory of the buffers that a Pool keeps for reuse.
const maxSpareBytes = 64 << 20

// Pool creates buffers and reuses them. It is not safe for concurrent use.
type Pool struct {
	shards int
	seed   maphash.Seed // for hashing labels; random, because users choose the keys
	spare  []*Buffer
	bytes  int     // bytes in the spare buffers
	uses   uint64  // how often a buffer was handed out so far
	newest *Buffer // the last buffer that was created; the next turn probably has as many events
	pack   packer
}

// NewPool returns a Pool for a deployment with the given number of account shards.
func NewPool(shards int) *Pool { return &Pool{shards: shards, seed: maphash.MakeSeed()} }

// Buffer returns an empty buffer for a turn that probably has as many events as the last one.
func (p *Pool) Buffer() *Buffer {
	if last := len(p.spare) - 1; last >= 0 {
		b := p.spare[last]
		p.spare = p.spare[:last]
		p.bytes -= b.size()
		return p.beginUse(b)
	}
	b := p.Distant()
	if b.similar = p.newest; b.similar != nil {
		b.similar.similar = nil // so that a buffer keeps at most one other buffer in memory
	}
	p.newest = b
	return b
}

// Distant returns an empty buffer for a turn in the distant future. It stays in memory for long, so
// it reserves no memory for more events than it receives.
func (p *Pool) Distant() *Buffer {
	return p.beginUse(&Buffer{pool: p, shards: make([]*shardBuffer, p.shards), First: map[int32]Mark{}})
}

func (p *Pool) beginUse(b *Buffer) *Buffer {
	p.uses++
	b.use, b.last = p.uses, -1
	return b
}

// Put takes back a buffer, which must not be used afterwards. Slices from Contributions stay valid.
func (p *Pool) Put(b *Buffer) {
	for _, s := range b.shards {
		if s != nil {
			s.reset()
		}
	}
	b.Records, b.similar = 0, nil
	clear(b.First)
	if size := b.size(); p.bytes+size <= maxSpareBytes {
		p.bytes += size
		p.spare = append(p.spare, b)
	}
}

// Buffer collects the events of a turn that is not open yet. It is not safe for concurrent use.
type Buffer struct {
	Records uint64 // number of events added
	pool    *Pool
	use     uint64
	shards  []*shardBuffer // nil before the first event of a shard
	last    int32          // partition of the last event; −1 before the first
	similar *Buffer        // a buffer that probably has as many events; nil: none
	// First is the position of the first event of each partition. A restart reads from there.
	First map[int32]Mark
}

// Mark is a position of a partition from which reading can restart.
type Mark struct {
	Offset     int64
	AppendTime int64 // largest append time before Offset, in Unix milliseconds; calendar.Never: none
}

// shardBuffer holds the contributions of one shard's users. It has a row for each user and budget
// period, with a first entry and a chain of further entries. A user may have several rows; SPEND
// adds them up. No result shares this memory, because batches are encoded from it.
type shardBuffer struct {
	records uint64
	labels  labels
	rows    []row
	entries []entry
	values  []valueOfRow
}

type row struct {
	id     accounts.ID
	period int64
	entry
}

// entry is a number of events with one label. next is the index of the next entry; −1: none.
type entry struct {
	label, n uint32
	next     int32
}

// valueOfRow is a record that a sum may include, and the row to which it belongs.
type valueOfRow struct {
	row int32
	schemas.RecordValue
}

// Contribution is an accepted event on its way to a shard.
type Contribution struct {
	User   User
	Period int64            // budget period of the event, see calendar.Turns.PeriodOf
	Label  schemas.Label    // key of the event, and the filters that it passes; Add copies the key
	Sums   bool             // a sum may include the event, so Value and ID are kept
	Value  int64            // meaningless unless Sums
	ID     schemas.RecordID // meaningless unless Sums
}

// Add adds an event that is at a position of a partition. The events of a partition must be added
// in the order of their offsets.
func (b *Buffer) Add(c *Contribution, partition int32, position Mark) {
	b.Records++
	if partition != b.last {
		b.last = partition
		if _, seen := b.First[partition]; !seen {
			b.First[partition] = position
		}
	}
	shard := c.User.shard()
	s := b.shards[shard]
	if s == nil {
		s = b.newShard(shard)
	}
	s.add(b, c)
}

// newShard returns the buffer of a shard, with the capacity that the shard used in b.similar.
func (b *Buffer) newShard(shard int) *shardBuffer {
	s := &shardBuffer{}
	if b.similar != nil && b.similar.shards[shard] != nil {
		similar := b.similar.shards[shard]
		s.rows, s.entries = make([]row, 0, len(similar.rows)), make([]entry, 0, len(similar.entries))
	}
	b.shards[shard] = s
	return s
}

func (s *shardBuffer) add(b *Buffer, c *Contribution) {
	s.records++
	label := s.labels.number(b.pool.seed, c.Label)
	number, written := c.User.row(b.use)
	if written = written && s.rows[number].period == c.Period; !written {
		number = int32(len(s.rows))
		c.User.setRow(b.use, number)
		s.rows = append(s.rows, row{c.User.ID(), c.Period, entry{label, 1, -1}})
	}
	if c.Sums {
		s.values = append(s.values, valueOfRow{number, schemas.RecordValue{Key: label, N: 1, Value: c.Value, ID: c.ID}})
	}
	if !written {
		return
	}
	r := &s.rows[number]
	// The search is limited, so a row with many labels may have two entries with the same label.
	for e, tries := &r.entry, 0; tries < 16; tries++ {
		if e.label == label && e.n < 1<<31 {
			e.n++
			return
		}
		if e.next < 0 {
			break
		}
		e = &s.entries[e.next]
	}
	s.entries = append(s.entries, entry{label, 1, r.next})
	r.next = int32(len(s.entries) - 1)
}

func (s *shardBuffer) reset() {
	s.records = 0
	s.labels.reset()
	poison.Fill(s.rows, row{period: -1, entry: entry{label: math.MaxUint32}})
	poison.Fill(s.entries, entry{label: math.MaxUint32})
	poison.Fill(s.values, valueOfRow{row: -1})
	s.rows, s.entries, s.values = s.rows[:0], s.entries[:0], s.values[:0]
}

// size returns an estimate of the buffer's memory in bytes.
func (b *Buffer) size() int {
	n := 8 * len(b.shards)
	for _, s := range b.shards {
		if s != nil {
			n += 40*cap(s.rows) + 12*cap(s.entries) + 48*cap(s.values) + 32*cap(s.labels.list) + cap(s.labels.keys) +
				8*len(s.labels.index.slots) + 200
		}
	}
	return n
}

// Contributions appends the turn's contributions to out, packed in batches for every shard. They
// ascend by account id and period, within a batch and from batch to batch. epoch is the offset of
// the EPOCH in which the turn is opened.
func (b *Buffer) Contributions(out []transforms.Element, epoch int64, turn uint64) ([]transforms.Element, error) {
	for n, s := range b.shards {
		if s == nil || s.records == 0 {
			continue
		}
		var err error
		if out, err = b.pool.pack.batches(out, s,
			schemas.Contributions{Epoch: epoch, Turn: turn, Shard: uint32(n)}); err != nil {
			return nil, err
		}
	}
	return out, nil
}
