package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// appended returns a deployment with append times, windows of two seconds and a start near now.
func appended(t testing.TB, broker, name string, partitions int, change ...settings) *deployment {
	t.Helper()
	createTopic(t, broker, name+"-events", partitions, 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	start := time.Now().Add(-20 * time.Second).Truncate(2 * time.Second)
	changes := append([]settings{func(c *pipeline.Config) {
		c.Time = pipeline.Time{
			Trust: pipeline.TrustBroker, Lateness: time.Second, Skew: time.Minute, Slack: 500 * time.Millisecond,
			IdleGrace: 24 * time.Hour,
		}
		c.Metrics = []pipeline.Metric{publicMetric("visits", 2*time.Second), privateMetric("pages", 2*time.Second)}
	}, tight}, change...)
	d := newDeploymentAt(t, broker, name, 0, start, changes...)
	d.partitions = partitions
	return d
}

// createTopic creates a topic with settings.
func createTopic(t testing.TB, broker, name string, partitions, copies int, config map[string]string) {
	t.Helper()
	ctx := patient(t)
	client := must.Have(kafkalog.Dial(ctx, kafkalog.Config{Brokers: strings.Split(broker, ","), Logger: quiet()}))
	defer client.Close()
	if err := client.CreateTopics(ctx, kafkalog.TopicSpec{Name: name, Partitions: partitions, Replication: copies,
		Config: config}); err != nil {
		t.Fatalf("creating a topic: %v", err)
	}
}

// wildStamp returns a timestamp as a producer without a clock may write it.
func wildStamp(random *rand.Rand) int64 {
	return []int64{1, 86_400_000, time.Now().UnixMilli() - 3_600_000, time.Date(2100, 1, 1, 0, 0, 0, 0,
		time.UTC).UnixMilli()}[random.IntN(4)]
}

// independentLog reads the committed records of the events topic with franz-go's own client,
// without the product's code.
func (d *deployment) independentLog() events {
	d.t.Helper()
	log := events{}
	for _, r := range independentRecords(d.t, d.config.Kafka.Brokers[0], d.config.Events.Topic, d.partitions) {
		if !r.Attrs.IsControl() {
			log[r.Partition] = append(log[r.Partition], kafkalog.Record{Offset: r.Offset,
				Timestamp: r.Timestamp.UnixMilli(), Value: r.Value})
		}
	}
	return log
}

// independentRecords reads the committed records and the markers of a topic with franz-go's own
// client. Each partition's records are in the order of the log.
func independentRecords(t testing.TB, broker, topic string, partitions int) []*kgo.Record {
	t.Helper()
	ctx := patient(t)
	admin := must.Have(kafkalog.Dial(ctx, kafkalog.Config{Brokers: []string{broker}, Logger: quiet()}))
	defer admin.Close()
	left, starts := map[int32]int64{}, map[int32]kgo.Offset{}
	for p := range int32(partitions) {
		bounds := must.Have(admin.Offsets(ctx, topic, p))
		if bounds.LastStable > bounds.Start {
			starts[p], left[p] = kgo.NewOffset().AtStart(), bounds.LastStable
		}
	}
	// Control records mark the end if nothing else is there.
	client := adminClient(t, broker, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: starts}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	var records []*kgo.Record
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("reading with another client: %v", err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			records = append(records, r)
			if end, wanted := left[r.Partition]; wanted && r.Offset >= end-1 {
				delete(left, r.Partition)
			}
		})
	}
	return records
}

// checkFences returns an error if the fences of ledger or counts have failed: if a record of an
// older producer comes after a marker or a record of a newer one. All producers of a partition have
// the same transactional id, and so the same producer id.
func (d *deployment) checkFences() error {
	d.t.Helper()
	if d.refilled {
		return nil
	}
	for topic, partitions := range map[string]int{d.config.Outputs.Ledger: d.config.Shards,
		d.config.Outputs.Counts: d.config.ReleaseShards} {
		newest, ids, before := map[int32]int16{}, map[int32]int64{}, map[int32]int64{}
		for _, r := range independentRecords(d.t, d.config.Kafka.Brokers[0], topic, partitions) {
			id, known := ids[r.Partition]
			adjacent := r.Offset == before[r.Partition]+1 // a hole of compaction may have been the marker
			before[r.Partition] = r.Offset
			switch {
			case !r.Attrs.IsControl() && r.Key == nil:
				continue // a test's
			case known && id != r.ProducerID:
				return fmt.Errorf("%s/%d: offset %d has another producer id than earlier records", topic, r.Partition,
					r.Offset)
			case known && r.ProducerEpoch < newest[r.Partition]:
				return fmt.Errorf("%s/%d: offset %d of producer epoch %d comes after one of %d", topic, r.Partition,
					r.Offset, r.ProducerEpoch, newest[r.Partition])
			case !r.Attrs.IsControl() && r.ProducerEpoch > newest[r.Partition] && known && adjacent:
				return fmt.Errorf("%s/%d: offset %d of producer epoch %d comes before its fence", topic, r.Partition,
					r.Offset, r.ProducerEpoch)
			}
			newest[r.Partition], ids[r.Partition] = r.ProducerEpoch, r.ProducerID
		}
	}
	return nil
}

// sameLog fails the test unless the product's client reads the same records as another client.
func (d *deployment) sameLog(want events) {
	d.t.Helper()
	got := d.eventLog()
	for p := range int32(d.partitions) {
		if !slices.EqualFunc(got[p], want[p], func(a, b kafkalog.Record) bool {
			return a.Offset == b.Offset && a.Timestamp == b.Timestamp && string(a.Value) == string(b.Value)
		}) {
			d.t.Fatalf("partition %d reads as %d records, %d by another client, or they differ", p, len(got[p]),
				len(want[p]))
		}
	}
}

// report returns the trusted report.
func (d *deployment) report() pipeline.Tallies {
	d.t.Helper()
	return must.Have(pipeline.TrustedReport(d.t.Context(), d.compiled))
}

// liveRun is an unbounded run in this process; finish drains it and waits for its end.
type liveRun struct {
	settled chan pipeline.Settlement
	drain   chan struct{}
	over    chan error
}

func (d *deployment) live(change ...func(*runOptions)) *liveRun {
	d.t.Helper()
	l := &liveRun{settled: make(chan pipeline.Settlement, 10_000), drain: make(chan struct{}),
		over: make(chan error, 1)}
	go func() {
		_, err := d.tryRun(append(change, func(o *runOptions) {
			o.Bounded, o.Drain = false, l.drain
			o.OnSettled = func(s pipeline.Settlement) { l.settled <- s }
		})...)
		l.over <- err
	}()
	return l
}

// until waits for a turn to be settled.
func (l *liveRun) until(t testing.TB, turn uint64) {
	t.Helper()
	for {
		select {
		case s := <-l.settled:
			if s.Turn >= turn {
				return
			}
		case err := <-l.over:
			t.Fatalf("the run ended before turn %d: %v", turn, err)
		case <-time.After(patience):
			t.Fatalf("turn %d was not settled within %v", turn, patience)
		}
	}
}

// quietFor fails the test if a turn is settled within a time.
func (l *liveRun) quietFor(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case s := <-l.settled:
		t.Fatalf("turn %d was settled", s.Turn)
	case err := <-l.over:
		t.Fatalf("the run ended: %v", err)
	case <-time.After(d):
	}
}

func (l *liveRun) finish(t testing.TB) {
	t.Helper()
	close(l.drain)
	if err := <-l.over; err != nil {
		t.Fatalf("the run ended with %v", err)
	}
}
