package kafkalog

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkAppend is the time of one acknowledged append to the in-process broker.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			_, c := setup(b, 1)
			p := newProducer(b, c, 0, "tx")
			msgs := make([]Message, n)
			for i := range msgs {
				msgs[i] = Message{Key: []byte("key"), Value: make([]byte, 100)}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Append(b.Context(), msgs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPollReady is the time of a poll over 17 partitions of which one has one new record.
func BenchmarkPollReady(b *testing.B) {
	_, c := setup(b, 17)
	p := newProducer(b, c, 3, "")
	mustAppend(b, p, "x")
	var fetches []Fetch
	for i := range 17 {
		fetches = append(fetches, Fetch{Topic: "t", Partition: int32(i)})
	}
	f := c.NewFetcher()
	b.ReportAllocs()
	for b.Loop() {
		if fetched, err := f.Poll(b.Context(), fetches, 1, time.Second); err != nil || len(fetched) != 17 {
			b.Fatal(len(fetched), err)
		}
	}
}

// BenchmarkWake is the time from before an append until a long poll in another goroutine has its
// record.
func BenchmarkWake(b *testing.B) {
	_, c := setup(b, 4)
	p := newProducer(b, c, 3, "")
	f := c.NewFetcher()
	fetches := []Fetch{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 3}}
	got := make(chan int64)
	go func() {
		defer close(got)
		for {
			fetched, err := f.Poll(b.Context(), fetches, 1, time.Minute)
			if err != nil {
				return
			}
			for _, g := range fetched {
				if len(g.Records) > 0 {
					fetches[1].Offset = g.Next
					got <- g.Next
				}
			}
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		mustAppend(b, p, "x")
		<-got
	}
	b.StopTimer()
	f.Close()
	for range got {
	}
}

// BenchmarkFetch reads 200-byte records in answers of 1 MiB.
func BenchmarkFetch(b *testing.B) {
	_, c := setup(b, 1)
	p := newProducer(b, c, 0, "")
	msgs := make([]Message, 2000)
	for i := range msgs {
		msgs[i] = Message{Key: fmt.Appendf(nil, "user-%06d", i), Value: make([]byte, 180)}
	}
	for range 50 {
		if _, err := p.Append(b.Context(), msgs); err != nil {
			b.Fatal(err)
		}
	}
	const total = 100_000
	b.ReportAllocs()
	records := 0
	for b.Loop() {
		err := c.ReadRange(b.Context(), "t", 0, 0, total, func(Record) error { records++; return nil })
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkNewProducer is the time of taking a partition's transactional id.
func BenchmarkNewProducer(b *testing.B) {
	_, c := setup(b, 1)
	for b.Loop() {
		newProducer(b, c, 0, "tx").Close()
	}
}

// BenchmarkDecode is the client's part of a fetch: 5,000 records of 200 bytes in one answer.
func BenchmarkDecode(b *testing.B) {
	msgs := make([]Message, 5000)
	for i := range msgs {
		msgs[i] = Message{Key: fmt.Appendf(nil, "user-%06d", i), Value: make([]byte, 180)}
	}
	p := kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches = appendBatch(nil, msgs, 1, 0, 0, 1)
	in := newSpace(kgo.DefaultDecompressor(), false)
	b.ReportAllocs()
	for b.Loop() {
		got, err := decodePartition(Fetch{Topic: "t"}, &p, in)
		if err != nil || len(got.Records) != len(msgs) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(msgs))/b.Elapsed().Seconds(), "records/s")
}
