package packing

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"maps"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// One user's records can pass every set of 64 filters, under one key: searches stay short for each
// of them, and labels remain distinct all the same.
func TestRuleARecordCostsNoMoreForTheLabelsOfItsKey(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 5, 17))
	var keys []string
	var s labels
	seed := maphash.MakeSeed()
	want := map[string]uint32{}
	for i := range 20_000 {
		l := schemas.Label{Key: []byte{'k', byte(i % 2)}, Passes: rng.Uint64N(1 << 12)}
		name := fmt.Sprintf("%x/%d", l.Key, l.Passes)
		number, seen := want[name]
		if !seen {
			number = uint32(len(keys))
			want[name] = number
			keys = append(keys, name)
		}
		if got := s.number(seed, l); got != number || fmt.Sprintf("%x/%d", s.list[got].Key, s.list[got].Passes) !=
			name {
			t.Fatalf("label %s is at %d, want %d", name, got, number)
		}
	}
	if len(s.list) != len(keys) || len(keys) < 7000 {
		t.Errorf("%d labels in the dictionary, want %d", len(s.list), len(keys))
	}
	if long := s.index.longestRun(); long > 256 {
		t.Errorf("a label is looked for among up to %d others: their hashes collide", long)
	}
	for _, l := range []schemas.Label{{Key: []byte("other"), Passes: s.list[0].Passes},
		{Key: s.list[0].Key, Passes: 1 << 40}} {
		h := maphash.Bytes(seed, l.Key)
		if l.Passes != 0 {
			h ^= bits.RotateLeft64(maphash.Comparable(seed, l.Passes), 1)
		}
		s.index.put(uint32(h), 0) // as if the first label had the same hash as l
		if got := s.number(seed, l); got == 0 {
			t.Errorf("%q, %d is taken for another label of its hash", l.Key, l.Passes)
		}
	}
}

// model is what a turn's contributions are, whatever the order and the packing.
type model map[string]uint64

func (m model) add(shard int, id accounts.ID, period int64, l schemas.Label, n uint64) {
	m[fmt.Sprintf("%d/%x/%d/%q/%d", shard, id, period, l.Key, l.Passes)] += n
}

// A buffer returns the events that were added, in the order of account ids and periods, even if it
// is reused; and its earlier results do not change when it is.
func TestRuleAUsedBufferKeepsAndChangesNothing(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 8, 15))
	const shards = 3
	pool, users := NewPool(shards), NewUsers(testHasher(), shards, 4<<20)
	type handed struct {
		data, was []byte
	}
	var all []handed
	buffers := map[*Buffer]bool{}
	for turn := uint64(1); turn <= 12; turn++ {
		b, want, values, first := pool.Buffer(), model{}, model{}, map[int32]Mark{}
		other := pool.Buffer() // another turn is read at the same time
		buffers[b], buffers[other] = true, true
		if b.Records != 0 || len(b.First) != 0 {
			t.Fatalf("turn %d: the buffer is not empty: %d records, first %v", turn, b.Records, b.First)
		}
		population, events := 1+rng.IntN(5000), 1+rng.IntN(20_000)
		if turn == 7 {
			population, events = 150_000, 250_000 // several batches for a shard
		}
		for i := range events {
			u := users.Of(fmt.Appendf(nil, "user-%d", rng.IntN(population)))
			c := Contribution{
				User: u, Period: int64(rng.IntN(3)) - 1, Sums: turn%2 == 0,
				Label: schemas.Label{Key: fmt.Appendf(nil, "key-%d-%d", turn%3, rng.IntN(9)), Passes: rng.Uint64N(3)},
				Value: rng.Int64N(100), ID: schemas.RecordID{byte(i), byte(i >> 8), byte(i >> 16)},
			}
			if rng.IntN(4) == 0 {
				other.Add(&c, 1, Mark{})
				continue
			}
			from, mark := int32((i/8+int(turn))%2), Mark{Offset: int64(i)}
			b.Add(&c, from, mark)
			if _, seen := first[from]; !seen {
				first[from] = mark
			}
			want.add(u.shard(), u.ID(), c.Period, c.Label, 1)
			if c.Sums {
				values[fmt.Sprintf("%x/%d/%x", u.ID(), c.Value, c.ID)]++
			}
		}
		if !maps.Equal(b.First, first) {
			t.Fatalf("turn %d: the first events are %v, want %v", turn, b.First, first)
		}
		added := b.Records
		out := must.Have(b.Contributions(nil, 5, turn))
		pool.Put(b)
		pool.Put(other)
		got, gotValues, records := model{}, model{}, uint64(0)
		last, labels := map[int]*schemas.ContribUser{}, map[string]bool{}
		for _, e := range out {
			all = append(all, handed{e.Data, bytes.Clone(e.Data)})
			batch := must.Have(schemas.DecodeContributions(new(schemas.UserMemory), e.Data))
			if batch.Turn != turn || batch.Epoch != 5 || int(batch.Shard) != e.Shard {
				t.Fatalf("turn %d, epoch %d, shard %d in an element of turn %d, shard %d", batch.Turn, batch.Epoch,
					batch.Shard, turn, e.Shard)
			}
			records += batch.Records
			for _, l := range batch.Labels {
				labels[fmt.Sprintf("%q/%d", l.Key, l.Passes)] = true
			}
			for i := range batch.Users {
				u := &batch.Users[i]
				if before := last[e.Shard]; before != nil && schemas.CompareUsers(before, u) > 0 {
					t.Fatalf("turn %d, shard %d: rows are out of order", turn, e.Shard)
				}
				last[e.Shard] = u
				for _, n := range u.Entries {
					got.add(e.Shard, u.ID, u.Period, batch.Labels[n.Key], uint64(n.N))
				}
				for _, v := range u.Records {
					gotValues[fmt.Sprintf("%x/%d/%x", u.ID, v.Value, v.ID)] += uint64(v.N)
				}
			}
		}
		for name := range labels {
			if !strings.HasPrefix(name, fmt.Sprintf(`"key-%d-`, turn%3)) {
				t.Fatalf("turn %d hands on label %s, which is of another turn", turn, name)
			}
		}
		if records != added || !maps.Equal(got, want) || !maps.Equal(gotValues, values) {
			t.Fatalf("turn %d: %d records, want %d; contributions as they were added: %v; their values: %v", turn,
				records, added, maps.Equal(got, want), maps.Equal(gotValues, values))
		}
	}
	if len(buffers) > 4 {
		t.Errorf("%d buffers were made for 12 turns, of which 2 are read at the same time", len(buffers))
	}
	for i, h := range all {
		if !bytes.Equal(h.data, h.was) {
			t.Fatalf("batch %d has changed since it was handed on", i)
		}
	}
}
