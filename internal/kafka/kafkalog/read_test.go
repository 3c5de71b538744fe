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

	"github.com/tollgate-dp/tollgate/internal/testing/long"
)

// transact writes values to partition 0 of "t" in one transaction and ends it as told; end nil
// leaves it open.
func transact(t *testing.T, cluster *kfake.Cluster, end *kgo.TransactionEndTry, values ...string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.TransactionalID("txn"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if end == nil {
		return cl
	}
	if err := cl.EndTransaction(t.Context(), *end); err != nil {
		t.Fatal(err)
	}
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
	if err != nil || len(fetched) != 1 || fetched[0].Next != 10 || len(fetched[0].Records) != 0 || fetched[0].High != 10 {
		t.Fatalf("Poll = %+v, %v", fetched, err)
	}
	if err := c.ReadRange(t.Context(), "t", 0, 9, 10, func(Record) error { return errors.New("a record") }); err != nil {
		t.Errorf("reading a marker: %v", err)
	}
}

// Records beyond a range are kept for the next one. After a gap, after an error, and when nothing
// is left of them, the reader fetches again.
func TestRangesThatFollowOneAnotherAreFetchedOnce(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "")
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint(i))
		mustAppend(t, p, want[i])
	}
	var asked atomic.Int32
	cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	r := c.NewRangeReader("t", 0)
	failed := errors.New("failed")
	read := func(from, to int64, fail bool) (got []string) {
		t.Helper()
		err := r.Read(t.Context(), from, to, func(r Record) error {
			got = append(got, string(r.Value))
			if fail {
				return failed
			}
			return nil
		})
		if fail != errors.Is(err, failed) || !fail && err != nil {
			t.Fatal(err)
		}
		return got
	}
	var got []string
	for i := range int64(20) {
		got = append(got, read(i, i+1, false)...)
	}
	equal(t, got, want[:20])
	if n := asked.Load(); n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}
	equal(t, read(25, 27, false), want[25:27])
	equal(t, read(10, 12, false), want[10:12])
	equal(t, read(12, 14, true), want[12:13])
	equal(t, read(12, 14, false), want[12:14])
	if n := asked.Load(); n != 4 {
		t.Errorf("%d fetches, want 4: for each range that does not follow on the last one", n)
	}
	want = append(want, "a", "b")
	mustAppend(t, p, "a", "b")
	equal(t, read(14, 42, false), want[14:42])
	mustAppend(t, p, "c")
	equal(t, read(42, 43, false), []string{"c"})
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
	f := c.NewFetcher()
	asked := fetches(cluster)
	woken := make(chan error, 1)
	go func() {
		fetched, err := f.Poll(context.Background(), []Fetch{{Topic: "t", Offset: 1}}, 1, 30*time.Second)
		if err == nil && (len(fetched) != 1 || len(fetched[0].Records) != 2) {
			err = fmt.Errorf("Poll = %+v", fetched)
		}
		woken <- err
	}()
	<-asked
	if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	cl.Close()
	if err := <-woken; err != nil {
		t.Error(err)
	}
	equal(t, readAll(t, c, 0), []string{"a", "b", "c"})
}

func TestCompactedHolesAreSkipped(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	if err := c.CreateTopics(t.Context(), TopicSpec{Name: "c", Partitions: 1, Config: map[string]string{
		"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "200"}}); err != nil {
		t.Fatal(err)
	}
	p, err := c.NewProducer(t.Context(), "c", 0, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := p.Append(t.Context(), []Message{{Key: []byte{byte(i % 2)}, Value: []byte{byte(i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Compact()
	o, err := c.Offsets(t.Context(), "c", 0)
	if err != nil {
		t.Fatal(err)
	}
	last, n := map[byte]byte{}, 0
	err = c.ReadRange(t.Context(), "c", 0, o.Start, o.High, func(r Record) error {
		last[r.Key[0]] = r.Value[0]
		n++
		return nil
	})
	if err != nil || last[0] != 48 || last[1] != 49 {
		t.Errorf("after compaction: %v, %v", last, err)
	}
	if n == 50 {
		t.Error("nothing was compacted: the test tests nothing")
	}
}

func TestFetchErrorsAreRetried(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 2)
	mustAppend(t, newProducer(t, c, 1, ""), "a")
	f := c.NewFetcher()
	for _, code := range []int16{3, 5, 6, 9, 56, 74, 78} {
		faults := 0
		cluster.ControlKey(1, func(req kmsg.Request) (kmsg.Response, error, bool) {
			if faults++; faults < 3 {
				cluster.KeepControl()
			} else {
				cluster.DropControl()
			}
			r := req.(*kmsg.FetchRequest)
			res := r.ResponseKind().(*kmsg.FetchResponse)
			for _, t := range r.Topics {
				rt := kmsg.NewFetchResponseTopic()
				rt.Topic = t.Topic
				for _, p := range t.Partitions {
					rp := kmsg.NewFetchResponseTopicPartition()
					rp.Partition = p.Partition
					if p.Partition == 0 {
						rp.ErrorCode = code
					}
					rt.Partitions = append(rt.Partitions, rp)
				}
				res.Topics = append(res.Topics, rt)
			}
			return res, nil, true
		})
		fetched, err := f.Poll(t.Context(), []Fetch{{Topic: "t", Partition: 0}, {Topic: "t", Partition: 1}}, 1, 5*time.Second)
		if err != nil || len(fetched) != 2 || len(fetched[1].Records) != 1 || fetched[0].Err != nil {
			t.Errorf("code %d: Poll = %+v, %v", code, fetched, err)
		}
	}
}

func TestOtherFetchErrorsAreHandedOut(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	cluster.ControlKey(1, func(req kmsg.Request) (kmsg.Response, error, bool) {
		r := req.(*kmsg.FetchRequest)
		res := r.ResponseKind().(*kmsg.FetchResponse)
		rt, rp := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		rt.Topic, rp.ErrorCode = "t", 29 // topic authorization failed
		rt.Partitions = append(rt.Partitions, rp)
		res.Topics = append(res.Topics, rt)
		return res, nil, true
	})
	fetched, err := c.NewFetcher().Poll(t.Context(), []Fetch{{Topic: "t"}}, 1, 5*time.Second)
	if err != nil || len(fetched) != 1 || !isCode(fetched[0].Err, 29) {
		t.Errorf("Poll = %+v, %v", fetched, err)
	}
}

func TestDeletedTopicIsUnknown(t *testing.T) {
	t.Parallel()
	long.Test(t)
	cluster, c := setup(t, 1)
	f := c.NewFetcher()
	p := newProducer(t, c, 0, "")
	mustAppend(t, p, "a")
	if err := cluster.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := p.Append(context.Background(), messages("b")); !errors.Is(err, ErrUnknownTopic) {
			t.Errorf("append to a deleted topic: %v", err)
		}
	})
	fetched, err := f.Poll(t.Context(), []Fetch{{Topic: "t", Offset: 1}}, 1, 20*time.Second)
	if err != nil || len(fetched) != 1 || !errors.Is(fetched[0].Err, ErrUnknownTopic) {
		t.Errorf("Poll = %+v, %v", fetched, err)
	}
	wg.Wait()
}

func TestSeveralBrokersAndMovingLeaders(t *testing.T) {
	t.Parallel()
	cluster := startBroker(t, kfake.NumBrokers(3))
	c := dial(t, cluster)
	const partitions = 6
	if err := c.CreateTopics(t.Context(), TopicSpec{Name: "t", Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	const rounds = 30
	var wg sync.WaitGroup
	for i := range partitions {
		p := newProducer(t, c, int32(i), fmt.Sprint("tx", i))
		wg.Go(func() {
			for n := range rounds {
				if base, err := p.Append(context.Background(), messages(fmt.Sprint(n))); err != nil || base != int64(n) {
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
		fetched, err := f.Poll(t.Context(), fetches, 1, time.Second)
		if err != nil {
			t.Fatal(err)
		}
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
