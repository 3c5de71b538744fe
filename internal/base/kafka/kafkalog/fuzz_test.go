package kafkalog

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// frame puts size and correlation id in front of a body.
func frame(correlation uint32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))
	return append(binary.BigEndian.AppendUint32(b, correlation), body...)
}

// franz-go decodes what this package accepts in the same way (it is more lenient with damage).
// Checksums are corrected, so that the fuzzer gets past them.
func FuzzRecordSet(f *testing.F) {
	plain := appendBatch(nil, messages("a", "b"), 7, 0, 0, 1)
	headers := appendBatch(nil, []Message{{Key: []byte("k"), Headers: []Header{{Key: "h", Value: []byte("v")}}}}, 7, 0,
		0, 1)
	txn := bytes.Clone(plain)
	txn[22] = attrTransactional
	marker := appendBatch(nil, []Message{{Key: []byte{0, 0, 0, 0}, Value: make([]byte, 6)}}, 7, 0, 0, 1)
	marker[22] = attrTransactional | attrControl
	binary.BigEndian.PutUint64(marker, 2)
	zipped := bytes.Clone(plain)
	zipped[22] = 4
	f.Add(plain, int64(0), int64(0))
	f.Add(append(bytes.Clone(plain), headers...), int64(1), int64(0))
	f.Add(append(bytes.Clone(txn), marker...), int64(0), int64(0))
	f.Add(append(bytes.Clone(txn), marker...), int64(0), int64(1))
	f.Add(zipped, int64(0), int64(0))
	outside := bytes.Clone(marker) // the marker's offset is beyond its batch's last
	outside[batchHeader+3] = 24
	f.Add(outside, int64(0), int64(0))
	in := newSpace(kgo.DefaultDecompressor(), false)
	f.Fuzz(func(t *testing.T, raw []byte, offset, aborted int64) {
		if offset < 0 || len(raw) > 1<<14 {
			return
		}
		raw = bytes.Clone(raw)
		rest := raw
		for len(rest) > 0 {
			_, after, ok := nextBatch(rest)
			if !ok {
				return
			}
			batch := rest[:len(rest)-len(after)]
			binary.BigEndian.PutUint32(batch[17:], castagnoli(batch[crcStart:]))
			rest = after
		}
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = raw
		p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{
			{ProducerID: 7, FirstOffset: aborted}}
		got, ok := decodeRecordSet(Fetch{Topic: "t", Offset: offset}, &p, in)
		if !ok {
			return
		}
		opts := kgo.ProcessFetchPartitionOpts{Offset: offset, IsolationLevel: kgo.ReadCommitted(), Topic: "t"}
		model, next := kgo.ProcessFetchPartition(opts, &p, in.decompressor, nil)
		if model.Err != nil || len(model.Records) != len(got.records) || next != got.next {
			t.Fatalf("%d records up to %d, franz-go has %d up to %d, %v", len(got.records), got.next,
				len(model.Records), next, model.Err)
		}
		for i, m := range model.Records {
			sameRecord(t, got.records[i], m)
		}
	})
}

func fetchedBy(all []Fetched, _ bool, _ map[topicPartition]error) []Fetched { return all }

func sameRecord(t *testing.T, r Record, m *kgo.Record) {
	t.Helper()
	want := Record{Offset: m.Offset, Timestamp: m.Timestamp.UnixMilli(), LeaderEpoch: m.LeaderEpoch, Key: m.Key,
		Value: m.Value, Headers: m.Headers}
	if r.Timestamp <= -1<<42 || r.Timestamp >= 1<<42 { // time.Time's nanoseconds wrap around
		want.Timestamp = r.Timestamp
	}
	if !cmp.Equal(r, want, cmpopts.EquateEmpty()) || (r.Key == nil) != (m.Key == nil) ||
		(r.Value == nil) != (m.Value == nil) {
		t.Fatalf("record is %+v, franz-go has %+v", r, m)
	}
}

// Whatever a broker sends and whatever lengths it claims, decoding a response of each kind does not
// panic, and needs on average at most 1,000 times as much memory as the bytes sent.
func FuzzResponses(f *testing.F) {
	// a response to metadata with 2³¹−1 topics
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1})
	fetched := kmsg.FetchResponse{Version: newest[protocol.Fetch],
		Topics: []kmsg.FetchResponseTopic{{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{{
			RecordBatches: appendBatch(nil, messages("a", "b"), 7, 0, 0, 1),
		}}}}}
	f.Add(fetched.AppendTo(nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = decode(new(identity), topicIDVersion, body)
		for key, version := range newest {
			res := kmsg.ResponseForKey(int16(key))
			if decode(res, version, body) != nil {
				continue
			}
			switch res := res.(type) {
			case *kmsg.FetchResponse:
				for _, f := range fetchedBy(
					decodeResponse([]Fetch{{Topic: "t", Offset: 1}}, res, newSpace(kgo.DefaultDecompressor(), false))) {
					if f.Next < 1 {
						t.Fatalf("next offset %d below the one that was asked for", f.Next)
					}
				}
			case *kmsg.MetadataResponse:
				_ = newClient(Config{}).learn(res, []string{"t"})
			case *kmsg.DescribeConfigsResponse:
				_, _ = settingsOf(res, "t")
			case *kmsg.ProduceResponse:
				if base, code, err := parseProduced(res); err == nil && code == 0 && base < 0 {
					t.Fatalf("base offset %d without an error", base)
				}
			case *kmsg.OffsetForLeaderEpochResponse:
				if end, epoch, err := epochEnd(res, "t", 3); err != nil && (end != -1 || epoch != -1) {
					t.Fatalf("%d, %d with %v", end, epoch, err)
				}
			}
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<20+1000*uint64(len(body)*len(newest)) {
			t.Fatalf("%d bytes of memory for a body of %d", after.TotalAlloc-before.TotalAlloc, len(body))
		}
	})
}

// Every request is sent in a version that kafka-go and franz-go know, and whose header is not
// flexible.
func TestNoRequestHasAFlexibleHeader(t *testing.T) {
	t.Parallel()
	for key, version := range newest {
		req := kmsg.RequestForKey(int16(key))
		known := key == protocol.OffsetForLeaderEpoch || version >= key.MinVersion() && version <= key.MaxVersion()
		if req.SetVersion(version); req.IsFlexible() || !known {
			t.Errorf("%v is sent in version %d", key, version)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(frame(1, []byte("body")))
	f.Add([]byte{0x15, 3, 3, 0, 2, 2, 70})
	f.Add([]byte("HTTP/1.1 400 Bad Request"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := readFrame(bytes.NewReader(raw), freshBytes)
		if err == nil && !bytes.Equal(got, raw[:len(got)]) {
			t.Fatal("frame differs from what was sent")
		}
	})
}

func TestLargeFramesAreReadWhole(t *testing.T) {
	t.Parallel()
	body := make([]byte, 40<<20)
	for i := range body {
		body[i] = byte(i * i >> 7)
	}
	got, err := readFrame(bytes.NewReader(frame(9, body)), freshBytes)
	if err != nil || !bytes.Equal(got[frameHeader:], body) {
		t.Fatalf("frame of %d bytes: %v", len(got), err)
	}
	if _, err := readFrame(bytes.NewReader(frame(9, body[:100])[:50]), freshBytes); err == nil {
		t.Error("a frame that was cut off is whole")
	}
}

// Every written batch is read back unchanged and is exactly as long as its header states, and no
// message exceeds maxRecordSize, on which splitting relies.
func TestBatchesReadBack(t *testing.T) {
	t.Parallel()
	in := newSpace(kgo.DefaultDecompressor(), false)
	optional := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 300))
	stamp := rapid.OneOf(rapid.Map(rapid.Int64(), At), rapid.Just(At(0)), rapid.Just(At(-1)), rapid.Just(Now()))
	message := rapid.Custom(func(t *rapid.T) Message {
		m := Message{Key: optional.Draw(t, "key"), Value: optional.Draw(t, "value"), Timestamp: stamp.Draw(t, "time")}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			m.Headers = append(m.Headers,
				Header{Key: rapid.String().Draw(t, "header"), Value: optional.Draw(t, "content")})
		}
		return m
	})
	rapid.Check(t, func(t *rapid.T) {
		msgs := rapid.SliceOfN(message, 1, 200).Draw(t, "messages")
		const now = 1234
		id, epoch, seq := rapid.Int64Min(0).Draw(t, "id"), rapid.Int16Min(0).Draw(t, "epoch"), rapid.Int32Min(0).Draw(t,
			"sequence")
		raw := appendBatch(nil, msgs, id, epoch, seq, now)
		limit := batchHeader
		for i := range msgs {
			limit += maxRecordSize(&msgs[i])
		}
		if len(raw) > limit {
			t.Fatalf("batch of %d bytes, bound %d", len(raw), limit)
		}
		b, rest, ok := nextBatch(raw)
		want := b
		want.PartitionLeaderEpoch, want.LastOffsetDelta, want.NumRecords = -1, int32(len(msgs)-1), int32(len(msgs))
		want.ProducerID, want.ProducerEpoch, want.FirstSequence = id, epoch, seq
		if !ok || len(rest) != 0 || b.FirstOffset != 0 || b.Attributes != 0 || !cmp.Equal(b, want) {
			t.Fatalf("header %+v, want %+v", b, want)
		}
		got, err := decodePartition(Fetch{Topic: "t"}, &kmsg.FetchResponseTopicPartition{RecordBatches: raw}, in)
		if err != nil || got.Err != nil || len(got.Records) != len(msgs) || got.Next != int64(len(msgs)) {
			t.Fatalf("decoded %d of %d records, %v, %v", len(got.Records), len(msgs), err, got.Err)
		}
		for i, m := range msgs {
			want := Record{Offset: int64(i), Timestamp: m.Timestamp.or(now), LeaderEpoch: -1, Key: m.Key,
				Value: m.Value, Headers: m.Headers}
			if !cmp.Equal(got.Records[i], want) { // nil and empty bytes differ
				t.Fatalf("record %d is %+v, want %+v", i, got.Records[i], want)
			}
		}
	})
}

func TestDamagedBatchIsCorruptNotSkipped(t *testing.T) {
	t.Parallel()
	raw := appendBatch(nil, messages("a", "b"), 7, 0, 0, 1)
	raw[len(raw)-2] ^= 1 // the value of a record
	got, err := decodePartition(Fetch{Topic: "t"}, &kmsg.FetchResponseTopicPartition{RecordBatches: raw},
		newSpace(kgo.DefaultDecompressor(), false))
	if err != nil || got.Err == nil || got.Next != 0 || len(got.Records) != 0 {
		t.Errorf("damaged batch: %+v, %v", got, err)
	}
}

func TestAppendTimeIsToldPerAnswer(t *testing.T) {
	t.Parallel()
	stamped := func(raw []byte) []byte {
		raw[22] |= 8 // timestamp type: append time
		binary.BigEndian.PutUint64(raw[35:], 777)
		binary.BigEndian.PutUint32(raw[17:], castagnoli(raw[crcStart:]))
		return raw
	}
	second := appendBatch(nil, messages("a"), 1, 0, 0, 5)
	binary.BigEndian.PutUint64(second, 1)
	for _, tt := range []struct {
		raw  []byte
		want bool
	}{
		{stamped(appendBatch(nil, messages("a", "b"), 1, 0, 0, 5)), true},
		{appendBatch(nil, messages("a"), 1, 0, 0, 5), false},
		{append(stamped(appendBatch(nil, messages("a"), 1, 0, 0, 5)), second...), false},
	} {
		got, err := decodePartition(Fetch{Topic: "t"}, &kmsg.FetchResponseTopicPartition{RecordBatches: tt.raw},
			newSpace(kgo.DefaultDecompressor(), false))
		if err != nil || got.Err != nil || got.AppendTime != tt.want || tt.want && got.Records[0].Timestamp != 777 {
			t.Errorf("%+v, %v, want append time %v", got, err, tt.want)
		}
	}
}
