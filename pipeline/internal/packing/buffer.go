package packing

import (
	"hash/maphash"
	"math"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/transforms"
)

// maxBatchUsers bounds the users of one packed batch, and so the size of an element.
const maxBatchUsers = 32 << 10

// maxSpareBytes bounds the memory of buffers that wait to be used again.
const maxSpareBytes = 64 << 20

// Pool makes buffers, and takes them back to be used again. Not for concurrent use.
type Pool struct {
	shards int
	seed   maphash.Seed // for hashing labels, whose keys are chosen by others
	spare  []*Buffer
	bytes  int     // bytes in the spare buffers
	uses   uint64  // counts uses over all buffers: no two turns have the same
	before *Buffer // the one that was made last: the next turn is likely to need as much
	pack   packer
}

// NewPool returns a Pool for a deployment with so many account shards.
func NewPool(shards int) *Pool { return &Pool{shards: shards, seed: maphash.MakeSeed()} }

// Buffer returns an empty buffer for a turn that is likely to have as many events as the last one.
func (p *Pool) Buffer() *Buffer {
	if last := len(p.spare) - 1; last >= 0 {
		b := p.spare[last]
		p.spare = p.spare[:last]
		p.bytes -= b.size()
		return p.used(b)
	}
	b := p.Distant()
	if b.like = p.before; b.like != nil {
		b.like.like = nil // so that a buffer keeps at most one other in memory
	}
	p.before = b
	return b
}

// Distant returns an empty buffer for a turn that may stay in memory for long and has few events:
// the buffer needs memory only for these.
func (p *Pool) Distant() *Buffer {
	return p.used(&Buffer{pool: p, shards: make([]*shardBuffer, p.shards), First: map[int32]Mark{}})
}

func (p *Pool) used(b *Buffer) *Buffer {
	p.uses++
	b.use, b.last = p.uses, -1
	return b
}

// Put returns a buffer to the pool; it must not be used any more. Slices from Contributions stay
// valid.
func (p *Pool) Put(b *Buffer) {
	for _, s := range b.shards {
		if s != nil {
			s.reset()
		}
	}
	b.Records, b.like = 0, nil
	clear(b.First)
	if size := b.size(); p.bytes+size <= maxSpareBytes {
		p.bytes += size
		p.spare = append(p.spare, b)
	}
}

// Buffer collects the events read for one turn that is not open yet. Not for concurrent use.
type Buffer struct {
	Records uint64 // how many events were added
	pool    *Pool
	use     uint64
	shards  []*shardBuffer // nil: no event of the shard was ever added
	last    int32          // the partition of the last event; −1 before the first
	like    *Buffer        // a buffer with probably as many events; nil for none
	// First is, for each partition of the events topic, the first event added from it: a restart
	// reads from there.
	First map[int32]Mark
}

// Mark is an offset of a partition at which to restart reading.
type Mark struct {
	Offset     int64
	AppendTime int64 // the largest append time before it, Unix milliseconds; calendar.Never without one
}

// shardBuffer is what the users of one shard contributed: a row for a user and
// period, with an entry and, after the first, a chain of more. A user may have several rows,
// which SPEND adds up. Nothing of it is handed on: batches are encoded from it.
type shardBuffer struct {
	records uint64
	labels  labels
	rows    []row
	entries []entry
	values  []recordOf
}

type row struct {
	id     accounts.ID
	period int64
	entry
}

// entry is a number of events of one label; more is the row's next entry in entries, −1 for none.
type entry struct {
	label, n uint32
	more     int32
}

// recordOf is a record that a sum may take, with its row.
type recordOf struct {
	row int32
	schemas.RecordValue
}

// Contribution is an accepted event on its way to a shard.
type Contribution struct {
	User   User
	Period int64            // the budget period of the event, as calendar.Turns.PeriodOf numbers it
	Label  schemas.Label    // its key and the filters that it passes; Add copies the key
	Sums   bool             // some sum may take the event: Value and ID are kept
	Value  int64            // without meaning unless Sums
	ID     schemas.RecordID // without meaning unless Sums
}

// Add adds an event that was read from a partition at an offset, at. Events of a partition are
// added in the order of their offsets.
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

// newShard returns the shard's buffer, with the room that the shard has needed the last time.
func (b *Buffer) newShard(shard int) *shardBuffer {
	s := &shardBuffer{}
	if b.like != nil && b.like.shards[shard] != nil {
		like := b.like.shards[shard]
		s.rows, s.entries = make([]row, 0, len(like.rows)), make([]entry, 0, len(like.entries))
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
		s.values = append(s.values, recordOf{number, schemas.RecordValue{Key: label, N: 1, Value: c.Value, ID: c.ID}})
	}
	if !written {
		return
	}
	r := &s.rows[number]
	// A row with many labels gets some entries twice.
	for e, tries := &r.entry, 0; tries < 16; tries++ {
		if e.label == label && e.n < 1<<31 {
			e.n++
			return
		}
		if e.more < 0 {
			break
		}
		e = &s.entries[e.more]
	}
	s.entries = append(s.entries, entry{label, 1, r.more})
	r.more = int32(len(s.entries) - 1)
}

func (s *shardBuffer) reset() {
	s.records = 0
	s.labels.reset()
	poison.Fill(s.rows, row{period: -1, entry: entry{label: math.MaxUint32}})
	poison.Fill(s.entries, entry{label: math.MaxUint32})
	poison.Fill(s.values, recordOf{row: -1})
	s.rows, s.entries, s.values = s.rows[:0], s.entries[:0], s.values[:0]
}

// size is about how many bytes a buffer holds.
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

// Contributions appends the turn's contributions to out, packed for every shard in batches that
// ascend by account id and period, in each and from one to the next. epoch is the offset of the
// EPOCH in which the turn is opened.
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
