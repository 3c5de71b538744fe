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
)

// slice holds a user's events in one window, sorted by key and without duplicate keys.
type slice struct {
	end  int64
	keys []keyCount
}

type keyCount struct {
	key string
	n   uint32
}

// merge merges the slices of each window. The result is sorted by the windows' ends.
func merge(all []slice) []slice {
	slices.SortFunc(all, func(a, b slice) int { return cmp.Compare(a.end, b.end) })
	merged := all[:0]
	for _, s := range all {
		if n := len(merged); n > 0 && merged[n-1].end == s.end {
			merged[n-1].keys = append(merged[n-1].keys, s.keys...)
		} else {
			merged = append(merged, s)
		}
	}
	for i := range merged {
		merged[i].keys = mergeKeys(merged[i].keys)
	}
	return merged
}

// mergeKeys adds up the events of each key. Sums saturate, at a value far above any cap.
func mergeKeys(keys []keyCount) []keyCount {
	slices.SortFunc(keys, func(a, b keyCount) int { return strings.Compare(a.key, b.key) })
	merged := keys[:0]
	for _, k := range keys {
		if n := len(merged); n > 0 && merged[n-1].key == k.key {
			merged[n-1].n = uint32(min(uint64(merged[n-1].n)+uint64(k.n), math.MaxUint32))
		} else {
			merged = append(merged, k)
		}
	}
	return merged
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

// user is the state of a user: the account, the end of the last decided window, and the windows
// that are still to be decided, sorted by their ends.
type user struct {
	account   accounts.Entry
	decidedTo int64
	waiting   []slice
}

// wait adds a slice to the slices of undecided windows. It drops a slice of a decided window, which
// arrived after the watermark, because a user's window is decided only once.
func (u *user) wait(s slice) {
	if s.end > u.decidedTo {
		u.waiting = merge(append(u.waiting, s))
	}
}

// userVersion is the first byte of an encoded user.
const userVersion = 1

func (u *user) encode() ([]byte, error) {
	b := []byte{userVersion}
	b = binary.AppendVarint(b, u.decidedTo)
	b = binary.AppendUvarint(b, uint64(len(u.waiting)))
	for i := range u.waiting {
		b = u.waiting[i].append(b)
	}
	var entries []accounts.Entry
	if !u.account.Account.IsZero() {
		entries = []accounts.Entry{u.account}
	}
	return accounts.Encode(b, entries)
}

// ErrMalformed is returned for bytes, in the state or between stages, that this package did not
// write. Its text contains no data.
var ErrMalformed = errors.New("a user's state or element is malformed")

func decodeUser(id accounts.ID, b []byte) (user, error) {
	u := user{account: accounts.Entry{ID: id}, decidedTo: math.MinInt64}
	if len(b) == 0 {
		return u, nil
	}
	r := windowReader{b: b[1:], bad: b[0] != userVersion}
	u.decidedTo = r.varint()
	for n := r.length(2); n > 0 && !r.bad; n-- {
		u.waiting = append(u.waiting, r.slice())
		if i := len(u.waiting) - 1; u.waiting[i].end <= u.decidedTo || i > 0 && u.waiting[i].end <= u.waiting[i-1].end {
			r.bad = true
		}
	}
	if r.bad {
		return user{}, ErrMalformed
	}
	entries, trailing, err := accounts.Decode(r.b)
	if err != nil || len(trailing) != 0 || len(entries) > 1 || len(entries) == 1 && (entries[0].ID != id ||
		entries[0].Period != 0) {
		return user{}, ErrMalformed
	}
	if len(entries) == 1 {
		u.account = entries[0]
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

// length reads the number of elements that follow. Each has at least size bytes.
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
