package kafkalog

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// inNewest returns req in the version that it is sent in to a broker of today.
func inNewest(req kmsg.Request) kmsg.Request {
	setVersion(req, math.MaxInt16)
	return req
}

func fetchBody(raw []byte, code int16) []byte {
	res := inNewest(kmsg.NewPtrFetchRequest()).ResponseKind().(*kmsg.FetchResponse)
	t, p := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
	t.Topic, p.ErrorCode, p.RecordBatches = "t", code, raw
	p.HighWatermark, p.LastStableOffset = 10, 10
	p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 0}}
	t.Partitions = append(t.Partitions, p)
	res.Topics = append(res.Topics, t)
	return res.AppendTo(nil)
}

// Whatever a broker sends, decoding ends without a panic, with records in the wanted range and a
// next offset that never goes back.
func FuzzFetchResponse(f *testing.F) {
	batch := appendBatch(nil, messages("a", "b"), 7, 0, 0, 1)
	f.Add(fetchBody(batch, 0), int64(0))
	f.Add(fetchBody(batch[:len(batch)-3], 0), int64(1))
	f.Add(fetchBody(append(bytes.Clone(batch), batch...), 0), int64(1))
	f.Add(fetchBody(nil, 1), int64(5))
	f.Add([]byte{}, int64(0))
	in := newSpace(kgo.DefaultDecompressor(), false)
	f.Fuzz(func(t *testing.T, body []byte, offset int64) {
		if offset < 0 || len(body) > 1<<16 {
			return
		}
		res, err := decodeResponse(inNewest(kmsg.NewPtrFetchRequest()), body)
		if err != nil {
			return
		}
		fetches := []Fetch{{Topic: "t", Offset: offset}}
		fetched, news, _ := decodeAnswer(fetches, res.(*kmsg.FetchResponse), in)
		for _, g := range fetched {
			if g.Next < offset {
				t.Fatalf("next offset %d below %d", g.Next, offset)
			}
			if len(g.Records) > 0 && !news {
				t.Fatal("records without news")
			}
			for _, r := range g.Records {
				if r.Offset < offset {
					t.Fatalf("record at %d below %d", r.Offset, offset)
				}
			}
		}
	})
}

// franz-go decodes what this package accepts in the same way (it is more lenient with damage).
// Checksums are corrected, so that the fuzzer gets past them.
func FuzzRecordSet(f *testing.F) {
	plain := appendBatch(nil, messages("a", "b"), 7, 0, 0, 1)
	headers := appendBatch(nil, []Message{{Key: []byte("k"), Headers: []Header{{Key: "h", Value: []byte("v")}}}}, 7, 0, 0, 1)
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
		p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: aborted}}
		got, ok := decodeRecordSet(Fetch{Topic: "t", Offset: offset}, &p, in)
		if !ok {
			return
		}
		opts := kgo.ProcessFetchPartitionOpts{Offset: offset, IsolationLevel: kgo.ReadCommitted(), Topic: "t"}
		model, next := kgo.ProcessFetchPartition(opts, &p, in.decompressor, nil)
		if model.Err != nil || len(model.Records) != len(got.records) || next != got.next {
			t.Fatalf("%d records up to %d, franz-go has %d up to %d, %v", len(got.records), got.next, len(model.Records), next, model.Err)
		}
		for i, m := range model.Records {
			sameRecord(t, got.records[i], m)
		}
	})
}

func sameRecord(t *testing.T, r Record, m *kgo.Record) {
	t.Helper()
	same := r.Offset == m.Offset && bytes.Equal(r.Key, m.Key) && bytes.Equal(r.Value, m.Value) && r.LeaderEpoch == m.LeaderEpoch &&
		(r.Key == nil) == (m.Key == nil) && (r.Value == nil) == (m.Value == nil) && len(r.Headers) == len(m.Headers)
	for i := range r.Headers {
		same = same && r.Headers[i].Key == m.Headers[i].Key && bytes.Equal(r.Headers[i].Value, m.Headers[i].Value)
	}
	// time.Time's nanoseconds wrap around beyond these years.
	if r.Timestamp > -1<<42 && r.Timestamp < 1<<42 {
		same = same && r.Timestamp == m.Timestamp.UnixMilli()
	}
	if !same {
		t.Fatalf("record is %+v, franz-go has %+v", r, m)
	}
}

func FuzzProduceResponse(f *testing.F) {
	req := inNewest(kmsg.NewPtrProduceRequest())
	res := req.ResponseKind().(*kmsg.ProduceResponse)
	t, p := kmsg.NewProduceResponseTopic(), kmsg.NewProduceResponseTopicPartition()
	t.Topic, p.BaseOffset = "t", 5
	t.Partitions = append(t.Partitions, p)
	res.Topics = append(res.Topics, t)
	f.Add(res.AppendTo(nil))
	f.Add([]byte{0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		res, err := decodeResponse(req, body)
		if err != nil {
			return
		}
		if base, code, err := produced(res.(*kmsg.ProduceResponse)); err == nil && code == 0 && base < 0 {
			t.Fatalf("base offset %d without an error", base)
		}
	})
}

// Whatever a broker says about the cluster and about settings, decoding it ends without a panic.
func FuzzClusterResponses(f *testing.F) {
	meta, configs := inNewest(kmsg.NewPtrMetadataRequest()), inNewest(kmsg.NewPtrDescribeConfigsRequest())
	m := meta.ResponseKind().(*kmsg.MetadataResponse)
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.Partitions = kmsg.StringPtr("t"), []kmsg.MetadataResponseTopicPartition{{Leader: 1}}
	m.Brokers, m.Topics = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "a", Port: 1}}, []kmsg.MetadataResponseTopic{t, {}}
	f.Add(m.AppendTo(nil))
	c := configs.ResponseKind().(*kmsg.DescribeConfigsResponse)
	c.Resources = []kmsg.DescribeConfigsResponseResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t"}}
	f.Add(c.AppendTo(nil))
	f.Fuzz(func(_ *testing.T, body []byte) {
		if res, err := decodeResponse(meta, body); err == nil {
			_ = newClient(Config{}).learn(res.(*kmsg.MetadataResponse), []string{"t"})
		}
		if res, err := decodeResponse(configs, body); err == nil {
			_, _ = settingsOf(res.(*kmsg.DescribeConfigsResponse), "t")
		}
	})
}

func FuzzBatchHeaders(f *testing.F) {
	batch := appendBatch(nil, messages("a", "b"), 7, 1, 3, 1)
	f.Add(batch)
	f.Add(append(bytes.Clone(batch), batch[:70]...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for b, rest, ok := nextBatch(raw); ok; b, rest, ok = nextBatch(rest) {
			if b.LastOffsetDelta < 0 {
				t.Fatalf("batch ends before it begins: %+v", b)
			}
		}
	})
}

// Every request has a header that is not flexible, in today's newest version and in that of an
// older broker, and its frame reads back as what it was.
func TestNoRequestHasAFlexibleHeader(t *testing.T) {
	t.Parallel()
	for req, newest := range map[kmsg.Request]int16{
		kmsg.NewPtrProduceRequest(): 8, kmsg.NewPtrFetchRequest(): 11, kmsg.NewPtrListOffsetsRequest(): 5, kmsg.NewPtrMetadataRequest(): 8,
		kmsg.NewPtrFindCoordinatorRequest(): 2, kmsg.NewPtrInitProducerIDRequest(): 1, kmsg.NewPtrOffsetForLeaderEpochRequest(): 3,
		kmsg.NewPtrCreateTopicsRequest(): 4, kmsg.NewPtrDescribeConfigsRequest(): 3, kmsg.NewPtrSASLHandshakeRequest(): 1,
		kmsg.NewPtrSASLAuthenticateRequest(): 1,
	} {
		name := kmsg.NameForKey(req.Key())
		if setVersion(req, math.MaxInt16); req.GetVersion() != newest || req.IsFlexible() {
			t.Errorf("%s is sent in version %d, want %d", name, req.GetVersion(), newest)
		}
		if setVersion(req, 0); req.GetVersion() != 0 {
			t.Errorf("%s to an old broker is sent in version %d", name, req.GetVersion())
		}
	}
	if v := inNewest(kmsg.NewPtrApiVersionsRequest()).GetVersion(); v != 2 {
		t.Errorf("ApiVersions is sent in version %d", v)
	}
	sent := fetchRequest([]Fetch{{Topic: "t", Partition: 3, Offset: 9}}, 1, time.Second, readCommitted)
	setVersion(sent, math.MaxInt16)
	frame := appendRequest(nil, sent, "id", 77)
	head := binary.BigEndian.AppendUint32(nil, uint32(len(frame)-4))
	head = append(head, 0, 1, 0, 11, 0, 0, 0, 77, 0, 2, 'i', 'd')
	if !bytes.HasPrefix(frame, head) {
		t.Fatalf("the frame begins with % x, want % x", frame[:len(head)], head)
	}
	read := kmsg.NewPtrFetchRequest()
	read.Version = sent.Version
	if err := read.ReadFrom(frame[len(head):]); err != nil || !cmp.Equal(read, sent, cmpopts.IgnoreTypes(kmsg.Tags{}), cmpopts.EquateEmpty()) {
		t.Errorf("read as %+v, sent %+v, %v", read, sent, err)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(frame(1, []byte("body")))
	f.Add([]byte{0x15, 3, 3, 0, 2, 2, 70})
	f.Add([]byte("HTTP/1.1 400 Bad Request"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := readFrame(bytes.NewReader(raw), 1, freshBytes)
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
	got, err := readFrame(bytes.NewReader(frame(9, body)), 9, freshBytes)
	if err != nil || !bytes.Equal(got[frameHeader:], body) {
		t.Fatalf("frame of %d bytes: %v", len(got), err)
	}
	if _, err := readFrame(bytes.NewReader(frame(9, body[:100])[:50]), 9, freshBytes); err == nil {
		t.Error("a frame that was cut off is whole")
	}
	if _, err := readFrame(bytes.NewReader(frame(8, nil)), 9, freshBytes); err == nil {
		t.Error("a response to another request was taken")
	}
}

// Every batch that is written is read back as it was, is exactly as long as its header says, and no
// message takes more than maxRecordSize, on which splitting relies.
func TestBatchesReadBack(t *testing.T) {
	t.Parallel()
	in := newSpace(kgo.DefaultDecompressor(), false)
	optional := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 300))
	stamp := rapid.OneOf(rapid.Map(rapid.Int64(), At), rapid.Just(At(0)), rapid.Just(At(-1)), rapid.Just(Now()))
	message := rapid.Custom(func(t *rapid.T) Message {
		m := Message{Key: optional.Draw(t, "key"), Value: optional.Draw(t, "value"), Timestamp: stamp.Draw(t, "time")}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			m.Headers = append(m.Headers, Header{Key: rapid.String().Draw(t, "header"), Value: optional.Draw(t, "content")})
		}
		return m
	})
	rapid.Check(t, func(t *rapid.T) {
		msgs := rapid.SliceOfN(message, 1, 200).Draw(t, "messages")
		const now = 1234
		id, epoch, seq := rapid.Int64Min(0).Draw(t, "id"), rapid.Int16Min(0).Draw(t, "epoch"), rapid.Int32Min(0).Draw(t, "sequence")
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
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = raw
		got, err := decodePartition(Fetch{Topic: "t"}, &p, in)
		if err != nil || got.Err != nil || len(got.Records) != len(msgs) || got.Next != int64(len(msgs)) {
			t.Fatalf("decoded %d of %d records, %v, %v", len(got.Records), len(msgs), err, got.Err)
		}
		for i, r := range got.Records {
			m := msgs[i]
			at, given := m.Timestamp.Millis()
			if !given {
				at = now
			}
			if !bytes.Equal(r.Key, m.Key) || !bytes.Equal(r.Value, m.Value) || (r.Key == nil) != (m.Key == nil) ||
				(r.Value == nil) != (m.Value == nil) || r.Timestamp != at || len(r.Headers) != len(m.Headers) {
				t.Fatalf("record %d is %+v, was %+v", i, r, m)
			}
			for j, h := range r.Headers {
				if h.Key != m.Headers[j].Key || !bytes.Equal(h.Value, m.Headers[j].Value) {
					t.Fatalf("header %d of record %d", j, i)
				}
			}
		}
	})
}

func TestDamagedBatchIsCorruptNotSkipped(t *testing.T) {
	t.Parallel()
	raw := appendBatch(nil, messages("a", "b"), 7, 0, 0, 1)
	raw[len(raw)-1] ^= 1
	p := kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches = raw
	got, err := decodePartition(Fetch{Topic: "t"}, &p, newSpace(kgo.DefaultDecompressor(), false))
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
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = tt.raw
		got, err := decodePartition(Fetch{Topic: "t"}, &p, newSpace(kgo.DefaultDecompressor(), false))
		if err != nil || got.Err != nil || got.AppendTime != tt.want || tt.want && got.Records[0].Timestamp != 777 {
			t.Errorf("%+v, %v, want append time %v", got, err, tt.want)
		}
	}
}
