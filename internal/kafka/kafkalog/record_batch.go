package kafkalog

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
)

// batchHeader is the size of the header of a record batch, format version 2, up to and including
// the record count.
const batchHeader = 61

// crcStart is where the checksummed part begins: after the checksum itself.
const crcStart = 21

// batch is a record batch of format version 2.
type batch struct {
	FirstOffset          int64
	PartitionLeaderEpoch int32
	CRC                  uint32
	Attributes           uint16
	LastOffsetDelta      int32
	FirstTimestamp       int64
	MaxTimestamp         int64
	ProducerID           int64
	ProducerEpoch        int16
	FirstSequence        int32
	NumRecords           int32
	Records              []byte // compressed or not
}

// last returns the offset of the last record, as first written.
func (b *batch) last() int64 { return b.FirstOffset + int64(b.LastOffsetDelta) }

// nextBatch reads the first batch in raw. ok is false when raw does not hold a whole one.
func nextBatch(raw []byte) (b batch, rest []byte, ok bool) {
	const magic = 2
	if len(raw) < batchHeader || raw[16] != magic {
		return b, nil, false
	}
	end := 12 + int64(int32(binary.BigEndian.Uint32(raw[8:])))
	if end < batchHeader || end > int64(len(raw)) {
		return b, nil, false
	}
	b = batch{
		FirstOffset:          int64(binary.BigEndian.Uint64(raw)),
		PartitionLeaderEpoch: int32(binary.BigEndian.Uint32(raw[12:])),
		CRC:                  binary.BigEndian.Uint32(raw[17:]),
		Attributes:           binary.BigEndian.Uint16(raw[21:]),
		LastOffsetDelta:      int32(binary.BigEndian.Uint32(raw[23:])),
		FirstTimestamp:       int64(binary.BigEndian.Uint64(raw[27:])),
		MaxTimestamp:         int64(binary.BigEndian.Uint64(raw[35:])),
		ProducerID:           int64(binary.BigEndian.Uint64(raw[43:])),
		ProducerEpoch:        int16(binary.BigEndian.Uint16(raw[51:])),
		FirstSequence:        int32(binary.BigEndian.Uint32(raw[53:])),
		NumRecords:           int32(binary.BigEndian.Uint32(raw[57:])),
		Records:              raw[batchHeader:end],
	}
	// No offset is negative, and none overflows.
	sane := b.LastOffsetDelta >= 0 && b.FirstOffset >= 0 && b.FirstOffset < math.MaxInt64-math.MaxInt32
	return b, raw[end:], sane
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
	u16, u32, u64 := binary.BigEndian.AppendUint16, binary.BigEndian.AppendUint32, binary.BigEndian.AppendUint64
	dst = u64(dst, 0)                   // offset
	dst = u32(dst, 0)                   // length: see below
	dst = u32(dst, math.MaxUint32)      // leader epoch: the broker's to fill
	dst = append(dst, 2)                // format version
	dst = u32(dst, 0)                   // checksum: see below
	dst = u16(dst, 0)                   // attributes
	dst = u32(dst, uint32(len(msgs)-1)) // offset of the last record
	dst = u64(dst, uint64(first))       // times
	dst = u64(dst, uint64(last))
	dst = u64(dst, uint64(producer))
	dst = u16(dst, uint16(epoch))
	dst = u32(dst, uint32(sequence))
	dst = u32(dst, uint32(len(msgs)))
	for i := range msgs {
		dst = appendRecord(dst, &msgs[i], msgs[i].Timestamp.or(now)-first, i)
	}
	b := dst[start:]
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
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
		dst = append(binary.AppendVarint(dst, int64(len(h.Key))), h.Key...)
		dst = appendNullable(dst, h.Value)
	}
	return dst
}

func appendNullable(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

// bodySize is the length of a record's body in bytes.
func bodySize(m *Message, timeDelta int64, index int) int {
	n := 1 + varintSize(timeDelta) + varintSize(int64(index)) + nullableSize(m.Key) + nullableSize(m.Value)
	n += varintSize(int64(len(m.Headers)))
	for _, h := range m.Headers {
		n += varintSize(int64(len(h.Key))) + len(h.Key) + nullableSize(h.Value)
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
	return varintSize(int64(len(b))) + len(b)
}

// varintSize is the length of a zigzag varint in bytes.
func varintSize(v int64) int { return (bits.Len64(uint64(v<<1^v>>63)|1) + 6) / 7 }

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
