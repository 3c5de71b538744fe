package spend

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
)

// markCase returns a user with two labels for each of the slice's keys, of which the
// metric takes one, in a window that has other keys as well.
func markCase(keys int, step uint32) (*retention, *metric, []kept) {
	own := &contributions{}
	u := &schemas.ContribUser{}
	for k := range keys {
		for passes := range uint64(2) {
			u.Entries = append(u.Entries, schemas.KeyCount{Key: uint32(len(own.labels)), N: 1})
			own.labels = append(own.labels, schemas.Label{Key: binary.BigEndian.AppendUint32(nil, uint32(k)), Passes: passes})
		}
	}
	own.index()
	var to []int32
	var stays []kept
	for k := uint32(0); k < uint32(2*keys); k += step {
		stays = append(stays, kept{key: k, total: 1})
	}
	for k := range 2 * keys { // every second key of the window is the slice's
		to = append(to, -1)
		if k%2 == 1 {
			to[k] = int32(k / 2)
		}
	}
	n := &retention{ended: &endedWindows{own: own}, toOwn: [][]int32{to}, open: make([]bool, len(own.labels)), sums: make([]bool, len(own.labels))}
	return n.forUser(u), &metric{filter: 1}, stays
}

// An admission rests on the user's entries of the keys that stay, whichever of
// the window's keys those are, and on no other.
func TestAnAdmissionRestsOnTheKeysThatStay(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 2, 3))
	for range 300 {
		n, m, stays := markCase(1+rng.IntN(40), 1)
		stays = slices.DeleteFunc(stays, func(kept) bool { return rng.IntN(3) == 0 })
		n.mark(0, m, stays)
		for i, e := range n.user.Entries {
			key := n.ended.own.keyOf[e.Key]
			want := i%2 == 1 && slices.ContainsFunc(stays, func(k kept) bool { return k.key == 2*key+1 })
			if n.entries[i] != want || n.records[i] {
				t.Fatalf("entry %d of key %d: %v, want %v", i, key, n.entries[i], want)
			}
		}
	}
}

// BenchmarkMark is by the number of one user's keys; the time per key must not
// depend on it.
func BenchmarkMark(b *testing.B) {
	for _, keys := range []int{10, 1000, 20_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			n, m, stays := markCase(keys, 1)
			b.ReportAllocs()
			for b.Loop() {
				n.mark(0, m, stays)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*keys), "ns/key")
		})
	}
}
