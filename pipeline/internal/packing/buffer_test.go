package packing

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

// One user's records can pass every set of 64 filters, under one key: what is
// searched for each of them stays short, and labels are told apart all the same.
func TestRuleARecordCostsNoMoreForTheLabelsOfItsKey(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 17))
	var keys []string
	s := &shardBuffer{indexes: map[string][]uint32{}}
	want := map[string]uint32{}
	for i := range 20_000 {
		l := schemas.Label{Key: []byte{'k', byte(i % 2)}, Passes: rng.Uint64N(1 << 12)}
		name := fmt.Sprintf("%x/%d", l.Key, l.Passes)
		at, seen := want[name]
		if !seen {
			at = uint32(len(keys))
			want[name] = at
			keys = append(keys, name)
		}
		if got := s.index(l); got != at || fmt.Sprintf("%x/%d", s.labels[got].Key, s.labels[got].Passes) != name {
			t.Fatalf("label %s is at %d, want %d", name, got, at)
		}
	}
	if len(s.labels) != len(keys) || len(keys) < 7000 {
		t.Errorf("%d labels in the dictionary, want %d", len(s.labels), len(keys))
	}
	for key, indexes := range s.indexes {
		if len(indexes) > 8 {
			t.Errorf("a record of key %x is compared with up to %d labels one by one", key, len(indexes))
		}
	}
}

// BenchmarkBuffer is what a record costs on its way into the buffer, by how many
// labels its key has.
func BenchmarkBuffer(b *testing.B) {
	for _, labels := range []int{1, 4, 8, 16, 4096, 1 << 16} {
		b.Run(fmt.Sprintf("labels=%d", labels), func(b *testing.B) {
			keys := make([][]byte, 1000)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "page-%d", i)
			}
			if labels > 16 {
				keys = keys[:1]
			}
			b.ReportAllocs()
			buf, u := New(1), &User{}
			for i := range b.N {
				if i%(1<<17) == 0 {
					buf = New(1)
				}
				c := Contribution{User: u, Label: schemas.Label{Key: keys[i%len(keys)], Passes: uint64(i / len(keys) % labels)}}
				buf.Add(&c, 0, Mark{})
			}
		})
	}
}
