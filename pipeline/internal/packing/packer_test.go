package packing

import (
	"fmt"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/schemas"
)

// fill adds one event of each of n users, whose keys the function gives, to a buffer of one shard.
func fill(pool *Pool, users *Users, n int, sums bool, key func(i int) string) *Buffer {
	b := pool.Buffer()
	for i := range n {
		b.Add(&Contribution{
			User: users.Of(fmt.Appendf(nil, "user-%d", i)), Sums: sums, Value: int64(i),
			Label: schemas.Label{Key: []byte(key(i)), Passes: uint64(i % 2)},
		}, 0, Mark{})
	}
	return b
}

func ownKey(i int) string { return fmt.Sprintf("key-%d", i) }

// A turn's batches hold each label only next to users who have it: they need about as many bytes as
// one batch for all users would, however many batches there are.
func TestRuleABatchCarriesTheLabelsOfItsOwnUsersOnly(t *testing.T) {
	const n = 3*maxBatchUsers + 1000
	for _, sums := range []bool{false, true} {
		for name, key := range map[string]func(i int) string{
			"keys of their own": ownKey,
			"shared keys":       func(i int) string { return ownKey(i % 50) },
		} {
			t.Run(fmt.Sprintf("%s, sums %v", name, sums), func(t *testing.T) {
				pool, users := NewPool(1), NewUsers(testHasher(), 1, 64<<20)
				byID := map[string]int{}
				for i := range n {
					id := testHasher().Account(fmt.Appendf(nil, "user-%d", i))
					byID[string(id[:])] = i
				}
				out := must.Have(fill(pool, users, n, sums, key).Contributions(nil, 5, 1))
				if len(out) != 4 {
					t.Fatalf("%d batches, want 4", len(out))
				}
				seen := 0
				for i, e := range out {
					batch := must.Have(schemas.DecodeContributions(new(schemas.UserMemory), e.Data))
					used := make([]bool, len(batch.Labels))
					for _, u := range batch.Users {
						i, is := byID[string(u.ID[:])], schemas.Label{Key: []byte("none")}
						if len(u.Entries) == 1 && u.Entries[0].N == 1 {
							is = batch.Labels[u.Entries[0].Key]
							used[u.Entries[0].Key] = true
						}
						if want := (schemas.Label{Key: []byte(key(i)), Passes: uint64(i % 2)}); is.Compare(want) != 0 {
							t.Fatalf("user %d has label %s/%d, want %s/%d", i, is.Key, is.Passes, want.Key, want.Passes)
						}
						if !sums {
							continue
						}
						if len(u.Records) != 1 || u.Records[0].Key != u.Entries[0].Key ||
							u.Records[0].Value != int64(i) {
							t.Fatalf("user %d has records %v", i, u.Records)
						}
					}
					for l := range used {
						if !used[l] {
							t.Fatalf("batch %d holds label %s, which none of its users has", i, batch.Labels[l].Key)
						}
					}
					seen += len(batch.Users)
				}
				if seen != n {
					t.Errorf("%d users, want %d", seen, n)
				}
			})
		}
	}
}
