package kafkalog

import (
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// BenchmarkAppend is the time of one acknowledged append to the in-process broker.
func BenchmarkAppend(b *testing.B) {
	_, c := setup(b, 1)
	p := newProducer(b, c, 0, "tx")
	b.ReportAllocs()
	for b.Loop() {
		mustAppend(b, p, "value")
	}
}

// BenchmarkFetch reads 100,000 records of 200 bytes in responses of 1 MiB, as a run does.
func BenchmarkFetch(b *testing.B) {
	_, c := setup(b, 1)
	p := newProducer(b, c, 0, "")
	msgs := make([]Message, 2000)
	for i := range msgs {
		msgs[i] = Message{Key: fmt.Appendf(nil, "user-%06d", i), Value: make([]byte, 180)}
	}
	const total = 100_000
	for range total / len(msgs) {
		must.Have(p.Append(b.Context(), msgs))
	}
	f := c.NewFetcher()
	f.Reuse = true
	b.ReportAllocs()
	for b.Loop() {
		for offset := int64(0); offset < total; {
			all, err := f.Poll(b.Context(), []Fetch{{Topic: "t", Offset: offset}}, 1, time.Second)
			if err != nil || len(all) != 1 || all[0].Err != nil {
				b.Fatal(all, err)
			}
			offset = all[0].Next
		}
	}
	b.ReportMetric(total*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
