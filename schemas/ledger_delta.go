package schemas

import (
	"bytes"
	"crypto/sha256"
)

// Delta is one shard's part of one turn. For each user it contains the contributions to the turn's
// slice and, among the windows that end in the turn, those to which the user was admitted. All
// charges can be computed from the delta and the turn's settled record, without the events.
type Delta struct {
	Turn    uint64
	Epoch   int64  // not part of the body: a turn redone in a later epoch has the same BodyDigest
	Records uint64 // records of the turn in this shard

	Windows  []MetricWindow // metric windows that end in the turn, in admission order
	Tallies  []WindowTally  // by metric window
	Filtered []uint64       // by metric: records of the turn's slice that its filter excludes
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
	ContribUser      // Entries strictly ascending by label, Records by (label, ID)
	Admitted    Bits // over Delta.Windows
}

// Bits is a set of small integers. The bit for i is in byte i/8. A nil Bits has capacity 0.
type Bits []byte

// NewBits returns the empty set with capacity for the integers 0 to n−1.
func NewBits(n int) Bits { return make(Bits, (n+7)/8) }

// Get reports whether i is in the set. It returns false for an i beyond the capacity.
func (b Bits) Get(i int) bool { return i>>3 < len(b) && b[i>>3]&(1<<(i&7)) != 0 }

// Set adds i, which must be within the capacity.
func (b Bits) Set(i int) { b[i>>3] |= 1 << (i & 7) }

// Encoded forms of a user's admissions. Most users are admitted to every metric window, and their
// encoding needs no bit field.
const (
	admittedNone = 0
	admittedAll  = 1
	admittedSome = 2 // a bit field of (windows+7)/8 bytes follows
)

// EncodeDelta encodes a delta for slot Turn mod slots. The key and value of each record together
// take at most maxBytes, not counting Kafka's framing. Errors: ErrInvalid (order, sizes),
// ErrTooLarge (maxBytes below 108).
func EncodeDelta(d Delta, slots uint64, maxBytes int) ([]LedgerRecord, error) {
	if slots == 0 {
		return nil, invalid(KindDeltaBody, "no slots")
	}
	body, err := d.body()
	if err != nil {
		return nil, err
	}
	return splitBody(KindDeltaPart, d.Turn%slots, d.Turn, d.Epoch, body, maxBytes)
}

// JoinDelta decodes a delta from its parts, in ascending order. Errors: ErrIncomplete,
// ErrMalformed, ErrVersion.
func JoinDelta(parts ...LedgerPart) (Delta, error) {
	d, set, err := joinRecord(KindDeltaPart, KindDeltaBody, parts, (*Delta).layout, func(d *Delta) uint64 {
		return d.Turn
	})
	d.Epoch = set.Epoch
	return d, err
}

// BodyDigest returns the SHA-256 of all fields except Epoch. Equal digests mean equal contributions
// and equal admissions.
func (d Delta) BodyDigest() [32]byte { return sha256.Sum256(d.write().out) }

// body encodes everything except Epoch. Errors: ErrInvalid.
func (d *Delta) body() ([]byte, error) { return d.write().written() }

func (d *Delta) write() *wire {
	// This capacity is usually enough.
	w := newWriter(make([]byte, 0, 256+24*len(d.Users)+24*len(d.Labels)), KindDeltaBody)
	d.layout(w)
	return w
}

func (d *Delta) layout(w *wire) {
	w.fields("turn", &d.Turn, "records", &d.Records)
	n := w.length(len(d.Windows), 3+tallyBytes, "metric windows")
	if w.reading {
		d.Windows, d.Tallies = make([]MetricWindow, n), make([]WindowTally, n)
	}
	if len(d.Tallies) != n {
		w.fail("tallies and metric windows differ in number")
		return
	}
	var previous windows
	for i := range d.Windows {
		p := &d.Windows[i]
		w.uint32(&p.Metric, "metric")
		previous.layout(&p.WindowStart, &p.WindowEnd, w)
		d.Tallies[i].layout(w)
	}
	w.uints(&d.Filtered, "filtered")
	w.labels(&d.Labels, true)
	d.layoutUsers(w)
}

func (d *Delta) layoutUsers(w *wire) {
	entries := 0
	for i := range d.Users {
		entries += len(d.Users[i].Entries)
	}
	n := w.length(len(d.Users), 17, "users")
	entries = w.length(entries, 2, "entries")
	row := userRow{labels: len(d.Labels), sorted: true, formBits: 2}
	if w.reading {
		d.Users, row.free = make([]DeltaUser, n), make([]KeyCount, entries)
	}
	// Users with one of the two most common sets share that set's memory.
	none, all := NewBits(len(d.Windows)), allBits(len(d.Windows))
	var previous *ContribUser
	for i := range d.Users {
		u := &d.Users[i]
		if w.reading {
			form := row.readHead(w, &u.ContribUser)
			switch form {
			case admittedNone:
				u.Admitted = none
			case admittedAll:
				u.Admitted = all
			default:
				u.Admitted = Bits(w.next(len(all), "admissions"))
			}
			w.check(admittedForm(u.Admitted, all) == form, "admissions: not in the shortest form")
			row.readEvents(w, &u.ContribUser)
		} else {
			form, bits := admittedForm(u.Admitted, all), Bits(nil)
			if form == admittedSome {
				bits = u.Admitted
			}
			w.out = row.append(w.out, &u.ContribUser, form, bits)
		}
		row.check(w, previous, &u.ContribUser)
		previous = &u.ContribUser
		if len(u.Admitted) != len(all) || !u.Admitted.within(len(d.Windows)) {
			w.fail("admissions and metric windows differ in number")
		}
	}
	row.end(w)
}

// within reports whether a set for 0 to n−1 has no bit for n or beyond in its last byte.
func (b Bits) within(n int) bool { return n&7 == 0 || b[len(b)-1]>>(n&7) == 0 }

func allBits(n int) Bits {
	b := NewBits(n)
	for i := range n {
		b.Set(i)
	}
	return b
}

func admittedForm(b, all Bits) uint64 {
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
