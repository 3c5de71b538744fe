package plain

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/units"
)

// slice is a user's events of one window: ascending by key, no key twice.
type slice struct {
	end  int64
	keys []keyCount
}

type keyCount struct {
	key string
	n   uint32
}

// add adds other's events of the same window, saturating: no bound is near the top.
func (s *slice) add(other slice) {
	s.keys = append(s.keys, other.keys...)
	slices.SortFunc(s.keys, func(a, b keyCount) int { return strings.Compare(a.key, b.key) })
	merged := s.keys[:0]
	for _, k := range s.keys {
		if n := len(merged); n > 0 && merged[n-1].key == k.key {
			merged[n-1].n = saturated(merged[n-1].n, k.n)
			continue
		}
		merged = append(merged, k)
	}
	s.keys = merged
}

func (s *slice) append(dst []byte) []byte {
	dst = binary.AppendVarint(dst, s.end)
	dst = binary.AppendUvarint(dst, uint64(len(s.keys)))
	for _, k := range s.keys {
		dst = binary.AppendUvarint(dst, uint64(len(k.key)))
		dst = append(dst, k.key...)
		dst = binary.AppendUvarint(dst, uint64(k.n))
	}
	return dst
}

// purse is a user's account with the debts of its buckets by metric: accounts.Entry.Debts.
type purse struct {
	account accounts.Account
	debts   []units.Mu2
}

func (p *purse) debt(metric int) units.Mu2 {
	if metric >= len(p.debts) {
		return 0
	}
	return p.debts[metric]
}

func (p *purse) setDebt(metric int, debt units.Mu2) {
	for metric >= len(p.debts) {
		p.debts = append(p.debts, 0)
	}
	p.debts[metric] = debt
	for n := len(p.debts); n > 0 && p.debts[n-1] == 0; n-- {
		p.debts = p.debts[:n-1]
	}
}

// user is the state of a user: the account, the end of the last decided window, and the waiting
// windows, ascending by end.
type user struct {
	purse
	done    int64
	waiting []slice
}

// wait adds a slice to the waiting ones. A slice of a decided window arrived after the watermark
// and is dropped: a user's window is decided once.
func (u *user) wait(s slice) {
	if s.end <= u.done {
		return
	}
	i, there := slices.BinarySearchFunc(u.waiting, s.end, func(w slice, end int64) int {
		return cmp.Compare(w.end, end)
	})
	if there {
		u.waiting[i].add(s)
		return
	}
	u.waiting = slices.Insert(u.waiting, i, s)
}

// userVersion begins the encoding of a user.
const userVersion = 1

func (u *user) encode(id accounts.ID) ([]byte, error) {
	b := []byte{userVersion}
	b = binary.AppendVarint(b, u.done)
	b = binary.AppendUvarint(b, uint64(len(u.waiting)))
	for i := range u.waiting {
		b = u.waiting[i].append(b)
	}
	var entries []accounts.Entry
	if !u.account.IsZero() {
		entries = []accounts.Entry{{ID: id, Account: u.account, Debts: u.debts}}
	}
	return accounts.Encode(b, entries)
}

// ErrMalformed is returned for bytes in the state or between stages that this
// package did not write. Its texts carry no data.
var ErrMalformed = errors.New("malformed state of a user")

func decodeUser(id accounts.ID, b []byte) (user, error) {
	u := user{done: math.MinInt64}
	if len(b) == 0 {
		return u, nil
	}
	r := windowReader{b: b[1:], bad: b[0] != userVersion}
	u.done = r.varint()
	for n := r.length(2); n > 0 && !r.bad; n-- {
		u.waiting = append(u.waiting, r.slice())
		if i := len(u.waiting) - 1; u.waiting[i].end <= u.done || i > 0 && u.waiting[i].end <= u.waiting[i-1].end {
			r.bad = true
		}
	}
	if r.bad {
		return user{}, ErrMalformed
	}
	entries, rest, err := accounts.Decode(r.b)
	if err != nil || len(rest) != 0 || len(entries) > 1 || len(entries) == 1 && (entries[0].ID != id ||
		entries[0].Period != 0) {
		return user{}, ErrMalformed
	}
	if len(entries) == 1 {
		u.account, u.debts = entries[0].Account, entries[0].Debts
	}
	return u, nil
}

func decodeSlice(b []byte) (slice, error) {
	r := windowReader{b: b}
	s := r.slice()
	if r.bad || len(r.b) != 0 {
		return slice{}, ErrMalformed
	}
	return s, nil
}

type windowReader struct {
	b   []byte
	bad bool
}

func (r *windowReader) varint() int64   { return numberOf(r, binary.Varint) }
func (r *windowReader) uvarint() uint64 { return numberOf(r, binary.Uvarint) }

func numberOf[T int64 | uint64](r *windowReader, read func([]byte) (T, int)) T {
	v, n := read(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// length reads how many things of at least size bytes follow.
func (r *windowReader) length(size int) uint64 {
	n := r.uvarint()
	if n > uint64(len(r.b)/size) {
		r.bad, r.b = true, nil
		return 0
	}
	return n
}

func (r *windowReader) slice() slice {
	s := slice{end: r.varint()}
	for n := r.length(2); n > 0 && !r.bad; n-- {
		size := r.length(1)
		key := r.b[:size]
		r.b = r.b[size:]
		n := r.uvarint()
		last := len(s.keys) - 1
		if n == 0 || n > math.MaxUint32 || len(key) > schemas.MaxKeyBytes || last >= 0 &&
			string(key) <= s.keys[last].key {
			r.bad = true
			return s
		}
		s.keys = append(s.keys, keyCount{string(key), uint32(n)})
	}
	return s
}
