package packing

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// packer packs the rows of a shard. It reuses its memory.
type packer struct {
	order   []rowAt
	sorted  []rowAt
	starts  []uint32
	users   []schemas.ContribUser
	entries []schemas.KeyCount
	values  []schemas.RecordValue

	batch   uint32          // number of the current batch
	labels  []schemas.Label // labels of the current batch
	all     []schemas.Label // labels of the shard
	numbers []labelNumber   // by label of the shard
}

// labelNumber is the number of a label in the last batch that contains the label.
type labelNumber struct{ batch, number uint32 }

// rowAt is the index of a row, with the first bytes of its account id.
type rowAt struct {
	lead uint64
	row  uint32
}

// batches appends the rows of a shard to out, in batches. batch holds the other fields of each.
func (p *packer) batches(out []transforms.Element, s *shardBuffer,
	batch schemas.Contributions) ([]transforms.Element, error) {
	slices.SortStableFunc(s.values, func(a, b valueOfRow) int { return cmp.Compare(a.row, b.row) })
	batch.Records = s.records
	for order := p.sort(s.rows); len(order) > 0; {
		n := min(len(order), maxBatchUsers)
		p.collect(s, order[:n])
		order = order[n:]
		batch.Users, batch.Labels = p.users, p.labels
		data, err := schemas.EncodeContributions(batch)
		if err != nil {
			return nil, fmt.Errorf("packing turn %d: %w", batch.Turn, err)
		}
		out = append(out, transforms.Element{Shard: int(batch.Shard), Data: data})
		batch.Records = 0 // only the first batch counts the records
		p.poisonMemory()
	}
	return out, nil
}

// collect collects the users of rows for a batch, with a dictionary of their labels.
func (p *packer) collect(s *shardBuffer, order []rowAt) {
	p.begin(s.labels.list)
	for _, o := range order {
		r := &s.rows[o.row]
		entries := len(p.entries)
		p.entries = append(p.entries, schemas.KeyCount{Key: p.number(r.label), N: r.n})
		for entry := r.next; entry >= 0; entry = s.entries[entry].next {
			p.entries = append(p.entries, schemas.KeyCount{Key: p.number(s.entries[entry].label),
				N: s.entries[entry].n})
		}
		values := len(p.values)
		if len(s.values) > 0 {
			first, _ := slices.BinarySearchFunc(s.values, int32(o.row), func(v valueOfRow, row int32) int {
				return cmp.Compare(v.row, row)
			})
			for ; first < len(s.values) && s.values[first].row == int32(o.row); first++ {
				v := s.values[first].RecordValue
				v.Key = p.number(v.Key)
				p.values = append(p.values, v)
			}
		}
		p.users = append(p.users,
			schemas.ContribUser{ID: r.id, Period: r.period, Entries: p.entries[entries:len(p.entries):len(p.entries)],
				Records: p.values[values:len(p.values):len(p.values)]})
	}
}

// poisonMemory poisons the collected users, contributions and labels, which are no longer valid.
func (p *packer) poisonMemory() {
	poison.Fill(p.users, schemas.ContribUser{Period: -1})
	poison.Fill(p.entries, schemas.KeyCount{Key: math.MaxUint32})
	poison.Fill(p.values, schemas.RecordValue{Key: math.MaxUint32})
	poison.Fill(p.labels, schemas.Label{Key: []byte("given back")})
}

// begin starts an empty batch. all holds the labels of the shard.
func (p *packer) begin(all []schemas.Label) {
	if len(p.numbers) < len(all) {
		p.numbers = make([]labelNumber, len(all))
	}
	p.batch++
	p.all, p.labels = all, p.labels[:0]
	p.users, p.entries, p.values = p.users[:0], p.entries[:0], p.values[:0]
}

// number returns the number that a label of the shard has in the batch.
func (p *packer) number(label uint32) uint32 {
	if n := p.numbers[label]; n.batch == p.batch {
		return n.number
	}
	return p.addLabel(label)
}

func (p *packer) addLabel(label uint32) uint32 {
	n := uint32(len(p.labels))
	p.numbers[label] = labelNumber{p.batch, n}
	p.labels = append(p.labels, p.all[label])
	return n
}

// sort returns the rows in ascending order of account id, period and position. Account ids are
// uniformly distributed. So sort first divides the rows, by their leading bits, into about as many
// ranges as there are rows, and then sorts within each range.
func (p *packer) sort(rows []row) []rowAt {
	width := max(bits.Len(uint(len(rows)))-1, 1)
	p.starts = append(p.starts[:0], make([]uint32, 1<<width+1)...)
	p.order = p.order[:0]
	for i := range rows {
		lead := binary.BigEndian.Uint64(rows[i].id[:])
		p.order = append(p.order, rowAt{lead, uint32(i)})
		p.starts[lead>>(64-width)+1]++
	}
	for i := range 1 << width {
		p.starts[i+1] += p.starts[i]
	}
	p.sorted = slices.Grow(p.sorted[:0], len(rows))[:len(rows)]
	for _, o := range p.order {
		start := &p.starts[o.lead>>(64-width)]
		p.sorted[*start] = o
		*start++
	}
	// starts[i] is now the end of range i.
	from := uint32(0)
	for _, to := range p.starts[:1<<width] {
		if to-from > 1 {
			slices.SortFunc(p.sorted[from:to], func(a, b rowAt) int { return compareRows(rows, a, b) })
		}
		from = to
	}
	return p.sorted
}

func compareRows(rows []row, a, b rowAt) int {
	if a.lead != b.lead {
		return cmp.Compare(a.lead, b.lead)
	}
	return cmp.Or(bytes.Compare(rows[a.row].id[:], rows[b.row].id[:]),
		cmp.Compare(rows[a.row].period, rows[b.row].period), cmp.Compare(a.row, b.row))
}
