package kafkalog

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	attrCodec         = 0x07
	attrAppendTime    = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

// recordSet decodes the batches of one response in log order. It is like kgo.ProcessFetchPartition
// (a test compares the two), but reuses memory and has no timestamps beyond the year 2262.
type recordSet struct {
	partition  int32
	next       int64 // records below this offset are not requested, or have been returned
	records    []Record
	appendTime bool
	aborted    map[int64][]int64 // first offsets of aborted transactions by producer id, ascending
	in         *space
}

// decodeRecordSet returns the records from fetch.Offset on. ok is false if a batch is damaged; the
// records before it are still returned. A batch that is cut off at the end is not damaged.
func decodeRecordSet(fetch Fetch, p *kmsg.FetchResponseTopicPartition, in *space) (s recordSet, ok bool) {
	s = recordSet{partition: fetch.Partition, next: fetch.Offset, appendTime: true, in: in,
		records: in.records[len(in.records):]}
	defer func() {
		in.records = in.records[:len(in.records)+min(len(s.records), cap(in.records)-len(in.records))]
		s.records = slices.Clip(s.records)
	}()
	for _, a := range p.AbortedTransactions {
		if s.aborted == nil {
			s.aborted = map[int64][]int64{}
		}
		s.aborted[a.ProducerID] = append(s.aborted[a.ProducerID], a.FirstOffset)
	}
	for _, firsts := range s.aborted {
		slices.Sort(firsts)
	}
	raw := p.RecordBatches
	for len(raw) > 0 {
		b, rest, complete := nextBatch(raw)
		if !complete {
			break
		}
		if b.last() >= s.next && !s.add(&b, raw[:len(raw)-len(rest)]) {
			return s, false
		}
		raw = rest
	}
	// If no byte made progress, the same bytes would be requested again forever.
	return s, len(p.RecordBatches) == 0 || s.next > fetch.Offset
}

func (s *recordSet) add(b *batch, raw []byte) bool {
	if uint32(b.CRC) != castagnoli(raw[crcStart:]) || b.NumRecords < 0 {
		return false
	}
	body := b.Records
	if codec := b.Attributes & attrCodec; codec != 0 {
		var err error
		if body, err = s.in.decompress(body, kgo.CompressionCodecType(codec)); err != nil {
			return false
		}
	}
	if b.Attributes&attrControl != 0 {
		if !s.marker(b, body) {
			return false
		}
	} else {
		before := *s
		ok := s.parse(b, body) // even an aborted batch must be valid
		if !ok || s.isAborted(b) {
			s.records, s.next, s.appendTime = before.records, before.next, before.appendTime
		}
		if !ok {
			return false
		}
	}
	s.next = b.last() + 1 // even if compaction removed the last records
	return true
}

// isAborted reports whether a batch belongs to an aborted transaction whose marker comes later.
func (s *recordSet) isAborted(b *batch) bool {
	firsts := s.aborted[b.ProducerID]
	return b.Attributes&attrTransactional != 0 && len(firsts) > 0 && b.FirstOffset >= firsts[0]
}

// marker ends the aborted transaction that an abort marker closes. Compaction may empty the batch.
func (s *recordSet) marker(b *batch, body []byte) bool {
	if b.NumRecords == 0 {
		return len(body) == 0
	}
	kind, ok := markerKind(b, body)
	if !ok || b.NumRecords != 1 {
		return false
	}
	if kind == abortMarker && s.isAborted(b) {
		s.aborted[b.ProducerID] = s.aborted[b.ProducerID][1:]
	}
	return true
}

const (
	noMarker     = -1 // another control record
	abortMarker  = 0
	commitMarker = 1
)

// markerKind returns the kind of a marker: the only record in a control batch.
func markerKind(b *batch, body []byte) (kind int, ok bool) {
	var r Record
	if _, delta, rest, ok := parseRecord(&r, body); !ok || len(rest) != 0 || delta < 0 ||
		delta > int64(b.LastOffsetDelta) {
		return noMarker, false
	}
	if len(r.Key) < 4 {
		return noMarker, true
	}
	return int(binary.BigEndian.Uint16(r.Key[2:])), true
}

// parse appends the requested records of a batch. It returns false unless the batch contains
// exactly the records that its header announces.
func (s *recordSet) parse(b *batch, body []byte) bool {
	appended := b.Attributes&attrAppendTime != 0
	for range b.NumRecords {
		if len(body) == 0 {
			return false
		}
		s.records = append(s.records, Record{})
		r := &s.records[len(s.records)-1]
		timeDelta, offsetDelta, rest, ok := parseRecord(r, body)
		if !ok || offsetDelta < 0 || offsetDelta > int64(b.LastOffsetDelta) {
			return false
		}
		body = rest
		r.Partition = s.partition
		r.Offset = b.FirstOffset + offsetDelta
		r.LeaderEpoch = b.PartitionLeaderEpoch
		if r.Timestamp = b.FirstTimestamp + timeDelta; appended {
			r.Timestamp = b.MaxTimestamp
		}
		if r.Offset < s.next {
			s.records = s.records[:len(s.records)-1]
			continue
		}
		s.next = r.Offset + 1
		s.appendTime = s.appendTime && appended
	}
	return len(body) == 0
}

// parseRecord reads one record into r, and returns the record's deltas and the bytes after it.
func parseRecord(r *Record, in []byte) (timeDelta, offsetDelta int64, rest []byte, ok bool) {
	all := kbin.Reader{Src: in}
	body := kbin.Reader{Src: all.Span(int(all.Varint()))}
	body.Int8() // attributes: none are defined
	timeDelta, offsetDelta = body.Varlong(), int64(body.Varint())
	r.Key, r.Value = nullable(&body), nullable(&body)
	n := int(body.Varint())
	if n < 0 || n > len(body.Src)/2 { // a header takes at least two bytes
		return 0, 0, nil, false
	}
	if n > 0 {
		r.Headers = make([]Header, n)
	}
	for i := range r.Headers {
		r.Headers[i].Key = string(body.Span(int(body.Varint())))
		r.Headers[i].Value = nullable(&body)
	}
	return timeDelta, offsetDelta, all.Src, all.Ok() && body.Ok() && len(body.Src) == 0
}

func nullable(in *kbin.Reader) []byte {
	n := int(in.Varint())
	if n == -1 {
		return nil
	}
	return in.Span(n)
}
