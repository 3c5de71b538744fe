package kafkalog

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	batchHeader = 61 // size of the header of a record batch, format version 2
	crcStart    = 21 // offset of the checksummed part
)

type batch struct{ kmsg.RecordBatch }

func (b *batch) last() int64 { return b.FirstOffset + int64(b.LastOffsetDelta) } // as first written

// nextBatch reads the first batch in raw. ok is false if raw does not begin with a complete batch.
func nextBatch(raw []byte) (b batch, rest []byte, ok bool) {
	if b.ReadFrom(raw) != nil || b.Magic != 2 {
		return b, nil, false
	}
	// Valid offsets are not negative and do not overflow.
	sane := b.LastOffsetDelta >= 0 && b.FirstOffset >= 0 && b.FirstOffset < math.MaxInt64-math.MaxInt32
	return b, raw[batchHeader+len(b.Records):], sane
}

// appendBatch encodes msgs as one uncompressed, non-transactional record batch and appends it to
// dst. The broker writes the base offset. now is the time of appending in Unix ms. Time deltas may
// wrap around, as does the sum that a reader computes from them.
func appendBatch(dst []byte, msgs []Message, producer int64, epoch int16, sequence int32, now int64) []byte {
	start := len(dst)
	first := msgs[0].Timestamp.or(now)
	last := first
	for i := range msgs {
		last = max(last, msgs[i].Timestamp.or(now))
	}
	header := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, // filled in by the broker
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

// castagnoli returns the checksum of a record batch. MakeTable returns a shared table.
func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func appendRecord(dst []byte, m *Message, timeDelta int64, index int) []byte {
	start := len(dst)
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
	var size [binary.MaxVarintLen32]byte
	return slices.Insert(dst, start, kbin.AppendVarint(size[:0], int32(len(dst)-start))...)
}

// maxRecordSize returns the maximum size of a message in a batch, whatever its index and time.
func maxRecordSize(m *Message) int {
	const number = binary.MaxVarintLen32
	// size, attributes, time, index, lengths
	n := number + 1 + binary.MaxVarintLen64 + 4*number + len(m.Key) + len(m.Value)
	for _, h := range m.Headers {
		n += 2*number + len(h.Key) + len(h.Value)
	}
	return n
}

// splitBatch returns how many of the first msgs fit in a batch of limit bytes.
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
