package schemas

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"github.com/tollgate-dp/tollgate/internal/hooks/poison"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// ContribUser is what one (user, period) contributed to a slice of event time.
type ContribUser struct {
	ID      accounts.ID
	Period  int64
	Entries []KeyCount    // how many events of each label
	Records []RecordValue // the same events one by one, where a deployment has sums
}

// KeyCount is a number of events of a label, which Key names by its index in a dictionary.
type KeyCount struct {
	Key uint32
	N   uint32
}

// RecordValue is a record that a sum may take, with the number N of records of the same bytes.
type RecordValue struct {
	Key   uint32 // index of the label
	N     uint32
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

// checkUsers returns what is wrong with users, or "": entries and records beyond a dictionary of so
// many labels and, if sorted, users, entries and records out of order.
func checkUsers(users []ContribUser, labels int, sorted bool) string {
	for i := range users {
		u := &users[i]
		if sorted && i > 0 && CompareUsers(&users[i-1], u) >= 0 {
			return "users out of order"
		}
		if what := checkEntries(u.Entries, u.Records, labels, sorted); what != "" {
			return what
		}
	}
	return ""
}

func checkEntries(entries []KeyCount, records []RecordValue, labels int, sorted bool) string {
	for i, e := range entries {
		if int64(e.Key) >= int64(labels) || sorted && i > 0 && entries[i-1].Key >= e.Key {
			return "entries out of order or beyond the dictionary"
		}
	}
	for i := range records {
		if int64(records[i].Key) >= int64(labels) || sorted && i > 0 && records[i-1].compare(&records[i]) >= 0 {
			return "records out of order or beyond the dictionary"
		}
	}
	return ""
}

// appendUsers writes users with one head each: the number of entries, whether records follow, and
// whether the period differs from that of the user before.
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
		head := uint64(len(u.Entries)) << 2
		if len(u.Records) > 0 {
			head |= 2
		}
		if u.Period != period {
			dst = binary.AppendUvarint(dst, head|1)
			dst = binary.AppendVarint(dst, u.Period-period)
			period = u.Period
		} else {
			dst = binary.AppendUvarint(dst, head)
		}
		dst = appendEntries(dst, u.Entries)
		dst = appendRecords(dst, u.Records)
	}
	return dst
}

// UserMemory is memory for the users of batches, to be used again once they are not needed any
// more. The zero value is ready for use. Not for concurrent use.
type UserMemory struct {
	users   []ContribUser
	entries []KeyCount
}

// Reset takes back what was handed out since the last Reset.
func (m *UserMemory) Reset() {
	poison.Fill(m.users, ContribUser{Period: -1})
	poison.Fill(m.entries, KeyCount{Key: math.MaxUint32})
	m.users, m.entries = m.users[:0], m.entries[:0]
}

// piece extends s by n items, whose values are what was there before, and returns them alone. What
// was handed out before stays where it is if there is no room.
func piece[T any](s *[]T, n int) []T {
	if cap(*s)-len(*s) < n {
		*s = make([]T, 0, max(n, 2*cap(*s)))
	}
	from := len(*s)
	*s = (*s)[:from+n]
	return (*s)[from : from+n : from+n]
}

// users reads what appendUsers wrote.
func (d *wireDecoder) users(m *UserMemory, labels int) []ContribUser {
	n := d.count("users", 17)
	arena := entryArena{free: piece(&m.entries, d.count("entries", 2))}
	users := piece(&m.users, n)
	var period int64
	for i := range users {
		if d.err != nil {
			return nil
		}
		u := &users[i]
		*u = ContribUser{ID: d.id("user")}
		head := d.uvarint("user head")
		period = d.period(period, head&1 != 0)
		u.Period = period
		u.Entries = d.entries(&arena, head>>2, labels, "entries")
		if head&2 != 0 {
			u.Records = d.records(labels)
		}
	}
	if len(arena.free) != 0 {
		d.fail("fewer entries than announced")
	}
	return users
}

// period returns the period of a user, which differs from that of the user before by a step that is
// read if other is true.
func (d *wireDecoder) period(before int64, other bool) int64 {
	if !other {
		return before
	}
	step := d.varint("period")
	if step == 0 {
		d.fail("period: a step of 0")
	}
	return before + step
}

func appendEntries(dst []byte, entries []KeyCount) []byte {
	for _, kc := range entries {
		dst = binary.AppendUvarint(dst, uint64(kc.Key))
		dst = binary.AppendUvarint(dst, uint64(kc.N))
	}
	return dst
}

// entryArena hands out slices of one allocation. The encoding states its size, and the bytes that
// are left bound it.
type entryArena struct{ free []KeyCount }

func (d *wireDecoder) arena(what string) entryArena {
	return entryArena{free: make([]KeyCount, d.count(what, 2))}
}

// entries reads n entries with keys below limit.
func (d *wireDecoder) entries(a *entryArena, n uint64, limit int, what string) []KeyCount {
	if n > uint64(len(a.free)) {
		d.fail(what + ": more than announced")
		return nil
	}
	out := a.free[:n:n]
	a.free = a.free[n:]
	for i := range out {
		out[i] = KeyCount{Key: d.uint32(what), N: d.uint32(what)}
		if int64(out[i].Key) >= int64(limit) {
			d.fail(what + ": a label beyond the dictionary")
		}
	}
	return out
}

// appendRecords writes a user's records. Without records it writes nothing: the user's head says
// so.
func appendRecords(dst []byte, records []RecordValue) []byte {
	if len(records) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(records)))
	for i := range records {
		v := &records[i]
		dst = binary.AppendUvarint(dst, uint64(v.Key))
		dst = binary.AppendUvarint(dst, uint64(v.N))
		dst = binary.AppendVarint(dst, v.Value)
		dst = append(dst, v.ID[:]...)
	}
	return dst
}

// records reads what appendRecords wrote: at least one record, with keys below limit.
func (d *wireDecoder) records(limit int) []RecordValue {
	n := d.count("records", 19)
	if n == 0 {
		d.fail("records announced, but there are none")
		return nil
	}
	out := make([]RecordValue, n)
	for i := range out {
		out[i] = RecordValue{Key: d.uint32("record"), N: d.uint32("record"), Value: d.varint("record"), ID: d.id("record")}
		if int64(out[i].Key) >= int64(limit) {
			d.fail("record: a label beyond the dictionary")
		}
	}
	return out
}
