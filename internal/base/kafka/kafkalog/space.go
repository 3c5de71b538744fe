package kafkalog

import (
	"math/bits"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
)

const (
	// keptRecords is the maximum number of records, and keptBytes the maximum size of decompressed
	// batches, that a space keeps for the next response.
	keptRecords = 1 << 17
	keptBytes   = 4 * maxFetchBytes
)

// space is the memory of one response: its bytes, records and decompressed batches. With Reuse, a
// link decodes all responses into the same space.
type space struct {
	decompressor kgo.Decompressor
	frame        []byte
	records      []Record
	bodies       [][]byte // decompressed batches; nil unless the space is reused
	used         int      // number of bodies in use
	reused       bool
}

func newSpace(decompressor kgo.Decompressor, reused bool) *space {
	s := &space{decompressor: decompressor, reused: reused}
	if reused {
		s.decompressor = kgo.DefaultDecompressor(s)
	}
	return s
}

func (s *space) bytes(n int) []byte {
	switch {
	case !s.reused:
		return make([]byte, n)
	case cap(s.frame) < n:
		s.frame = make([]byte, 1<<bits.Len(uint(n-1)))
	}
	return s.frame[:n]
}

// giveBack invalidates the response in the space, if the space is reused.
func (s *space) invalidate() {
	if !s.reused {
		return
	}
	poison.Bytes(s.frame)
	poison.Fill(s.records, Record{Offset: -1, Key: []byte("given back"), Value: []byte("given back")})
	for _, body := range s.bodies {
		poison.Bytes(body)
	}
}

// begin makes room for the records that a response announces, as far as its bytes can hold them.
func (s *space) begin(res *kmsg.FetchResponse) {
	const smallest = 7 // bytes of a record without key, value and headers
	total := 0
	for i := range res.Topics {
		for j := range res.Topics[i].Partitions {
			raw := res.Topics[i].Partitions[j].RecordBatches
			n, limit := 0, len(raw)/smallest
			for b, rest, ok := nextBatch(raw); ok; b, rest, ok = nextBatch(rest) {
				n += int(max(b.NumRecords, 0))
			}
			total += min(n, limit)
		}
	}
	if cap(s.records) < total || cap(s.records) > keptRecords {
		s.records = make([]Record, 0, total)
	}
	s.records, s.used = s.records[:0], 0
	kept := 0
	for i, body := range s.bodies {
		if kept += cap(body); kept > keptBytes {
			s.bodies = slices.Delete(s.bodies, i, len(s.bodies))
			break
		}
	}
}

func (s *space) decompress(body []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	out, err := s.decompressor.Decompress(body, codec)
	if err != nil || !s.reused {
		return out, err
	}
	if s.used == len(s.bodies) {
		s.bodies = append(s.bodies, nil)
	}
	s.bodies[s.used] = out
	s.used++
	return out, nil
}

func (s *space) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte {
	if s.used == len(s.bodies) {
		return nil
	}
	return s.bodies[s.used]
}

// PutDecompressBytes implements kgo.PoolDecompressBytes: a no-op, as decompress keeps the memory.
func (s *space) PutDecompressBytes([]byte) {}
