package kafkalog

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batchHeader is the size of the header of a record batch, format version 2, up to and including
// the record count.
const batchHeader = 61

// crcStart is where the checksummed part begins: after the checksum itself.
const crcStart = 21

// batch is a record batch of format version 2.
type batch struct{ kmsg.RecordBatch }

// last returns the offset of the last record, as first written.
func (b *batch) last() int64 { return b.FirstOffset + int64(b.LastOffsetDelta) }

// nextBatch reads the first batch in raw. ok is false when raw does not hold a whole one.
func nextBatch(raw []byte) (b batch, rest []byte, ok bool) {
	if b.ReadFrom(raw) != nil || b.Magic != 2 {
		return b, nil, false
	}
	// No offset is negative, and none overflows.
	sane := b.LastOffsetDelta >= 0 && b.FirstOffset >= 0 && b.FirstOffset < math.MaxInt64-math.MaxInt32
	return b, raw[batchHeader+len(b.Records):], sane
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
	header := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, // the broker's to fill
		Magic:                2,
		LastOffsetDelta:      int32(len(msgs) - 1), NumRecords: int32(len(msgs)),
		FirstTimestamp: first, MaxTimestamp: last,
		ProducerID: producer, ProducerEpoch: epoch, FirstSequence: sequence,
	}
	dst = header.AppendTo(dst)
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
	dst = kbin.AppendVarint(dst, int32(bodySize(m, timeDelta, index)))
	dst = append(dst, 0) // attributes: none are defined
	dst = kbin.AppendVarlong(dst, timeDelta)
	dst = kbin.AppendVarint(dst, int32(index))
	dst = kbin.AppendVarintBytes(dst, m.Key)
	dst = kbin.AppendVarintBytes(dst, m.Value)
	dst = kbin.AppendVarint(dst, int32(len(m.Headers)))
	for _, h := range m.Headers {
		dst = kbin.AppendVarintString(dst, h.Key)
		dst = kbin.AppendVarintBytes(dst, h.Value)
	}
	return dst
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
