package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// transact writes values to partition 0 of "t" in one transaction and ends it by end; nil leaves it
// open.
func transact(t *testing.T, cluster *kfake.Cluster, end *kgo.TransactionEndTry, values ...string) *kgo.Client {
	t.Helper()
	cl := must.Have(kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.TransactionalID("txn"),
		kgo.RecordPartitioner(kgo.ManualPartitioner())))
	must.Succeed(t, cl.BeginTransaction())
	for _, v := range values {
		must.Succeed(t, cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte(v)}).FirstErr())
	}
	if end == nil {
		return cl
	}
	must.Succeed(t, cl.EndTransaction(t.Context(), *end))
	cl.Close()
	return nil
}

func TestMarkersAndAbortedRecordsAreSkipped(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	commit, abort := kgo.TryCommit, kgo.TryAbort
	p := newProducer(t, c, 0, "")
	mustAppend(t, p, "a")                         // 0
	transact(t, cluster, &commit, "b", "c")       // 1, 2, marker 3
	transact(t, cluster, &abort, "lost", "lost2") // 4, 5, marker 6
	mustAppend(t, p, "d")                         // 7
	transact(t, cluster, &abort, "lost3")         // 8, marker 9
	equal(t, readAll(t, c, 0), []string{"a", "b", "c", "d"})

	// The log ends in a marker: a reader gets to its end, record or not.
	fetched, err := c.NewFetcher().Poll(t.Context(), []Fetch{{Topic: "t", Offset: 8}}, 1, 5*time.Second)
	if err != nil || len(fetched) != 1 || fetched[0].Next != 10 || len(fetched[0].Records) != 0 ||
		fetched[0].High != 10 {
		t.Fatalf("Poll = %+v, %v", fetched, err)
	}
	if err := c.ReadRange(t.Context(), "t", 0, 9, 10, func(Record) error {
		return errors.New("a record")
	}); err != nil {
		t.Errorf("reading a marker: %v", err)
	}
}

// Records beyond a range are kept for the next one. After a gap, after an error, and when nothing
// is left of them, the reader fetches again.
func TestRangesThatFollowOneAnotherAreFetchedOnce(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "")
	for i := range 43 {
		mustAppend(t, p, fmt.Sprint(i))
	}
	var asked atomic.Int32
	cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	r := c.NewRangeReader("t", 0)
	failed := errors.New("failed")
	for i, step := range []struct {
		from, to int64
		fail     bool  // at the first record
		fetches  int32 // up to here
	}{{0, 1, false, 1}, {1, 2, false, 1}, {2, 20, false, 1}, {25, 27, false, 2}, {10, 12, false, 3}, {12, 14, true, 3},
		{12, 14, false, 4}, {14, 43, false, 4}} {
		offset := step.from
		err := r.Read(t.Context(), step.from, step.to, func(r Record) error {
			if string(r.Value) != fmt.Sprint(offset) {
				t.Errorf("step %d: %q at %d", i, r.Value, offset)
			}
			if offset++; step.fail {
				return failed
			}
			return nil
		})
		if step.fail != errors.Is(err, failed) || !step.fail && (err != nil || offset != step.to) ||
			asked.Load() != step.fetches {
			t.Errorf("step %d: read to %d in %d fetches, want %d: %v", i, offset, asked.Load(), step.fetches, err)
		}
	}
	mustAppend(t, p, "new")
	if err := r.Read(t.Context(), 43, 44, func(Record) error { return nil }); err != nil || asked.Load() != 5 {
		t.Errorf("%d fetches, want 5: %v", asked.Load(), err)
	}
}

func TestOpenTransactionHoldsReadersBack(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "")
	mustAppend(t, p, "a")
	cl := transact(t, cluster, nil, "b")
	mustAppend(t, p, "c")
	o, err := c.Offsets(t.Context(), "t", 0)
	if err != nil || o != (Offsets{0, 3, 1}) {
		t.Errorf("Offsets = %+v, %v", o, err)
	}
	equal(t, readAll(t, c, 0), []string{"a"})
	must.Succeed(t, cl.EndTransaction(t.Context(), kgo.TryCommit))
	cl.Close()
	equal(t, readAll(t, c, 0), []string{"a", "b", "c"})
}

func TestFetchErrorsAreRetried(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 2)
	mustAppend(t, newProducer(t, c, 1, ""), "a")
	f := c.NewFetcher()
	for _, code := range []int16{3, 5, 6, 9, 56, 74, 78} {
		faults := 0
		cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
			if faults++; faults == 1 {
				cluster.KeepControl()
			} else {
				cluster.DropControl()
			}
			res := req.ResponseKind().(*kmsg.FetchResponse)
			failed := kmsg.FetchResponseTopicPartition{ErrorCode: code}
			res.Topics = []kmsg.FetchResponseTopic{
				{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{failed, {Partition: 1}}}}
			return res, nil, true
		})
		fetched, err := f.Poll(t.Context(), []Fetch{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 1}}, 1,
			5*time.Second)
		if err != nil || len(fetched) != 2 || len(fetched[1].Records) != 1 || fetched[0].Err != nil || faults != 2 ||
			len(f.failing) > 0 {
			t.Errorf("code %d, %d faults: Poll = %+v, %v", code, faults, fetched, err)
		}
	}
}

func TestSeveralBrokersAndMovingLeaders(t *testing.T) {
	t.Parallel()
	cluster := startBroker(t, kfake.NumBrokers(3))
	c := dial(t, cluster)
	const partitions = 6
	must.Succeed(t, c.CreateTopics(t.Context(), TopicSpec{Name: "t", Partitions: partitions}))
	const rounds = 30
	var wg sync.WaitGroup
	for i := range partitions {
		p := newProducer(t, c, int32(i), fmt.Sprint("tx", i))
		wg.Go(func() {
			for n := range rounds {
				if base, err := p.Append(context.Background(), messages(fmt.Sprint(n))); err != nil ||
					base != int64(n) {
					t.Errorf("partition %d: Append = %d, %v", i, base, err)
					return
				}
				if n%10 == 5 {
					_ = cluster.MoveTopicPartition("t", int32(i), int32((i+n)%3))
				}
				time.Sleep(time.Millisecond) // so that partitions move between appends and polls
			}
		})
	}
	f := c.NewFetcher()
	fetches := make([]Fetch, partitions)
	for i := range fetches {
		fetches[i] = Fetch{Topic: "t", Partition: int32(i)}
	}
	left := partitions * rounds
	for deadline := time.Now().Add(20 * time.Second); left > 0 && time.Now().Before(deadline); {
		fetched := must.Have(f.Poll(t.Context(), fetches, 1, time.Second))
		for _, g := range fetched {
			if g.Err != nil {
				t.Fatal(g.Err)
			}
			for _, r := range g.Records {
				if r.Offset != fetches[g.Partition].Offset || string(r.Value) != fmt.Sprint(r.Offset) {
					t.Fatalf("partition %d: offset %d has %q", g.Partition, r.Offset, r.Value)
				}
				fetches[g.Partition].Offset++
				left--
			}
		}
	}
	wg.Wait()
	if left != 0 {
		t.Errorf("%d records were not read", left)
	}
}
