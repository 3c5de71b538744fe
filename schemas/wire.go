package schemas

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Kind tells the formats of this package apart. It is the third byte of every encoding but Avro,
// JSON and text.
type Kind byte

// The kinds. A number is never used again for another format.
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
	KindDeltaPart     Kind = 16
	KindDeltaBody     Kind = 17
	KindSnapshotPart  Kind = 18
	KindSnapshotBody  Kind = 19 // 20: kindFence
	KindLedgerKey     Kind = 21 // the text keys of the ledger; named in errors only
	KindOpenSlice     Kind = 22
	KindAccounts      Kind = 23 // of package accounts; named in errors only
	KindReleaseKey    Kind = 32 // text; named in errors only
	KindRelease       Kind = 33 // Avro or JSON; named in errors only
	KindMetricSpec    Kind = 34
	KindTurnEnd       Kind = 35 // JSON; named in errors only
	KindContributions Kind = 48
	KindOpen          Kind = 49 // 50: an OPEN and its contributions, which no version writes any more
	KindPartial       Kind = 51
	KindAck           Kind = 52
	KindDeadLetter    Kind = 64 // Kafka headers; named in errors only
)

// String returns the name that error texts use.
func (k Kind) String() string {
	names := [...]struct {
		kind Kind
		name string
	}{
		{KindHeader, "control header"}, {KindEpoch, "control epoch"}, {KindClose, "control close"},
		{KindSettled, "control settled"}, {KindStop, "control stop"}, {KindRecover, "control recover"}, {KindGeneration, "control generation"},
		{KindRun, "control run"}, {KindReader, "control reader"}, {KindPassed, "control passed"}, {KindLost, "control lost"},
		{KindDrain, "control drain"}, {KindEnd, "control end"},
		{KindDeltaPart, "ledger delta part"}, {KindDeltaBody, "ledger delta"},
		{KindSnapshotPart, "ledger snapshot part"}, {KindSnapshotBody, "ledger snapshot"},
		{KindOpenSlice, "open slice"}, {KindAccounts, "accounts"}, {KindLedgerKey, "ledger key"}, {KindReleaseKey, "release key"},
		{KindRelease, "release"}, {KindMetricSpec, "metric specification"}, {KindTurnEnd, "turn end"},
		{KindContributions, "contributions"}, {KindOpen, "open"},
		{KindPartial, "partial counts"}, {KindAck, "acknowledgement"}, {KindDeadLetter, "dead letter"},
	}
	for _, n := range names {
		if n.kind == k {
			return n.name
		}
	}
	return unknown + strconv.Itoa(int(k))
}

const (
	unknown   = "record of unknown kind "
	kindFence = Kind(20) // a record that no version writes any more
)

const (
	magic0, magic1 = 'T', 'g'
	preambleBytes  = 4
	maxTextBytes   = 1 << 16 // names, topics, reasons
)

// version returns the version of a kind's format. Version 1 had only event counts over fixed
// windows; version 2 of the control log did not number the runs, version 3 did not say how counts
// are written. Before version 3 tallies did not say which bound clipped a record, nor an OPEN which
// reader's it is. None of them was ever released.
func (k Kind) version() byte {
	switch {
	case k <= KindEnd:
		return 4
	case k == KindDeltaBody, k == KindOpen, k == KindPartial, k == KindAck:
		return 3
	}
	return 2
}

// FormatVersion is the version of a format that this program writes, and the only one that it
// reads.
type FormatVersion struct {
	Format  string // as docs/changelog.md calls it
	Version int
}

// FormatVersions returns the versions of what a deployment has on its topics: the control log
// first.
func FormatVersions() []FormatVersion {
	return []FormatVersion{
		{"control log", int(KindHeader.version())},
		{"deltas of the ledger", int(KindDeltaBody.version())},
		{"the rest of the ledger", int(KindSnapshotBody.version())},
		{"values of counts", countsVersion},
	}
}

// countsVersion is the version of release.avsc.
const countsVersion = 2

func appendPreamble(dst []byte, k Kind) []byte {
	return append(dst, magic0, magic1, byte(k), k.version())
}

// unknownKind returns an ErrVersion for a record of ours whose kind this program does not know:
// kinds are added, and a number is never used again.
func unknownKind(b []byte) error {
	k := Kind(0)
	if len(b) >= preambleBytes && Ours(b) {
		k = Kind(b[2])
	}
	if k == 0 || k == kindFence || !strings.HasPrefix(k.String(), unknown) {
		return nil
	}
	return &MalformedError{Kind: k, What: "this program knows no such kind", cause: ErrVersion, Version: b[3]}
}

// Ours reports whether a version of this program wrote an encoding, whole or damaged: all encodings
// but the Avro ones begin with the same two bytes.
func Ours(b []byte) bool { return len(b) >= 2 && b[0] == magic0 && b[1] == magic1 }

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
}

// appendWide writes a 128-bit number as a length byte (0 to 16) and its big-endian bytes without
// leading zeros.
func appendWide(dst []byte, u int128.Uint) []byte {
	return u.AppendMinimal(append(dst, byte(u.ByteLen())))
}

func appendPrecision(dst []byte, p units.Precision) []byte { return appendWide(dst, int128.Uint(p)) }
func appendDelta(dst []byte, d units.Delta) []byte         { return appendWide(dst, int128.Uint(d)) }

// wireDecoder decodes one encoding, field after field. After the first fault every call returns
// zero values, and finish reports the fault, so that callers need no branch for each field. Loops
// end because count returns 0 after a fault.
type wireDecoder struct {
	rest []byte
	kind Kind
	err  error
}

// newWireDecoder makes a decoder for b, which must begin with the preamble of kind k.
func newWireDecoder(b []byte, k Kind) *wireDecoder {
	d := &wireDecoder{rest: b, kind: k}
	switch {
	case len(b) < preambleBytes || b[0] != magic0 || b[1] != magic1:
		d.fail("it does not begin as a record of this program")
	case Kind(b[2]) != k:
		d.fail("it is of another kind")
	case b[3] != k.version():
		d.err = &MalformedError{Kind: k, What: fmt.Sprintf("it is of version %d, this program knows version %d", b[3], k.version()), cause: ErrVersion, Version: b[3], Known: k.version()}
	default:
		d.rest = b[preambleBytes:]
	}
	return d
}

// fail records a fault, if it is the first. what says what is wrong, in the record's terms.
func (d *wireDecoder) fail(what string) {
	if d.err == nil {
		d.err = malformed(d.kind, what)
	}
	d.rest = nil
}

// finish returns the first fault, or one for bytes left over.
func (d *wireDecoder) finish() error {
	if d.err == nil && len(d.rest) != 0 {
		d.fail("bytes left over")
	}
	return d.err
}

func (d *wireDecoder) uvarint(what string) uint64 {
	b := d.rest
	if len(b) > 0 && b[0] < 0x80 {
		d.rest = b[1:]
		return uint64(b[0])
	}
	v, n := binary.Uvarint(b)
	// A number whose last byte is zero has a shorter form: it is refused, so that an encoding is
	// unique.
	if n <= 0 || b[n-1] == 0 {
		d.fail(what + ": not a number in its shortest form")
		return 0
	}
	d.rest = b[n:]
	return v
}

func (d *wireDecoder) varint(what string) int64 {
	u := d.uvarint(what)
	return int64(u>>1) ^ -int64(u&1)
}

func (d *wireDecoder) uint32(what string) uint32 {
	v := d.uvarint(what)
	if v > math.MaxUint32 {
		d.fail(what + ": out of range")
		return 0
	}
	return uint32(v)
}

func (d *wireDecoder) int32(what string) int32 {
	v := d.varint(what)
	if v < math.MinInt32 || v > math.MaxInt32 {
		d.fail(what + ": out of range")
		return 0
	}
	return int32(v)
}

// count reads a number of elements of at least size bytes each. They must fit in the bytes that are
// left.
func (d *wireDecoder) count(what string, size int) int {
	n := d.uvarint(what)
	if n > uint64(len(d.rest)/size) {
		d.fail(what + ": longer than the rest of the record")
		return 0
	}
	return int(n)
}

// take returns the next n bytes, which share memory with the encoding.
func (d *wireDecoder) take(n int, what string) []byte {
	if n > len(d.rest) {
		d.fail(what + ": cut off")
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *wireDecoder) bytes(what string, limit int) []byte {
	n := d.count(what, 1)
	if n > limit {
		d.fail(what + ": too long")
		return nil
	}
	return d.take(n, what)
}

func (d *wireDecoder) text(what string) string { return string(d.bytes(what, maxTextBytes)) }

func (d *wireDecoder) bool(what string) bool {
	b := d.take(1, what)
	if len(b) == 0 {
		return false
	}
	if b[0] > 1 {
		d.fail(what + ": neither yes nor no")
	}
	return b[0] == 1
}

func (d *wireDecoder) digest(what string) (out [32]byte) {
	copy(out[:], d.take(len(out), what))
	return out
}

func (d *wireDecoder) id(what string) (out [16]byte) {
	copy(out[:], d.take(len(out), what))
	return out
}

func (d *wireDecoder) float(what string) float64 {
	b := d.take(8, what)
	if len(b) == 0 {
		return 0
	}
	f := math.Float64frombits(binary.BigEndian.Uint64(b))
	if !finite(f) {
		d.fail(what + ": not finite")
		return 0
	}
	return f
}

func (d *wireDecoder) wide(what string) int128.Uint {
	head := d.take(1, what)
	if len(head) == 0 {
		return int128.Uint{}
	}
	n := int(head[0])
	if n > int128.Size {
		d.fail(what + ": out of range")
		return int128.Uint{}
	}
	u, ok := int128.FromMinimal(d.take(n, what))
	if !ok {
		d.fail(what + ": not a number in its shortest form")
	}
	return u
}

func (d *wireDecoder) precision(what string) units.Precision { return units.Precision(d.wide(what)) }
func (d *wireDecoder) delta(what string) units.Delta         { return units.Delta(d.wide(what)) }

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
