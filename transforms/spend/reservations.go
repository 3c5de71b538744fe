package spend

import (
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// noAccount is the index of a zero account, which is not stored. Such an account exists because a
// contribution may cost nothing.
const noAccount = math.MaxUint32

// reservation is the worst-case cost that is reserved in a user's account for one metric window. A
// turn has one reservation for every user and window. The type therefore contains no pointers,
// which would burden the garbage collector.
type reservation struct {
	id       accounts.ID
	period   int64
	account  uint32 // the account's index in the store, or noAccount
	user     uint32 // number of the user, from 1; the same in all of the user's budget periods
	window   uint32
	from, to uint32    // range of the counted keys in reservations.kept
	extra    uint32    // start of the additional contributions in reservations.extra
	leaves   [2]uint32 // range of the leaves in reservations.leaves
	worst    units.Mu2
}

// reservations holds the reservations of a turn, in ascending order of user, period and window.
type reservations struct {
	list   []reservation
	kept   []kept
	extra  []int64 // by key of kept and additional component
	leaves []leafCount

	users uint32
	last  accounts.ID
}

// keptOf returns the counted keys of a reservation.
func (r *reservations) keptOf(res *reservation) []kept { return r.kept[res.from:res.to] }

// extraOf returns a reservation's contributions to the n additional components of its i-th key.
func (r *reservations) extraOf(res *reservation, i, n int) []int64 {
	return r.extra[int(res.extra)+i*n:][:n]
}

// leavesOf returns the leaves of the trees of all counted keys of a reservation.
func (r *reservations) leavesOf(res *reservation) []leafCount {
	return r.leaves[res.leaves[0]:res.leaves[1]]
}

// add appends a reservation for the contributions that the clipper kept. Successive calls must have
// users in ascending order. setAccount sets the index of the account later.
func (r *reservations) add(u *member, window int, worst units.Mu2, c *clipper) {
	if r.users == 0 || r.last != u.ID {
		r.users, r.last = r.users+1, u.ID
	}
	from, extra, leaf := uint32(len(r.kept)), uint32(len(r.extra)), uint32(len(r.leaves))
	r.kept, r.extra, r.leaves = append(r.kept, c.kept...), append(r.extra, c.extra...),
		append(r.leaves, c.leaves...)
	r.list = append(r.list, reservation{id: u.ID, period: u.Period, user: r.users, window: uint32(window), from: from,
		to: uint32(len(r.kept)), extra: extra, leaves: [2]uint32{leaf, uint32(len(r.leaves))}, worst: worst})
}

// setAccount sets the account's index in all reservations from index from; −1 is noAccount.
func (r *reservations) setAccount(account, from int) {
	for i := range r.list[from:] {
		r.list[from+i].account = uint32(account)
	}
}

// reused returns empty reservations in the memory of r, with room for one reservation per user.
func (r *reservations) reused(users int) reservations {
	poison.Fill(r.list, reservation{period: -1, account: noAccount})
	poison.Fill(r.kept, kept{})
	poison.Fill(r.extra, math.MinInt64)
	poison.Fill(r.leaves, leafCount{key: math.MaxUint32})
	return reservations{list: slices.Grow(r.list[:0], users), kept: slices.Grow(r.kept[:0], users),
		extra: r.extra[:0], leaves: r.leaves[:0]}
}

// scratch is memory that successive decisions share. A decision's results in it are valid until the
// next decision; they have been encoded by then.
type scratch struct {
	users   []schemas.DeltaUser
	entries []schemas.KeyCount
	records []schemas.RecordValue
	bits    []byte
	batches schemas.UserMemory
	merged  merged
}

// invalidate overwrites the contents with invalid values; see package poison.
func (s *scratch) invalidate() {
	poison.Fill(s.users, schemas.DeltaUser{ContribUser: schemas.ContribUser{Period: -1}})
	poison.Fill(s.entries, schemas.KeyCount{Key: math.MaxUint32})
	poison.Fill(s.records, schemas.RecordValue{Key: math.MaxUint32})
	poison.Bytes(s.bits)
	s.batches.Reset()
	poison.Fill(s.merged.users, schemas.ContribUser{Period: -1})
	poison.Fill(s.merged.entries, schemas.KeyCount{Key: math.MaxUint32})
}

// bitsFor returns an empty set for the numbers 0 to n−1.
func (s *scratch) bitsFor(n int) schemas.Bits {
	from := len(s.bits)
	for range (n + 7) / 8 {
		s.bits = append(s.bits, 0)
	}
	return s.bits[from:len(s.bits):len(s.bits)]
}

// reset empties everything except the decoded and merged contributions, which the decision reads.
// It makes room for the given number of users.
func (s *scratch) reset(users int) {
	s.users, s.entries = slices.Grow(s.users[:0], users), slices.Grow(s.entries[:0], users)
	s.records, s.bits = s.records[:0], s.bits[:0]
}
