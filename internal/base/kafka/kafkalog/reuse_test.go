package kafkalog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// compressed returns batches with their bodies compressed.
func compressed(t testing.TB, raw []byte, codec kgo.CompressionCodec) []byte {
	t.Helper()
	c := must.Have(kgo.DefaultCompressor(codec))
	if c == nil {
		return raw // no compression
	}
	var out []byte
	for b, rest, ok := nextBatch(raw); ok; b, rest, ok = nextBatch(rest) {
		batch := raw[:len(raw)-len(rest)]
		raw = rest
		body, kind := c.Compress(new(bytes.Buffer), batch[batchHeader:])
		out = append(out, rewritten(append(bytes.Clone(batch[:batchHeader]), body...), b.FirstOffset,
			uint16(b.Attributes)&^attrCodec|uint16(kind))...)
	}
	return out
}

// rewritten puts an offset and attributes into a batch, and its length and checksum.
func rewritten(batch []byte, base int64, attributes uint16) []byte {
	binary.BigEndian.PutUint64(batch, uint64(base))
	binary.BigEndian.PutUint32(batch[8:], uint32(len(batch)-12))
	binary.BigEndian.PutUint16(batch[21:], attributes)
	binary.BigEndian.PutUint32(batch[17:], castagnoli(batch[crcStart:]))
	return batch
}

// Responses decoded one after the other in the same memory equal those decoded in fresh memory, and
// a later response does not change one in its own memory.
func TestAnswersInUsedMemoryAreTheSame(t *testing.T) {
	value := func(answer, i int) []byte { return fmt.Appendf(nil, "%d/%d/%0*d", answer, i, (answer*31+i*17)%300, 0) }
	for name, codec := range map[string]kgo.CompressionCodec{
		"plain": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(name, func(t *testing.T) {
			used := newSpace(kgo.DefaultDecompressor(), true)
			var kept [][]Record
			sizes := []int{100, 20, 140, 1, 0, 60}
			for answer, n := range sizes {
				res := &kmsg.FetchResponse{Topics: []kmsg.FetchResponseTopic{{Topic: "t"}}}
				var fetches []Fetch
				for partition := range int32(3) {
					var raw []byte
					for i := 0; i < n; i += 7 {
						var msgs []Message
						for j := i; j < min(i+7, n); j++ {
							msgs = append(msgs, Message{Key: []byte("k"), Value: value(answer, j)})
						}
						raw = append(raw, rewritten(appendBatch(nil, msgs, 7, 0, 0, 1), int64(i), 0)...)
					}
					raw = compressed(t, raw, codec)
					part := kmsg.FetchResponseTopicPartition{Partition: partition, RecordBatches: raw}
					res.Topics[0].Partitions = append(res.Topics[0].Partitions, part)
					fetches = append(fetches, Fetch{Topic: "t", Partition: partition})
				}
				for _, in := range []*space{used, newSpace(kgo.DefaultDecompressor(), false)} {
					all, _, again := decodeResponse(fetches, res, in)
					if len(all) != 3 || len(again) > 0 {
						t.Fatalf("answer %d: %d partitions, %v", answer, len(all), again)
					}
					for _, f := range all {
						check(t, f.Records, n, func(i int) []byte { return value(answer, i) })
						if in != used {
							kept = append(kept, f.Records)
						}
					}
				}
			}
			for i, records := range kept {
				check(t, records, sizes[i/3], func(n int) []byte { return value(i/3, n) })
			}
		})
	}
}

func check(t *testing.T, records []Record, n int, value func(i int) []byte) {
	t.Helper()
	if len(records) != n {
		t.Fatalf("%d records, want %d", len(records), n)
	}
	for i := range records {
		if r := &records[i]; r.Offset != int64(i) || !bytes.Equal(r.Value, value(i)) || string(r.Key) != "k" {
			t.Fatalf("record %d is %q at offset %d, want %q", i, r.Value, r.Offset, value(i))
		}
	}
}

// A fetcher that reuses its memory puts the records at the same addresses.
func TestAFetcherWithReuseTakesNoMemoryForRecords(t *testing.T) {
	_, c := setup(t, 1)
	mustAppend(t, newProducer(t, c, 0, ""), "a", "b", "c")
	f := c.NewFetcher()
	f.Reuse = true
	var before *Record
	for range 3 {
		all, err := f.Poll(t.Context(), []Fetch{{Topic: "t"}}, 1, 10*time.Second)
		if err != nil || len(all) != 1 || len(all[0].Records) != 3 || string(all[0].Records[2].Value) != "c" {
			t.Fatal(all, err)
		}
		if first := &all[0].Records[0]; before != nil && first != before {
			t.Error("the records stand in other memory than before")
		} else {
			before = first
		}
	}
}

// A response is limited over all its partitions: the first partitions of the request come first.
func TestAnAnswerIsBoundedOverAllPartitions(t *testing.T) {
	const partitions = 24
	_, c := setup(t, partitions)
	var fetches []Fetch
	for i := range int32(partitions) {
		p := newProducer(t, c, i, "")
		for range 2 {
			must.Have(p.Append(t.Context(), []Message{{Value: make([]byte, 700<<10)}}))
		}
		fetches = append(fetches, Fetch{Topic: "t", Partition: partitions - 1 - i, MaxBytes: 1 << 20})
	}
	f := c.NewFetcher()
	all := must.Have(f.Poll(t.Context(), fetches, 1, 10*time.Second))
	bytes := 0
	for i, got := range all {
		for _, r := range got.Records {
			bytes += len(r.Value)
		}
		if served := len(got.Records) > 0; served != (i < 11) {
			t.Errorf("the partition at place %d was served: %v", i, served)
		}
	}
	if bytes > maxFetchBytes+1<<20 || bytes < maxFetchBytes/2 {
		t.Errorf("an answer of %d bytes, the bound is %d", bytes, maxFetchBytes)
	}
}
