package schemas

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Kind distinguishes the formats of this package. It is the third byte of every encoding except
// Avro, JSON and text.
type Kind byte

// The kinds. A number is never reused for another format.
const (
	KindHeader        Kind = 1
	KindEpoch         Kind = 2
	KindClose         Kind = 3
	KindSettled       Kind = 4
	KindStop          Kind = 5
	KindRecover       Kind = 6
	KindGeneration    Kind = 7
	KindRun           Kind = 8
	KindReader        Kind = 9
	KindPassed        Kind = 10
	KindLost          Kind = 11
	KindDrain         Kind = 12
	KindEnd           Kind = 13
	KindForget        Kind = 14
	KindDeltaPart     Kind = 16
	KindDeltaBody     Kind = 17
	KindSnapshotPart  Kind = 18
	KindSnapshotBody  Kind = 19 // 20: kindFence
	KindLedgerKey     Kind = 21 // text; named in errors only
	KindOpenSlice     Kind = 22
	KindAccounts      Kind = 23 // format of package accounts; named in errors only
	KindLedgerSeal    Kind = 24 // an encrypted part of a delta or a snapshot
	KindReleaseKey    Kind = 32 // text; named in errors only
	KindRelease       Kind = 33 // Avro or JSON; named in errors only
	KindMetricSpec    Kind = 34
	KindTurnEnd       Kind = 35 // JSON; named in errors only
	KindContributions Kind = 48
	KindOpen          Kind = 49 // 50: an OPEN with its contributions; no current version writes it
	KindPartial       Kind = 51
	KindAck           Kind = 52
	KindDeadLetter    Kind = 64 // Kafka headers; named in errors only
)

var kindNames = map[Kind]string{
	KindHeader: "control header", KindEpoch: "control epoch", KindClose: "control close",
	KindSettled: "control settled", KindStop: "control stop", KindRecover: "control recover",
	KindGeneration: "control generation", KindRun: "control run", KindReader: "control reader",
	KindPassed: "control passed", KindLost: "control lost", KindDrain: "control drain", KindEnd: "control end",
	KindForget: "control forget", KindDeltaPart: "ledger delta part", KindDeltaBody: "ledger delta",
	KindSnapshotPart: "ledger snapshot part", KindSnapshotBody: "ledger snapshot", KindOpenSlice: "open slice",
	KindAccounts: "accounts", KindLedgerKey: "ledger key", KindLedgerSeal: "encrypted ledger record",
	KindReleaseKey: "release key", KindRelease: "release", KindMetricSpec: "metric specification",
	KindTurnEnd: "turn end", KindContributions: "contributions", KindOpen: "open", KindPartial: "partial counts",
	KindAck: "acknowledgement", KindDeadLetter: "dead letter",
}

// String returns the name used in error texts.
func (k Kind) String() string {
	return cmp.Or(kindNames[k], "record of unknown kind "+strconv.Itoa(int(k)))
}

const kindFence Kind = 20 // no current version writes it

const (
	magic0, magic1 = 'T', 'g'
	preambleBytes  = 4
	maxTextBytes   = 1 << 16 // names, topics, reasons
)

// version returns the version of a kind's format. A program reads HEADER before it writes anything,
// so the version of the control log must rise whenever any other version rises.
func (k Kind) version() byte {
	switch {
	case k <= KindForget:
		return 9
	case k == KindOpen, k == KindPartial, k == KindAck:
		return 4
	case k == KindLedgerSeal, k == KindSnapshotBody, k == KindDeltaBody:
		return 3
	}
	return 2
}

// FormatVersion is the only version of a format that this program writes and reads.
type FormatVersion struct {
	Format  string // name in docs/changelog.md
	Version int
}

// FormatVersions returns the versions of the formats on a deployment's topics, the control log
// first.
func FormatVersions() []FormatVersion {
	return []FormatVersion{
		{"control log", int(KindHeader.version())},
		{"deltas of the ledger", int(KindDeltaBody.version())},
		{"the rest of the ledger", int(KindSnapshotBody.version())},
		{"values of counts", countsVersion},
	}
}

// countsVersion is the version of counts.avsc.
const countsVersion = 2

// unknownKind returns an ErrVersion if b is a record of tollgate whose kind a later version has
// added, and otherwise nil.
func unknownKind(b []byte) error {
	if len(b) < preambleBytes || !Ours(b) {
		return nil
	}
	k := Kind(b[2])
	if k == 0 || k == kindFence || kindNames[k] != "" {
		return nil
	}
	return &MalformedError{Kind: k, What: "this program does not know the kind", cause: ErrVersion}
}

// Ours reports whether some version of tollgate wrote a binary encoding, even if the encoding is
// damaged after the two bytes with which all of them begin.
func Ours(b []byte) bool { return len(b) >= 2 && b[0] == magic0 && b[1] == magic1 }

// wire encodes or decodes the fields of one record. A layout is a function that passes the fields
// to a wire in the order of the format. It serves both directions, so they cannot disagree.
//
// While writing, a fault is recorded and has no other effect. While reading, every call after the
// first fault yields zero values and empty lists, so a layout need not check each field.
type wire struct {
	kind    Kind
	reading bool
	rest    []byte // reading: the remaining input
	out     []byte // writing: the output
	err     error
}

// newWriter returns a wire that appends a record of kind k to dst.
func newWriter(dst []byte, k Kind) *wire {
	return &wire{kind: k, out: append(dst, magic0, magic1, byte(k), k.version())}
}

// newReader returns a wire that reads b. b must begin with the preamble of kind k.
func newReader(b []byte, k Kind) *wire {
	w := &wire{kind: k, reading: true, rest: b}
	switch {
	case len(b) < preambleBytes || b[0] != magic0 || b[1] != magic1:
		w.fail("it does not begin with the preamble of tollgate's records")
	case Kind(b[2]) != k:
		w.fail("it is of another kind")
	case b[3] != k.version():
		w.note(&MalformedError{Kind: k, cause: ErrVersion,
			What: fmt.Sprintf("it is of version %d, this program knows version %d", b[3], k.version())})
	default:
		w.rest = b[preambleBytes:]
	}
	return w
}

// encode returns the encoding of v. Errors: ErrInvalid.
func encode[T any](k Kind, v *T, layout func(*T, *wire)) ([]byte, error) {
	w := newWriter(nil, k)
	layout(v, w)
	return w.written()
}

// decode is the inverse of encode. Errors: ErrMalformed, ErrVersion.
func decode[T any](b []byte, k Kind, layout func(*T, *wire)) (T, error) {
	r := newReader(b, k)
	var v, none T
	layout(&v, r)
	if r.check(len(r.rest) == 0, "bytes left over"); r.err != nil {
		return none, r.err
	}
	return v, nil
}

// fail records a fault unless an earlier one is recorded. what describes the fault.
func (w *wire) fail(what string) {
	switch {
	case w.err != nil:
	case w.reading:
		w.note(malformed(w.kind, what))
	default:
		w.note(invalid(w.kind, what))
	}
}

// note records an error unless it is nil or an earlier one is recorded.
func (w *wire) note(err error) {
	if err != nil && w.err == nil {
		w.err, w.rest = err, nil
	}
}

// check records a fault unless ok.
func (w *wire) check(ok bool, what string) {
	if !ok {
		w.fail(what)
	}
}

// written returns the output, or the first fault.
func (w *wire) written() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.out, nil
}

// fields encodes or decodes simple fields in order. In pairs, each field is preceded by its name,
// which is used in errors.
func (w *wire) fields(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i].(string)
		switch v := pairs[i+1].(type) {
		case *uint64:
			w.uint(v, name)
		case *uint32:
			w.uint32(v, name)
		case *int64:
			w.int(v, name)
		case *int32:
			w.int32(v, name)
		case *string:
			w.text(v, name)
		case *bool:
			w.bool(v, name)
		case *float64:
			w.float(v, name)
		case *units.Mu2:
			w.uint((*uint64)(v), name)
		case *units.Precision:
			w.precision(v, name)
		case *units.Delta:
			w.wide((*int128.Uint)(v), name)
		case []byte:
			w.fixed(v, name)
		default:
			w.fail(name + ": a type without an encoding")
		}
	}
}

func (w *wire) uint(v *uint64, what string) {
	if w.reading {
		*v = w.readUint(math.MaxUint64, what)
	} else {
		w.out = binary.AppendUvarint(w.out, *v)
	}
}

func (w *wire) uint32(v *uint32, what string) {
	if w.reading {
		*v = uint32(w.readUint(math.MaxUint32, what))
	} else {
		w.out = binary.AppendUvarint(w.out, uint64(*v))
	}
}

func (w *wire) int(v *int64, what string) {
	if w.reading {
		*v = protowire.DecodeZigZag(w.readUint(math.MaxUint64, what))
	} else {
		w.out = binary.AppendVarint(w.out, *v)
	}
}

func (w *wire) int32(v *int32, what string) {
	if w.reading {
		*v = int32(protowire.DecodeZigZag(w.readUint(math.MaxUint32, what)))
	} else {
		w.out = binary.AppendVarint(w.out, int64(*v))
	}
}

func (w *wire) readUint(most uint64, what string) uint64 {
	b := w.rest
	if len(b) > 0 && b[0] < 0x80 {
		w.rest = b[1:]
		return uint64(b[0])
	}
	v, n := binary.Uvarint(b)
	switch {
	// A number whose last byte is zero has a shorter form and is rejected.
	case n <= 0 || b[n-1] == 0:
		w.fail(what + ": not a number in its shortest form")
	case v > most:
		w.fail(what + ": out of range")
	default:
		w.rest = b[n:]
		return v
	}
	return 0
}

// length encodes or decodes the length of a list whose elements take at least size bytes each.
// While reading, the elements must fit into the remaining bytes.
func (w *wire) length(n, size int, what string) int {
	if !w.reading {
		w.out = binary.AppendUvarint(w.out, uint64(n))
		return n
	}
	long := w.readUint(math.MaxUint64, what)
	if long > uint64(len(w.rest)/size) {
		w.fail(what + ": longer than the rest of the record")
		return 0
	}
	return int(long)
}

// next returns the next n bytes. They share memory with the encoding.
func (w *wire) next(n int, what string) []byte {
	if n > len(w.rest) {
		w.fail(what + ": truncated")
		return nil
	}
	b := w.rest[:n:n]
	w.rest = w.rest[n:]
	return b
}

// fixed encodes or decodes len(v) bytes.
func (w *wire) fixed(v []byte, what string) {
	if !w.reading {
		w.out = append(w.out, v...)
		return
	}
	clear(v[copy(v, w.next(len(v), what)):])
}

// bytes encodes or decodes a length of at most limit, followed by that many bytes. A decoded value
// shares memory with the encoding.
func (w *wire) bytes(v *[]byte, limit int, what string) {
	n := w.length(len(*v), 1, what)
	if n > limit {
		w.fail(what + ": too long")
	}
	if w.reading {
		*v = w.next(n, what)
	} else {
		w.out = append(w.out, *v...)
	}
}

func (w *wire) text(v *string, what string) {
	b := []byte(*v)
	w.bytes(&b, maxTextBytes, what)
	if w.reading {
		*v = string(b)
	}
}

func (w *wire) bool(v *bool, what string) {
	var b [1]byte
	if *v {
		b[0] = 1
	}
	w.fixed(b[:], what)
	if b[0] > 1 {
		w.fail(what + ": neither true nor false")
	}
	if w.reading {
		*v = b[0] == 1
	}
}

func (w *wire) float(v *float64, what string) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], math.Float64bits(*v))
	w.fixed(b[:], what)
	f := math.Float64frombits(binary.BigEndian.Uint64(b[:]))
	if !finite(f) {
		w.fail(what + ": not finite")
	} else if w.reading {
		*v = f
	}
}

// wide encodes or decodes a 128-bit number as a length (0 to 16) and big-endian bytes without
// leading zeros.
func (w *wire) wide(v *int128.Uint, what string) {
	if !w.reading {
		w.out = v.AppendMinimal(append(w.out, byte(v.ByteLen())))
		return
	}
	var n [1]byte
	w.fixed(n[:], what)
	u, ok := int128.FromMinimal(w.next(int(n[0]), what))
	if !ok {
		w.fail(what + ": not a number of 128 bits in its shortest form")
	}
	*v = u
}

func (w *wire) precision(v *units.Precision, what string) { w.wide((*int128.Uint)(v), what) }

// more reports whether optional fields follow. While writing, it returns present.
func (w *wire) more(present bool) bool {
	if w.reading {
		return len(w.rest) > 0
	}
	return present
}

// list encodes or decodes a length and that many elements, which take at least size bytes each.
func list[T any](w *wire, v *[]T, size int, what string, element func(*T, *wire)) {
	elements(w, v, w.length(len(*v), size, what), what, element)
}

// elements encodes or decodes n elements, where n is known from earlier fields.
func elements[T any](w *wire, v *[]T, n int, what string, element func(*T, *wire)) {
	if w.reading {
		if *v = nil; n > 0 {
			*v = make([]T, n)
		}
	}
	if len(*v) != n {
		w.fail(what + ": not as many as the record requires")
	}
	for i := range *v {
		if w.reading && w.err != nil {
			return
		}
		element(&(*v)[i], w)
	}
}

func (w *wire) ints(v *[]int64, what string) {
	list(w, v, 1, what, func(n *int64, w *wire) { w.int(n, what) })
}

func (w *wire) uints(v *[]uint64, what string) {
	list(w, v, 1, what, func(n *uint64, w *wire) { w.uint(n, what) })
}

// ascend records a fault unless every element is greater than the one before it.
func ascend[T any](w *wire, v []T, what string, compare func(a, b *T) int) {
	for i := 1; i < len(v); i++ {
		if compare(&v[i-1], &v[i]) >= 0 {
			w.fail(what + " out of order")
			return
		}
	}
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
