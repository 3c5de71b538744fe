package kafkalog

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/twmb/franz-go/pkg/kbin"
)

// batchHeader is the size of the header of a record batch, format version 2, up to and including
// the record count.
const batchHeader = 61

// crcStart is where the checksummed part begins: after the checksum itself.
const crcStart = 21

// batchInfo is what a batch header says.
type batchInfo struct {
	base        int64 // offset of the first record, as first written
	leaderEpoch int32
	attributes  uint16
	lastDelta   int32
	firstTime   int64 // unix ms
	maxTime     int64 // unix ms; the append time with attrAppendTime
	producer    int64 // −1: not idempotent
	epoch       int16
	sequence    int32 // of the first record; −1 without a sequence
	count       int32
}

func (b batchInfo) last() int64 { return b.base + int64(b.lastDelta) }

// nextBatch reads the header of the first batch in raw. ok is false when raw does not hold a whole
// batch of format version 2.
func nextBatch(raw []byte) (b batchInfo, rest []byte, ok bool) {
	if len(raw) < batchHeader {
		return b, nil, false
	}
	length := int64(int32(binary.BigEndian.Uint32(raw[8:]))) + 12
	if length < batchHeader || length > int64(len(raw)) || raw[16] != 2 {
		return b, nil, false
	}
	b = batchInfo{
		base:        int64(binary.BigEndian.Uint64(raw)),
		leaderEpoch: int32(binary.BigEndian.Uint32(raw[12:])),
		attributes:  binary.BigEndian.Uint16(raw[21:]),
		lastDelta:   int32(binary.BigEndian.Uint32(raw[23:])),
		firstTime:   int64(binary.BigEndian.Uint64(raw[27:])),
		maxTime:     int64(binary.BigEndian.Uint64(raw[35:])),
		producer:    int64(binary.BigEndian.Uint64(raw[43:])),
		epoch:       int16(binary.BigEndian.Uint16(raw[51:])),
		sequence:    int32(binary.BigEndian.Uint32(raw[53:])),
		count:       int32(binary.BigEndian.Uint32(raw[57:])),
	}
	// No offset is negative, and none overflows.
	sane := b.lastDelta >= 0 && b.base >= 0 && b.base < math.MaxInt64-math.MaxInt32
	return b, raw[length:], sane
}

// appendBatch encodes msgs as one uncompressed, non-transactional record batch of the given
// producer and appends it to dst. Its base offset is 0: the broker writes the real one. now (unix
// ms) is the time of appending. The distance of two times may not fit an int64: deltas wrap around,
// and so does the sum that a reader makes of them.
func appendBatch(dst []byte, msgs []Message, producer int64, epoch int16, sequence int32, now int64) []byte {
	start := len(dst)
	first := msgs[0].Timestamp.or(now)
	last := first
	for i := range msgs {
		last = max(last, msgs[i].Timestamp.or(now))
	}
	dst = append(dst, make([]byte, batchHeader)...)
	for i := range msgs {
		dst = appendRecord(dst, &msgs[i], msgs[i].Timestamp.or(now)-first, i)
	}
	b := dst[start:]
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], math.MaxUint32) // leader epoch −1: the broker's to fill
	b[16] = 2                                          // format version
	binary.BigEndian.PutUint32(b[23:], uint32(len(msgs)-1))
	binary.BigEndian.PutUint64(b[27:], uint64(first))
	binary.BigEndian.PutUint64(b[35:], uint64(last))
	binary.BigEndian.PutUint64(b[43:], uint64(producer))
	binary.BigEndian.PutUint16(b[51:], uint16(epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(sequence))
	binary.BigEndian.PutUint32(b[57:], uint32(len(msgs)))
	binary.BigEndian.PutUint32(b[17:], castagnoli(b[crcStart:]))
	return dst
}

// castagnoli is the checksum of record batches; MakeTable returns the shared table.
func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// appendRecord encodes one record of a batch: its length, then the body.
func appendRecord(dst []byte, m *Message, timeDelta int64, index int) []byte {
	dst = binary.AppendVarint(dst, int64(bodySize(m, timeDelta, index)))
	dst = append(dst, 0) // attributes: none are defined
	dst = binary.AppendVarint(dst, timeDelta)
	dst = binary.AppendVarint(dst, int64(index))
	dst = appendNullable(dst, m.Key)
	dst = appendNullable(dst, m.Value)
	dst = binary.AppendVarint(dst, int64(len(m.Headers)))
	for _, h := range m.Headers {
		dst = binary.AppendVarint(dst, int64(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendNullable(dst, h.Value)
	}
	return dst
}

func appendNullable(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

// bodySize is the length of a record's body in bytes.
func bodySize(m *Message, timeDelta int64, index int) int {
	n := 1 + kbin.VarlongLen(timeDelta) + kbin.VarlongLen(int64(index)) + nullableSize(m.Key) + nullableSize(m.Value)
	n += kbin.VarlongLen(int64(len(m.Headers)))
	for _, h := range m.Headers {
		n += kbin.VarlongLen(int64(len(h.Key))) + len(h.Key) + nullableSize(h.Value)
	}
	return n
}

// maxRecordSize bounds what a message takes in a batch, whatever its index and time in it.
func maxRecordSize(m *Message) int {
	return binary.MaxVarintLen32 + bodySize(m, math.MinInt64, math.MaxInt32)
}

func nullableSize(b []byte) int {
	if b == nil {
		return 1
	}
	return kbin.VarlongLen(int64(len(b))) + len(b)
}

// splitBatch returns how many of the leading msgs fit in a batch of limit bytes; 0 when the first
// alone does not.
func splitBatch(msgs []Message, limit int) int {
	size := batchHeader
	for i := range msgs {
		size += maxRecordSize(&msgs[i])
		if size > limit {
			return i
		}
	}
	return len(msgs)
}
