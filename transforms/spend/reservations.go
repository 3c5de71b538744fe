package spend

import (
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// noAccount is the index of an account that is not stored, because it is zero: a contribution to a
// sum may cost nothing.
const noAccount = math.MaxUint32

// reservation is the worst case that an admitted user's account sets aside for one metric window.
// It contains no pointer, to spare the garbage collector: a turn has one for every user and window.
type reservation struct {
	id       accounts.ID
	period   int64
	account  uint32 // the account's index in the store, or noAccount
	user     uint32 // numbered from 1; the same for all budget periods of a user
	window   uint32
	from, to uint32    // the counted entries, among the kept of the turn
	further  uint32    // index of its first contribution to further components
	leaves   [2]uint32 // from and to: its leaves, among the turn's
	worst    units.Mu2
}

// reservations are a turn's, ascending by user and period, then window.
type reservations struct {
	list []reservation
	kept []kept
	// further has the parts of the kept in further components, if metrics have them.
	further []int64
	leaves  []leafCount

	users uint32
	last  accounts.ID
}

// keptOf returns the counted part in a reservation's window.
func (r *reservations) keptOf(one *reservation) []kept { return r.kept[one.from:one.to] }

// furtherOf returns the parts of the i-th counted key in a reservation's window in n further
// components.
func (r *reservations) furtherOf(one *reservation, i, n int) []int64 {
	return r.further[int(one.further)+i*n:][:n]
}

// leavesOf returns the leaves of the trees of the counted keys in a reservation's window.
func (r *reservations) leavesOf(one *reservation) []leafCount {
	return r.leaves[one.leaves[0]:one.leaves[1]]
}

// add appends a reservation for the part that the clipper has kept. Users ascend from call to call.
// The index of the account is not known yet: see setAccount.
func (r *reservations) add(u *member, window int, worst units.Mu2, c *clipper) {
	if r.users == 0 || r.last != u.ID {
		r.users, r.last = r.users+1, u.ID
	}
	from, further, leaf := uint32(len(r.kept)), uint32(len(r.further)), uint32(len(r.leaves))
	r.kept, r.further, r.leaves = append(r.kept, c.kept...), append(r.further, c.further...),
		append(r.leaves, c.leaves...)
	r.list = append(r.list, reservation{id: u.ID, period: u.Period, user: r.users, window: uint32(window), from: from,
		to: uint32(len(r.kept)), further: further, leaves: [2]uint32{leaf, uint32(len(r.leaves))}, worst: worst})
}

// setAccount sets the index of the account of the reservations since from; −1 for one that is zero.
func (r *reservations) setAccount(account, from int) {
	for i := range r.list[from:] {
		r.list[from+i].account = uint32(account)
	}
}

// reused returns empty reservations in the memory of those that are charged, with room for one of
// each of so many users.
func (r *reservations) reused(users int) reservations {
	poison.Fill(r.list, reservation{period: -1, account: noAccount})
	poison.Fill(r.kept, kept{})
	poison.Fill(r.further, math.MinInt64)
	poison.Fill(r.leaves, leafCount{key: math.MaxUint32})
	return reservations{list: slices.Grow(r.list[:0], users), kept: slices.Grow(r.kept[:0], users),
		further: r.further[:0], leaves: r.leaves[:0]}
}

// scratch is memory that decisions use one after the other. Its contents are valid until the next
// decision; by then they are encoded.
type scratch struct {
	users   []schemas.DeltaUser
	entries []schemas.KeyCount
	records []schemas.RecordValue
	bits    []byte
	batches schemas.UserMemory
	merged  merged
}

// invalidate ends the validity of everything in the scratch.
func (s *scratch) invalidate() {
	poison.Fill(s.users, schemas.DeltaUser{ContribUser: schemas.ContribUser{Period: -1}})
	poison.Fill(s.entries, schemas.KeyCount{Key: math.MaxUint32})
	poison.Fill(s.records, schemas.RecordValue{Key: math.MaxUint32})
	poison.Bytes(s.bits)
	s.batches.Reset()
	poison.Fill(s.merged.users, schemas.ContribUser{Period: -1})
	poison.Fill(s.merged.entries, schemas.KeyCount{Key: math.MaxUint32})
}

// bitsFor returns an empty set for 0 to n−1.
func (s *scratch) bitsFor(n int) schemas.Bits {
	from := len(s.bits)
	for range (n + 7) / 8 {
		s.bits = append(s.bits, 0)
	}
	return s.bits[from:len(s.bits):len(s.bits)]
}

// reset empties everything except the decoded and merged contributions, which belong to the turn
// being decided, and makes room for users.
func (s *scratch) reset(users int) {
	s.users, s.entries = slices.Grow(s.users[:0], users), slices.Grow(s.entries[:0], users)
	s.records, s.bits = s.records[:0], s.bits[:0]
}
