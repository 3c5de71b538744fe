package schemas

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/tollgate-dp/tollgate/internal/int128"
	"github.com/tollgate-dp/tollgate/state"
)

// Kind tells the formats of this package apart; it is the third byte of every encoding but the Avro ones.
type Kind byte

// The kinds. A number is never given to another format.
const (
	KindHeader        Kind = 1
	KindEpoch         Kind = 2
	KindClose         Kind = 3
	KindSettled       Kind = 4
	KindStop          Kind = 5
	KindRecover       Kind = 6
	KindGeneration    Kind = 7
	KindRun           Kind = 8
	KindDeltaPart     Kind = 16
	KindDeltaBody     Kind = 17
	KindSnapshotPart  Kind = 18
	KindSnapshotBody  Kind = 19
	KindFence         Kind = 20
	KindLedgerKey     Kind = 21 // the text keys of the ledger; named in errors only
	KindOpenSlice     Kind = 22
	KindReleaseKey    Kind = 32
	KindRelease       Kind = 33 // Avro; named in errors only
	KindMetricSpec    Kind = 34
	KindTurnEnd       Kind = 35 // Avro but for its Kafka key
	KindContributions Kind = 48
	KindOpen          Kind = 49
	KindEnvelope      Kind = 50
	KindPartial       Kind = 51
	KindAck           Kind = 52
	KindDeadLetter    Kind = 64 // Kafka headers; named in errors only
)

// String is the name that error texts use.
func (k Kind) String() string {
	names := [...]struct {
		kind Kind
		name string
	}{
		{KindHeader, "control header"}, {KindEpoch, "control epoch"}, {KindClose, "control close"},
		{KindSettled, "control settled"}, {KindStop, "control stop"}, {KindRecover, "control recover"}, {KindGeneration, "control generation"},
		{KindRun, "control run"},
		{KindDeltaPart, "ledger delta part"}, {KindDeltaBody, "ledger delta"},
		{KindSnapshotPart, "ledger snapshot part"}, {KindSnapshotBody, "ledger snapshot"},
		{KindFence, "fence"}, {KindOpenSlice, "open slice"}, {KindLedgerKey, "ledger key"}, {KindReleaseKey, "release key"},
		{KindRelease, "release"}, {KindMetricSpec, "metric specification"}, {KindTurnEnd, "turn end"},
		{KindContributions, "contributions"}, {KindOpen, "open"}, {KindEnvelope, "envelope"},
		{KindPartial, "partial counts"}, {KindAck, "acknowledgement"}, {KindDeadLetter, "dead letter"},
	}
	for _, n := range names {
		if n.kind == k {
			return n.name
		}
	}
	return "record of unknown kind " + strconv.Itoa(int(k))
}

const (
	magic0, magic1 = 'T', 'g'
	preambleBytes  = 4
	maxTextBytes   = 1 << 16 // names, topics, reasons
)

// version is that of a kind's format. Version 1 knew event counts over fixed windows only; version 2 of the control
// topic did not number the runs. Neither was ever released.
func (k Kind) version() byte {
	if k <= KindRun {
		return 3
	}
	return 2
}

func appendPreamble(dst []byte, k Kind) []byte {
	return append(dst, magic0, magic1, byte(k), k.version())
}

// Ours says whether some version of this program wrote an encoding, whole or damaged: all of them begin with the same
// two bytes, but for the Avro ones.
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

// appendWide writes a 128-bit number as a length byte (0 to 16) and its big-endian bytes without leading zeros.
func appendWide(dst []byte, u int128.Uint) []byte {
	return u.AppendMinimal(append(dst, byte(u.ByteLen())))
}

func appendPrecision(dst []byte, p state.Precision) []byte { return appendWide(dst, int128.Uint(p)) }
func appendDelta(dst []byte, d state.Delta) []byte         { return appendWide(dst, int128.Uint(d)) }

// wireDecoder takes an encoding apart. The first fault sticks: every later call returns zero values, and finish reports it,
// so that decoders read field after field without a branch each. Loops end because count returns 0 after a fault.
type wireDecoder struct {
	rest []byte
	kind Kind
	err  error
}

// newReader checks the preamble for the wanted kind.
func newReader(b []byte, k Kind) *wireDecoder {
	r := &wireDecoder{rest: b, kind: k}
	switch {
	case len(b) < preambleBytes || b[0] != magic0 || b[1] != magic1:
		r.fail("magic")
	case Kind(b[2]) != k:
		r.fail("kind")
	case b[3] != k.version():
		r.err = &MalformedError{Kind: k, What: "version " + strconv.Itoa(int(b[3])), cause: ErrVersion}
	default:
		r.rest = b[preambleBytes:]
	}
	return r
}

func (r *wireDecoder) fail(what string) {
	if r.err == nil {
		r.err = malformed(r.kind, what)
	}
	r.rest = nil
}

// finish returns the first fault, or one for bytes left over.
func (r *wireDecoder) finish() error {
	if r.err == nil && len(r.rest) != 0 {
		r.fail("bytes left over")
	}
	return r.err
}

func (r *wireDecoder) uvarint(what string) uint64 {
	b := r.rest
	if len(b) > 0 && b[0] < 0x80 {
		r.rest = b[1:]
		return uint64(b[0])
	}
	v, n := binary.Uvarint(b)
	// A last byte of zero is a longer form of a shorter number: refused, so that an encoding is unique.
	if n <= 0 || b[n-1] == 0 {
		r.fail(what)
		return 0
	}
	r.rest = b[n:]
	return v
}

func (r *wireDecoder) varint(what string) int64 {
	u := r.uvarint(what)
	return int64(u>>1) ^ -int64(u&1)
}

func (r *wireDecoder) uint32(what string) uint32 {
	v := r.uvarint(what)
	if v > math.MaxUint32 {
		r.fail(what)
		return 0
	}
	return uint32(v)
}

func (r *wireDecoder) int32(what string) int32 {
	v := r.varint(what)
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.fail(what)
		return 0
	}
	return int32(v)
}

// count reads a number of elements of at least size bytes each and bounds it by what is left.
func (r *wireDecoder) count(what string, size int) int {
	n := r.uvarint(what)
	if n > uint64(len(r.rest)/size) {
		r.fail(what)
		return 0
	}
	return int(n)
}

// take returns the next n bytes, sharing memory.
func (r *wireDecoder) take(n int, what string) []byte {
	if n > len(r.rest) {
		r.fail(what)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *wireDecoder) bytes(what string, limit int) []byte {
	n := r.count(what, 1)
	if n > limit {
		r.fail(what)
		return nil
	}
	return r.take(n, what)
}

func (r *wireDecoder) text(what string) string { return string(r.bytes(what, maxTextBytes)) }

func (r *wireDecoder) bool(what string) bool {
	b := r.take(1, what)
	if len(b) == 0 {
		return false
	}
	if b[0] > 1 {
		r.fail(what)
	}
	return b[0] == 1
}

func (r *wireDecoder) digest(what string) (d [32]byte) {
	copy(d[:], r.take(len(d), what))
	return d
}

func (r *wireDecoder) id(what string) (d [16]byte) {
	copy(d[:], r.take(len(d), what))
	return d
}

func (r *wireDecoder) float(what string) float64 {
	b := r.take(8, what)
	if len(b) == 0 {
		return 0
	}
	f := math.Float64frombits(binary.BigEndian.Uint64(b))
	if !finite(f) {
		r.fail(what)
		return 0
	}
	return f
}

func (r *wireDecoder) wide(what string) int128.Uint {
	head := r.take(1, what)
	if len(head) == 0 {
		return int128.Uint{}
	}
	n := int(head[0])
	if n > int128.Size {
		r.fail(what)
		return int128.Uint{}
	}
	u, ok := int128.FromMinimal(r.take(n, what))
	if !ok {
		r.fail(what)
	}
	return u
}

func (r *wireDecoder) precision(what string) state.Precision { return state.Precision(r.wide(what)) }
func (r *wireDecoder) delta(what string) state.Delta         { return state.Delta(r.wide(what)) }

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
