package packing

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
)

func testHasher() *schemas.Hasher { return schemas.NewHasher([32]byte{7}) }

func (t *Users) known() (n int) {
	for i := range t.parts {
		n += t.parts[i].count
	}
	return n
}

// longestRun returns the longest run of occupied slots of an index: no search visits more.
func (x *index) longestRun() (longest int) {
	for slot, run := 0, 0; slot < 2*len(x.slots); slot++ {
		if run++; x.slots[slot%len(x.slots)] == 0 {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// Compared with a map, whatever the ids' lengths and the limit: a user has the account of the id
// and the row last written for it in this use of a buffer, or none; the memory stays below the
// limit; no call forgets more than the users of one chunk; and the count matches the contents.
func TestRuleUsersAreWhoTheyAreUpToTheBound(t *testing.T) {
	for _, test := range []struct {
		name string
		most int
		ids  int
		id   func(n int) []byte
	}{
		{"short ids, room for all", 64 << 20, 30_000, func(n int) []byte { return fmt.Appendf(nil, "user%d", n) }},
		{"short ids at the bound", 1 << 20, 60_000, func(n int) []byte { return fmt.Appendf(nil, "user%d", n) }},
		{"short ids, where the index grows at the bound", 672 << 10, 60_000,
			func(n int) []byte { return fmt.Appendf(nil, "user%d", n) }},
		{"long ids at the bound", 2 << 20, 4_000,
			func(n int) []byte { return fmt.Appendf(nil, "%0*d", 1+n*13%schemas.MaxUserBytes, n) }},
		{"ids of the greatest length", 1 << 20, 3_000,
			func(n int) []byte { return fmt.Appendf(nil, "%0*d", schemas.MaxUserBytes, n) }},
		{"a bound of nothing", 0, 20_000, func(n int) []byte { return fmt.Appendf(nil, "%d", n) }},
		{"prefixes of each other", 1 << 20, 1024, func(n int) []byte { return bytes.Repeat([]byte{0}, n+1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			rng := rand.New(runseed.PCG(t, 12, 2))
			hasher := testHasher()
			users := NewUsers(testHasher(), 16, test.most)
			type written struct {
				use uint64
				row int32
			}
			rows := map[string]written{}
			use := uint64(1)
			for i := range 200_000 {
				if i%10_000 == 9_999 {
					use++
				}
				id := test.id(rng.IntN(test.ids))
				before := users.known()
				u := users.Of(id)
				if want := hasher.Account(id); i%16 == 0 && (u.ID() != want || u.shard() != schemas.ShardOf(want, 16)) {
					t.Fatalf("call %d: the user of id %.20q has another account or shard", i, id)
				}
				if row, has := u.row(use); has && rows[string(id)] != (written{use, row}) {
					t.Fatalf("call %d: row %d of use %d, was never written for this user", i, row, use)
				}
				row := int32(rng.Uint32() >> 1)
				u.setRow(use, row)
				rows[string(id)] = written{use, row}
				if got, has := users.Of(id).row(use); !has || got != row {
					t.Fatalf("call %d: the row that was just written is %d, %v", i, got, has)
				}
				if users.bytes() > max(test.most, chunkBytes+users.slots*8) {
					t.Fatalf("call %d: %d bytes are taken, the bound is %d", i, users.bytes(), test.most)
				}
				if after := users.known(); after < before-2*chunkBytes/32 { // a chunk each for records and index
					t.Fatalf("call %d: of %d known users %d are left", i, before, after)
				}
			}
			taken, slots := 0, 0
			for _, c := range users.chunks {
				taken += len(c.bytes)
			}
			for i := range users.parts {
				slots += len(users.parts[i].slots)
			}
			if got := taken + 8*slots; got != users.bytes() {
				t.Errorf("%d bytes are taken, counted are %d", got, users.bytes())
			}
		})
	}
}

// At the limit users are found less often only gradually: with a quarter more recurring users than
// there is room for, most are still found.
func TestRuleTheBoundOfKnownUsersIsNoCliff(t *testing.T) {
	const most = 4 << 20
	id := func(n int) []byte { return fmt.Appendf(nil, "user%07d", n) }
	users := NewUsers(testHasher(), 16, most)
	room := 0
	for ; users.withMemory == 0 || users.bytes()+chunkBytes <= most; room++ {
		users.Of(id(room))
	}
	for _, c := range []struct{ more, found float64 }{{0.9, 1}, {1.1, 0.6}, {1.25, 0.4}, {2, 0.1}} {
		n := int(float64(room) * c.more)
		for range 5 { // forgetting takes a few rounds to settle
			for i := range n {
				users.Of(id(i))
			}
		}
		found := 0
		for i := range n {
			before := users.known()
			open, used := users.open, users.chunks[users.open].used
			users.Of(id(i))
			if users.open == open && users.chunks[open].used == used && users.known() == before {
				found++
			}
		}
		if got := float64(found) / float64(n); got < c.found {
			t.Errorf("of %.2f times the users that there is room for, %.2f are found, want at least %.2f", c.more, got,
				c.found)
		}
	}
}

// No set of ids makes searching slow, for positions depend on a key that another process does not
// have: ids that were made to collide in one table are scattered in the next.
func TestRuleIDsMadeToCollideAreScattered(t *testing.T) {
	one := NewUsers(testHasher(), 1, 64<<20)
	two := NewUsers(testHasher(), 1, 64<<20)
	const wanted = 2000
	for n := uint64(0); one.known() < wanted; n++ {
		id := binary.LittleEndian.AppendUint64(nil, n)
		if h := maphash.Bytes(one.seed, id); h>>58 != 5 || h&7 != 3 {
			continue
		}
		one.Of(id)
		two.Of(id)
	}
	if got := one.parts[5].count; got != wanted {
		t.Fatalf("%d of %d ids collide in the table that they were made for", got, wanted)
	}
	for i := range two.parts {
		if p := &two.parts[i]; p.count > wanted/16 || p.longestRun() > 64 {
			t.Errorf("part %d has %d of %d users, and a search looks at up to %d of them", i, p.count, wanted,
				p.longestRun())
		}
	}
}

// Two ids whose hashes are the same are two users: ids are compared.
func TestRuleUsersOfOneHashAreTwo(t *testing.T) {
	users := NewUsers(testHasher(), 1, 64<<20)
	a, b := []byte("alice"), []byte("bobby")
	users.Of(a) // at position 0
	h := maphash.Bytes(users.seed, b)
	users.part(h).put(uint32(h), 0) // as if alice's hash were bobby's
	if got := users.Of(b).ID(); got != testHasher().Account(b) {
		t.Error("bobby has the account of alice")
	}
}

// The index against a map, with removals.
func TestTheIndexFindsWhatIsInIt(t *testing.T) {
	rng := rand.New(runseed.PCG(t, 3, 4))
	var x index
	tags := map[uint32]uint32{} // by position
	for i := range 100_000 {
		position := rng.Uint32N(3000)
		tag, in := tags[position]
		if got, found := x.find(tag, func(p uint32) bool {
			return p == position
		}); found != in || in && got != position {
			t.Fatalf("step %d: position %d: %d, %v, want %v", i, position, got, found, in)
		}
		if in {
			x.remove(tag, position)
			delete(tags, position)
		} else {
			tags[position] = rng.Uint32() & 0x80000fff // tags, many of them close together
			x.put(tags[position], position)
		}
		if x.count != len(tags) || 4*x.count > 3*len(x.slots) {
			t.Fatalf("step %d: %d positions in %d slots, want %d positions", i, x.count, len(x.slots), len(tags))
		}
	}
	for position, tag := range tags {
		if _, found := x.find(tag, func(p uint32) bool { return p == position }); !found {
			t.Errorf("position %d is lost", position)
		}
	}
}

// BenchmarkUsers is what finding a known user costs, by how many there are, in no order.
func BenchmarkUsers(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("users=%d", n), func(b *testing.B) {
			users := NewUsers(testHasher(), 16, 256<<20)
			ids := make([]byte, 0, 10*n)
			for i := range n {
				ids = fmt.Appendf(ids, "u%09d", i)
			}
			for i := range n {
				users.Of(ids[10*i:][:10])
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				j := int(uint64(i) * 7919 % uint64(n))
				users.Of(ids[10*j:][:10])
			}
			b.ReportMetric(float64(users.bytes())/float64(users.known()), "B/user")
		})
	}
}
