package schemas

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// ContribUser holds what one (user, period) contributes to a slice of event time.
type ContribUser struct {
	ID      accounts.ID
	Period  int64
	Entries []KeyCount    // events by label
	Records []RecordValue // the same events one by one, if the deployment has sums
}

// KeyCount is the number of events with a label.
type KeyCount struct {
	Key uint32 // index of the label in a dictionary
	N   uint32
}

// RecordValue is a record, or several records with the same bytes, that a sum may include.
type RecordValue struct {
	Key   uint32 // index of the label
	N     uint32 // number of such records
	Value int64
	ID    RecordID
}

func (v *RecordValue) compare(o *RecordValue) int {
	return cmp.Or(cmp.Compare(v.Key, o.Key), bytes.Compare(v.ID[:], o.ID[:]))
}

// CompareUsers orders contributions by account id, then by period.
func CompareUsers(a, b *ContribUser) int {
	if c := bytes.Compare(a.ID[:], b.ID[:]); c != 0 {
		return c
	}
	return cmp.Compare(a.Period, b.Period)
}

// UserMemory is reusable memory for the decoded users of batches. The zero value is ready for use.
// It is not safe for concurrent use.
type UserMemory struct {
	users   []ContribUser
	entries []KeyCount
}

// Reset reclaims all memory handed out since the previous Reset.
func (m *UserMemory) Reset() {
	poison.Fill(m.users, ContribUser{Period: -1})
	poison.Fill(m.entries, KeyCount{Key: math.MaxUint32})
	m.users, m.entries = m.users[:0], m.entries[:0]
}

// extend lengthens s by n items, whose contents are left over from earlier uses, and returns those
// items. If the capacity is too small, s gets new memory; earlier results keep theirs.
func extend[T any](s *[]T, n int) []T {
	if cap(*s)-len(*s) < n {
		*s = make([]T, 0, max(n, 2*cap(*s)))
	}
	from := len(*s)
	*s = (*s)[:from+n]
	return (*s)[from : from+n : from+n]
}

// users encodes or decodes the users of a batch. If sorted is set, users, entries and records must
// be in strictly ascending order.
func (w *wire) users(users *[]ContribUser, m *UserMemory, labels int, sorted bool) {
	entries := 0
	for i := range *users {
		entries += len((*users)[i].Entries)
	}
	n := w.length(len(*users), 17, "users")
	entries = w.length(entries, 2, "entries")
	row := userRow{labels: labels, sorted: sorted}
	if w.reading {
		*users, row.free = extend(&m.users, n), extend(&m.entries, entries)
		clear(*users)
	}
	dst := w.out
	var previous *ContribUser
	for i := range *users {
		u := &(*users)[i]
		if w.reading {
			row.readHead(w, u)
			row.readEvents(w, u)
		} else {
			dst = row.append(dst, u, 0, nil)
		}
		row.check(w, previous, u)
		previous = u
	}
	w.out = dst
	row.end(w)
}

// userRow encodes and decodes users one after another. A user consists of an id, a head, the period
// if it differs from the previous user's, the bytes that belong to the form, the entries, and the
// records if the head announces any.
type userRow struct {
	labels   int  // number of labels in the dictionary
	sorted   bool // users, entries and records are strictly ascending
	formBits int  // number of bits in a head that hold the form
	period   int64
	free     []KeyCount // reading: memory for the entries of the remaining users
	records  bool       // reading: the user has records
}

// append appends the encoding of a user to dst.
func (r *userRow) append(dst []byte, u *ContribUser, form uint64, formBytes []byte) []byte {
	head := uint64(len(u.Entries)) << 1
	if len(u.Records) > 0 {
		head |= 1
	}
	head = (head<<r.formBits | form) << 1
	dst = append(dst, u.ID[:]...)
	if u.Period != r.period {
		dst = binary.AppendUvarint(dst, head|1)
		dst = binary.AppendVarint(dst, u.Period-r.period)
		r.period = u.Period
	} else {
		dst = binary.AppendUvarint(dst, head)
	}
	dst = append(dst, formBytes...)
	for _, e := range u.Entries {
		dst = binary.AppendUvarint(dst, uint64(e.Key))
		dst = binary.AppendUvarint(dst, uint64(e.N))
	}
	if len(u.Records) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(u.Records)))
	}
	for i := range u.Records {
		v := &u.Records[i]
		dst = binary.AppendUvarint(dst, uint64(v.Key))
		dst = binary.AppendUvarint(dst, uint64(v.N))
		dst = binary.AppendVarint(dst, v.Value)
		dst = append(dst, v.ID[:]...)
	}
	return dst
}

// readHead reads the fields of a user that precede the bytes of the form.
func (r *userRow) readHead(w *wire, u *ContribUser) (form uint64) {
	copy(u.ID[:], w.next(len(u.ID), "user"))
	head := w.readUint(math.MaxUint64, "user head")
	if head&1 != 0 {
		step := protowire.DecodeZigZag(w.readUint(math.MaxUint64, "period"))
		w.check(step != 0, "period: a step of 0")
		r.period += step
	}
	u.Period = r.period
	form, head = head>>1&(1<<r.formBits-1), head>>(1+r.formBits)
	r.records = head&1 != 0
	if n := head >> 1; n <= uint64(len(r.free)) {
		u.Entries, r.free = r.free[:n:n], r.free[n:]
	} else {
		w.fail("entries: more than announced")
	}
	return form
}

// readEvents reads a user's entries and records.
func (r *userRow) readEvents(w *wire, u *ContribUser) {
	for i := range u.Entries {
		u.Entries[i] = KeyCount{Key: uint32(w.readUint(math.MaxUint32, "entries")),
			N: uint32(w.readUint(math.MaxUint32, "entries"))}
	}
	if !r.records {
		return
	}
	u.Records = make([]RecordValue, w.length(0, 19, "records"))
	w.check(len(u.Records) > 0, "records are announced, but there are none")
	for i := range u.Records {
		v := &u.Records[i]
		w.uint32(&v.Key, "record")
		w.uint32(&v.N, "record")
		w.int(&v.Value, "record")
		w.fixed(v.ID[:], "record")
	}
}

// check records a fault if u does not follow the previous user, which may be nil, or if u's entries
// or records are out of order.
func (r *userRow) check(w *wire, previous, u *ContribUser) {
	if r.sorted && previous != nil && CompareUsers(previous, u) >= 0 {
		w.fail("users out of order")
	}
	for i, e := range u.Entries {
		if int64(e.Key) >= int64(r.labels) || r.sorted && i > 0 && u.Entries[i-1].Key >= e.Key {
			w.fail("entries out of order or beyond the dictionary")
		}
	}
	for i := range u.Records {
		if int64(u.Records[i].Key) >= int64(r.labels) || r.sorted && i > 0 &&
			u.Records[i-1].compare(&u.Records[i]) >= 0 {
			w.fail("records out of order or beyond the dictionary")
		}
	}
}

// end checks, after the last user, that all announced entries were used.
func (r *userRow) end(w *wire) { w.check(len(r.free) == 0, "fewer entries than announced") }
