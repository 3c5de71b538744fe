package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// startBroker runs a fake cluster whose retention leaves old records alone.
func startBroker(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	opts = append([]kfake.Opt{
		kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"}),
	}, opts...)
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatalf("starting kfake: %v", err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

func dial(t testing.TB, cluster *kfake.Cluster) *Client {
	t.Helper()
	c, err := Dial(t.Context(), Config{Brokers: cluster.ListenAddrs()[:1], RetryFor: 10 * time.Second})
	if err != nil {
		t.Fatalf("dialing: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

func setup(t testing.TB, partitions int) (*kfake.Cluster, *Client) {
	t.Helper()
	cluster := startBroker(t)
	c := dial(t, cluster)
	if err := c.CreateTopics(t.Context(), TopicSpec{Name: "t", Partitions: partitions, Replication: 1}); err != nil {
		t.Fatalf("creating topic: %v", err)
	}
	return cluster, c
}

// fetches returns a channel of the fetches that the broker receives after the call.
func fetches(cluster *kfake.Cluster) <-chan struct{} {
	asked := make(chan struct{}, 1)
	cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		select {
		case asked <- struct{}{}:
		default:
		}
		return nil, nil, false
	})
	return asked
}

func newProducer(t testing.TB, c *Client, partition int32, txn string) *Producer {
	t.Helper()
	p, err := c.NewProducer(t.Context(), "t", partition, txn)
	if err != nil {
		t.Fatalf("making a producer: %v", err)
	}
	return p
}

func mustAppend(t testing.TB, p *Producer, values ...string) int64 {
	t.Helper()
	base, err := p.Append(t.Context(), messages(values...))
	if err != nil {
		t.Fatalf("appending: %v", err)
	}
	return base
}

func messages(values ...string) []Message {
	var msgs []Message
	for _, v := range values {
		msgs = append(msgs, Message{Value: []byte(v)})
	}
	return msgs
}

// readAll returns the values of a partition from its start to its last stable offset.
func readAll(t testing.TB, c *Client, partition int32) []string {
	t.Helper()
	o, err := c.Offsets(t.Context(), "t", partition)
	if err != nil {
		t.Fatalf("asking for offsets: %v", err)
	}
	var values []string
	err = c.ReadRange(t.Context(), "t", partition, o.Start, o.LastStable, func(r Record) error {
		values = append(values, string(r.Value))
		return nil
	})
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	return values
}

func equal(t testing.TB, got, want []string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("log holds %v, want %v", got, want)
	}
}

func TestTopicErrorsAreTyped(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	err := c.CreateTopics(t.Context(), TopicSpec{Name: "t", Partitions: 1}, TopicSpec{Name: "u", Partitions: 2})
	var failed *CreateError
	if !errors.Is(err, ErrTopicExists) || !errors.As(err, &failed) || fmt.Sprint(failed.Topics) != "[t]" {
		t.Errorf("creating a topic twice: %v", err)
	}
	if ps, err := c.Partitions(t.Context(), "u"); err != nil || len(ps) != 2 {
		t.Errorf("the other topic was not created: %v, %v", ps, err)
	}
	if _, err := c.Partitions(t.Context(), "nowhere"); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("partitions of an unknown topic: %v", err)
	}
	if _, err := c.Offsets(t.Context(), "t", 7); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("offsets of an unknown partition: %v", err)
	}
	if _, err := c.NewProducer(t.Context(), "nowhere", 0, ""); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("producer of an unknown topic: %v", err)
	}
	if err := c.CreateTopics(t.Context(), TopicSpec{Name: "v"}); err == nil {
		t.Error("a topic without partitions was created")
	}
}

func TestPollReturnsEveryPartitionOnTimeout(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 3)
	mustAppend(t, newProducer(t, c, 0, ""), "a")
	f := c.NewFetcher()
	fetches := []Fetch{{Topic: "t", Partition: 0, Offset: 1}, {Topic: "t", Partition: 2}}
	start := time.Now()
	fetched, err := f.Poll(t.Context(), fetches, 1, 100*time.Millisecond)
	if err != nil || len(fetched) != 2 {
		t.Fatalf("Poll = %+v, %v", fetched, err)
	}
	if waited := time.Since(start); waited < 90*time.Millisecond || waited > 30*time.Second {
		t.Errorf("waited %s", waited)
	}
	if f := fetched[0]; f.High != 1 || f.Next != 1 || fetched[1].Next != 0 || f.RequestedAt < start.UnixMilli() {
		t.Errorf("Poll = %+v", fetched)
	}
}

func TestLongPollIsWokenByAnyPartition(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 2)
	p := newProducer(t, c, 0, "")
	asked := fetches(cluster)
	go func() {
		<-asked
		_, _ = p.Append(context.Background(), messages("wake"))
	}()
	start := time.Now()
	fetched, err := c.NewFetcher().Poll(t.Context(), []Fetch{{Topic: "t", Partition: 1}, {Topic: "t"}}, 1,
		2*time.Minute)
	woken := slices.ContainsFunc(fetched, func(g Fetched) bool { return g.Partition == 0 && len(g.Records) == 1 })
	if err != nil || !woken || time.Since(start) > time.Minute {
		t.Errorf("Poll = %+v, %v after %s", fetched, err, time.Since(start))
	}
}

func TestLongPollEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	f := c.NewFetcher()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	_, err := f.Poll(ctx, []Fetch{{Topic: "t"}}, 1, 2*time.Minute)
	if !errors.Is(err, context.Canceled) || time.Since(start) > time.Minute {
		t.Fatalf("Poll = %v after %s", err, time.Since(start))
	}
	// The outstanding request is kept: data wakes it, and other fetches replace it.
	mustAppend(t, newProducer(t, c, 0, ""), "a")
	fetched, err := f.Poll(t.Context(), []Fetch{{Topic: "t"}}, 1, 30*time.Second)
	if err != nil || len(fetched) != 1 || len(fetched[0].Records) != 1 || fetched[0].Next != 1 {
		t.Fatalf("Poll = %+v, %v", fetched, err)
	}
}

func TestOutOfRangeIsTyped(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 2)
	mustAppend(t, newProducer(t, c, 0, ""), "a", "b", "c")
	must.Succeed(t, cluster.DeleteRecords("t", 0, 2))
	if err := c.ReadRange(t.Context(), "t", 0, 0, 3, func(Record) error {
		return nil
	}); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("reading below the start: %v", err)
	}
	fetched := must.Have(c.NewFetcher().Poll(t.Context(),
		[]Fetch{{Topic: "t", Partition: 0, Offset: 99}, {Topic: "t", Partition: 1}}, 1, time.Second))
	if !errors.Is(fetched[0].Err, ErrOffsetOutOfRange) || fetched[0].Next != 99 {
		t.Errorf("Poll = %+v", fetched)
	}
	o, err := c.Offsets(t.Context(), "t", 0)
	if err != nil || o.Start != 2 {
		t.Errorf("Offsets = %+v, %v", o, err)
	}
}

func TestTheFirstTimeOfATopicIsTheLeastOfItsPartitions(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 3)
	if millis, found, err := c.FirstTime(t.Context(), "t"); found || err != nil {
		t.Errorf("of an empty topic: %d, %v, %v", millis, found, err)
	}
	for partition, times := range [][]int64{{7000, 1000}, {5000}} {
		p := newProducer(t, c, int32(partition), "")
		var messages []Message
		for _, millis := range times {
			messages = append(messages, Message{Value: []byte("x"), Timestamp: At(millis)})
		}
		must.Have(p.Append(t.Context(), messages))
	}
	if millis, found, err := c.FirstTime(t.Context(), "t"); millis != 5000 || !found || err != nil {
		t.Errorf("got %d, %v, %v", millis, found, err)
	}
}
