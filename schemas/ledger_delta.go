package schemas

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Delta is what one shard did in one turn: what each user contributed to the turn's slice, and to
// which of the windows that end in the turn each user was admitted. Every charge follows from it
// and the settled record of the turn, without the events.
type Delta struct {
	Turn    uint64
	Epoch   int64  // not part of the body: a turn redone in a later epoch has the same BodyDigest
	Records uint64 // records of the turn in this shard

	Windows  []MetricWindow // the metric windows that end in the turn, in admission order
	Tallies  []WindowTally  // by metric window
	Filtered []uint64       // by metric: records of the turn's slice that the metric does not take
	Labels   []Label        // dictionary, strictly ascending
	Users    []DeltaUser    // strictly ascending by (ID, Period)
}

// MetricWindow is one window of one metric.
type MetricWindow struct {
	Metric                 uint32
	WindowStart, WindowEnd int64 // Unix milliseconds
}

// DeltaUser is one (user, period) of a delta.
type DeltaUser struct {
	ID       accounts.ID
	Period   int64
	Slice    []KeyCount    // strictly ascending by label
	Records  []RecordValue // strictly ascending by (label, ID)
	Admitted Bits          // over Delta.Windows
}

// Bits is a set of small integers: bit i is in byte i/8. A nil Bits is the empty set of capacity 0.
type Bits []byte

// NewBits returns the empty set with room for 0 to n−1.
func NewBits(n int) Bits { return make(Bits, (n+7)/8) }

// Get reports whether i is in the set; it returns false beyond the capacity.
func (b Bits) Get(i int) bool { return i>>3 < len(b) && b[i>>3]&(1<<(i&7)) != 0 }

// Set puts i, which must be within the capacity, into the set.
func (b Bits) Set(i int) { b[i>>3] |= 1 << (i & 7) }

// How a user's admissions are written. In most turns a user is admitted to every metric window, and
// then has no bit field.
const (
	admittedNone = 0
	admittedAll  = 1
	admittedSome = 2 // a bit field of (windows+7)/8 bytes follows
)

// EncodeDelta encodes a delta into records whose key and value together are at most maxBytes long
// (Kafka's own framing is not included), for the slot Turn mod slots. Errors: ErrInvalid (order,
// sizes), ErrTooLarge (maxBytes below 108).
func EncodeDelta(d Delta, slots uint64, maxBytes int) ([]LedgerRecord, error) {
	if slots == 0 {
		return nil, invalid(KindDeltaBody, "no slots")
	}
	if what := d.check(); what != "" {
		return nil, invalid(KindDeltaBody, what)
	}
	return splitBody(KindDeltaPart, d.Turn%slots, d.Turn, d.Epoch, d.body(), maxBytes)
}

// JoinDelta puts a delta together from its parts in ascending order. Errors: ErrIncomplete,
// ErrMalformed, ErrVersion.
func JoinDelta(parts ...LedgerPart) (Delta, error) {
	body, set, err := joinBody(KindDeltaPart, parts)
	if err != nil {
		return Delta{}, err
	}
	d, err := decodeDeltaBody(body)
	if err != nil {
		return Delta{}, fmt.Errorf("joining ledger delta of turn %d: %w", set.Turn, err)
	}
	if d.Turn != set.Turn {
		return Delta{}, malformed(KindDeltaPart, "its turn is not that of the delta")
	}
	d.Epoch = set.Epoch
	return d, nil
}

// BodyDigest returns the SHA-256 of everything but Epoch: equal digests mean equal contributions
// and equal decisions.
func (d Delta) BodyDigest() [32]byte { return sha256.Sum256(d.body()) }

// check returns which rule of the encoding the delta breaks, or "".
func (d *Delta) check() string {
	if len(d.Tallies) != len(d.Windows) {
		return "tallies and metric windows differ in number"
	}
	if !labelsValid(d.Labels, true) {
		return "labels too long or out of order"
	}
	for i := range d.Users {
		u := &d.Users[i]
		if i > 0 && compareUsers(&d.Users[i-1], u) >= 0 {
			return "users out of order"
		}
		if what := checkEntries(u.Slice, u.Records, len(d.Labels), true); what != "" {
			return what
		}
		if len(u.Admitted) != (len(d.Windows)+7)/8 || !u.Admitted.within(len(d.Windows)) {
			return "admissions and metric windows differ in number"
		}
	}
	return ""
}

// within reports whether the last byte of a set for 0 to n−1 has no bit set at n or beyond.
func (b Bits) within(n int) bool { return n&7 == 0 || b[len(b)-1]>>(n&7) == 0 }

func compareUsers(a, b *DeltaUser) int {
	if c := bytes.Compare(a.ID[:], b.ID[:]); c != 0 {
		return c
	}
	return cmp.Compare(a.Period, b.Period)
}

// body is everything but Epoch, in one allocation of what most users need.
func (d *Delta) body() []byte {
	entries := 0
	for i := range d.Users {
		entries += len(d.Users[i].Slice)
	}
	const user, entry, label = 18, 3, 24
	dst := make([]byte, 0, 256+user*len(d.Users)+entry*entries+label*len(d.Labels))
	dst = appendPreamble(dst, KindDeltaBody)
	dst = binary.AppendUvarint(dst, d.Turn)
	dst = binary.AppendUvarint(dst, d.Records)
	dst = binary.AppendUvarint(dst, uint64(len(d.Windows)))
	var start, length int64
	for i, p := range d.Windows {
		dst = binary.AppendUvarint(dst, uint64(p.Metric))
		dst = appendWindow(dst, p.WindowStart, p.WindowEnd, &start, &length)
		dst = d.Tallies[i].append(dst)
	}
	dst = appendCounts(dst, d.Filtered)
	dst = appendLabels(dst, d.Labels)
	dst = binary.AppendUvarint(dst, uint64(len(d.Users)))
	dst = binary.AppendUvarint(dst, uint64(entries))
	all := allBits(len(d.Windows))
	var period int64
	for i := range d.Users {
		u := &d.Users[i]
		mode := admittedMode(u.Admitted, all)
		dst = append(dst, u.ID[:]...)
		head := uint64(len(u.Slice))<<4 | uint64(mode)<<1
		if len(u.Records) > 0 {
			head |= 8
		}
		if u.Period != period {
			head |= 1
		}
		dst = binary.AppendUvarint(dst, head)
		if u.Period != period {
			dst = binary.AppendVarint(dst, u.Period-period)
			period = u.Period
		}
		if mode == admittedSome {
			dst = append(dst, u.Admitted...)
		}
		dst = appendEntries(dst, u.Slice)
		dst = appendRecords(dst, u.Records)
	}
	return dst
}

func allBits(n int) Bits {
	b := NewBits(n)
	for i := range n {
		b.Set(i)
	}
	return b
}

func admittedMode(b, all Bits) int {
	for _, c := range b {
		if c != 0 {
			if bytes.Equal(b, all) {
				return admittedAll
			}
			return admittedSome
		}
	}
	return admittedNone
}

func decodeDeltaBody(b []byte) (Delta, error) {
	dec := newWireDecoder(b, KindDeltaBody)
	d := Delta{Turn: dec.uvarint("turn"), Records: dec.uvarint("records")}
	n := dec.count("metric windows", 3+tallyBytes)
	d.Windows, d.Tallies = make([]MetricWindow, n), make([]WindowTally, n)
	var start, length int64
	for i := range d.Windows {
		p := &d.Windows[i]
		p.Metric = dec.uint32("metric")
		p.WindowStart, p.WindowEnd = dec.window(&start, &length)
		d.Tallies[i].read(dec)
	}
	d.Filtered = dec.counts("filtered")
	d.Labels = dec.labels("labels", true)
	d.readUsers(dec)
	if err := dec.finish(); err != nil {
		return Delta{}, err
	}
	if what := d.check(); what != "" {
		return Delta{}, malformed(KindDeltaBody, what)
	}
	return d, nil
}

func (d *Delta) readUsers(dec *wireDecoder) {
	n := dec.count("users", 17)
	arena := dec.arena("entries")
	d.Users = make([]DeltaUser, n)
	all := allBits(len(d.Windows))
	none := NewBits(len(d.Windows))
	var period int64
	for i := range d.Users {
		if dec.err != nil {
			return
		}
		u := &d.Users[i]
		u.ID = dec.id("user")
		head := dec.uvarint("user head")
		period = dec.period(period, head&1 != 0)
		u.Period = period
		// All users of the delta share the two common sets.
		switch head >> 1 & 3 {
		case admittedNone:
			u.Admitted = none
		case admittedAll:
			u.Admitted = all
		case admittedSome:
			u.Admitted = Bits(dec.take(len(all), "admissions"))
		default:
			dec.fail("admissions: unknown form")
		}
		if mode := int(head >> 1 & 3); dec.err == nil && admittedMode(u.Admitted, all) != mode {
			dec.fail("admissions: not in the shortest form")
		}
		u.Slice = dec.entries(&arena, head>>4, len(d.Labels), "slice")
		if head&8 != 0 {
			u.Records = dec.records(len(d.Labels))
		}
	}
	if len(arena.free) != 0 {
		dec.fail("fewer entries than announced")
	}
}
