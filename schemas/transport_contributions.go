package schemas

import (
	"encoding/binary"

	"github.com/tollgate-dp/tollgate/state"
)

// Contributions is a batch of what users of one shard contributed to the slice of one turn. A user may stand in several
// batches, and in one batch more than once.
type Contributions struct {
	Epoch   int64
	Turn    uint64
	Shard   uint32
	Records uint64   // accepted records in the batch
	Keys    [][]byte // dictionary, in any order
	Users   []ContribUser
}

// ContribUser is one (user, period) of a batch or of an open slice.
type ContribUser struct {
	ID      state.AccountID
	Period  int64
	Entries []KeyCount // Key is an index into the dictionary
}

// EncodeContributions encodes a batch. Errors: ErrInvalid (a key too long, an index beyond the dictionary).
func EncodeContributions(c Contributions) ([]byte, error) {
	if !keysValid(c.Keys, false) {
		return nil, invalid(KindContributions, "key too long")
	}
	if what := checkUsers(c.Users, len(c.Keys)); what != "" {
		return nil, invalid(KindContributions, what)
	}
	dst := appendTurn(make([]byte, 0, 64+24*len(c.Users)+16*len(c.Keys)), KindContributions, c.Epoch, c.Turn)
	dst = binary.AppendUvarint(dst, uint64(c.Shard))
	dst = binary.AppendUvarint(dst, c.Records)
	dst = appendKeys(dst, c.Keys)
	return appendUsers(dst, c.Users), nil
}

// DecodeContributions is the inverse of EncodeContributions. Errors: ErrMalformed, ErrVersion.
func DecodeContributions(b []byte) (Contributions, error) {
	r := newReader(b, KindContributions)
	c := Contributions{Epoch: r.varint("epoch"), Turn: r.uvarint("turn"), Shard: r.uint32("shard"),
		Records: r.uvarint("records"), Keys: r.keys("keys", false)}
	c.Users = r.users(len(c.Keys))
	if err := r.finish(); err != nil {
		return Contributions{}, err
	}
	return c, nil
}

func checkUsers(users []ContribUser, keys int) string {
	for i := range users {
		for _, kc := range users[i].Entries {
			if int64(kc.Key) >= int64(keys) {
				return "entry beyond the dictionary"
			}
		}
	}
	return ""
}

// appendUsers writes users with one head byte each (number of entries, whether the period is the one before).
func appendUsers(dst []byte, users []ContribUser) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(users)))
	entries := 0
	for i := range users {
		entries += len(users[i].Entries)
	}
	dst = binary.AppendUvarint(dst, uint64(entries))
	var period int64
	for i := range users {
		u := &users[i]
		dst = append(dst, u.ID[:]...)
		head := uint64(len(u.Entries)) << 1
		if u.Period != period {
			dst = binary.AppendUvarint(dst, head|1)
			dst = binary.AppendVarint(dst, u.Period-period)
			period = u.Period
		} else {
			dst = binary.AppendUvarint(dst, head)
		}
		dst = appendEntries(dst, u.Entries)
	}
	return dst
}

func (r *reader) users(keys int) []ContribUser {
	n := r.count("users", 17)
	arena := r.arena("entries")
	users := make([]ContribUser, n)
	var period int64
	for i := range users {
		if r.err != nil {
			return nil
		}
		u := &users[i]
		u.ID = r.id("user")
		head := r.uvarint("user head")
		if head&1 != 0 {
			step := r.varint("period")
			if step == 0 {
				r.fail("period")
			}
			period += step
		}
		u.Period = period
		u.Entries = r.entries(&arena, head>>1, keys, "entries")
	}
	if len(arena.free) != 0 {
		r.fail("number of entries")
	}
	return users
}
