package pipeline

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// batches is a deployment whose past events arrive in loads, with windows of an hour and noise with
// a standard deviation below 10 events.
type batches struct {
	t      *testing.T
	broker *embedded.Broker
	d      *deployment.Deployment
	start  time.Time
}

const batchUsers = 1000

func newBatches(t *testing.T, partitions int, change func(*deployment.Config)) *batches {
	t.Helper()
	b := &batches{t: t, broker: deploytest.Start(t), start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	cfg := deploytest.Config(b.broker.Addr())
	cfg.Privacy.Epsilon, cfg.Privacy.Delta = 50, 1e-4
	cfg.Time.IdleGrace, cfg.Shards = 100*time.Millisecond, 1
	m := &cfg.Metrics[0]
	m.Window, m.MaxKeysPerUser, m.MaxEventsPerKey, m.Keys.List = time.Hour, 1, 1, []string{"a"}
	m.Target.Relative, m.Target.Absolute = 0, 19
	change(&cfg)
	b.d = deploy(t, cfg, b.start, partitions)
	return b
}

// append appends records to a partition of the events topic.
func (b *batches) append(partition int32, msgs ...kafkalog.Message) {
	b.t.Helper()
	appendTo(b.t, dial(b.t, b.d), "events", partition, msgs...)
}

// grow gives the events topic further partitions.
func (b *batches) grow(partitions int32) {
	b.t.Helper()
	client := must.Have(kgo.NewClient(kgo.SeedBrokers(b.broker.Addr())))
	defer client.Close()
	request, topic := kmsg.NewPtrCreatePartitionsRequest(), kmsg.NewCreatePartitionsRequestTopic()
	topic.Topic, topic.Count = "events", partitions
	request.Topics, request.TimeoutMillis = append(request.Topics, topic), 10_000
	if response, err := request.RequestWith(b.t.Context(), client); err != nil || response.Topics[0].ErrorCode != 0 {
		b.t.Fatalf("%+v, %v", response, err)
	}
}

// load appends an event of every user in one hour, one after the other.
func (b *batches) load(hour int, partition int32) {
	b.t.Helper()
	var msgs []kafkalog.Message
	for i := range batchUsers {
		moment := b.start.Add(time.Duration(hour)*time.Hour + time.Duration(i)*time.Second)
		msgs = append(msgs, eventOf(fmt.Sprintf("h%d-%d", hour, i), moment))
	}
	b.append(partition, msgs...)
}

// run runs the deployment to the end given by opts.
func (b *batches) run(opts RunOptions) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.t.Context(), time.Minute)
	defer stop()
	if result, err := Run(ctx, b.d, opts); err != nil || result.OpenTurns > 0 || result.Unread {
		b.t.Fatalf("%+v, %v", result, err)
	}
}

// check compares the published values with the loads: each hour with a load has its users, other
// hours are about zero, and no value is later.
func (b *batches) check(last int, loaded ...int) {
	b.t.Helper()
	want := map[int64]float64{}
	for _, hour := range loaded {
		want[b.start.Add(time.Duration(hour)*time.Hour).UnixMilli()] = batchUsers
	}
	releases := must.Have(ReadReleases(b.t.Context(), b.d))
	for _, r := range releases {
		if math.Abs(r.Count()-want[r.WindowStart]) > 200 {
			b.t.Errorf("%v: %v is published, want %v", time.UnixMilli(r.WindowStart).UTC(), r.Count(),
				want[r.WindowStart])
		}
	}
	if len(releases) != last+1 {
		b.t.Errorf("%d windows are published, want %d", len(releases), last+1)
	}
	report := must.Have(TrustedReport(b.t.Context(), b.d))
	if report.Accepted != uint64(batchUsers*len(loaded)) || report.Read != report.Accepted {
		b.t.Errorf("%+v: not all of the records are accepted", report)
	}
}

// Past events arrive in loads with a run after each: no run closes a window of a later load,
// whether hours, a night or weeks are between them.
func TestRuleARunWithAnEndLeavesTheNextLoadItsWindows(t *testing.T) {
	t.Parallel()
	hours := []int{0, 1, 2, 12, 13, 36, 200}
	for name, c := range map[string]struct {
		readers int
		until   bool
		grows   bool
		loads   []int
	}{
		"hourly":                  {loads: []int{0, 1, 2, 3}},
		"after hours, days, week": {loads: hours},
		"until a time":            {loads: hours, until: true},
		"several readers":         {loads: hours, readers: 2},
		"new partitions":          {loads: hours, grows: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBatches(t, 2, func(*deployment.Config) {})
			for i, hour := range c.loads {
				partition := int32(i % 2)
				if c.grows && i > 1 {
					partition = int32(i)
					b.grow(partition + 1)
				}
				b.load(hour, partition)
				opts := RunOptions{UntilEnd: !c.until, Readers: c.readers}
				if c.until {
					opts.Until = b.start.Add(time.Duration(hour+1) * time.Hour)
				}
				b.run(opts)
			}
			b.check(c.loads[len(c.loads)-1], c.loads...)
		})
	}
}

// A run that begins on a topic without a record closes no past window before the first load
// arrives, and then counts it.
func TestRuleNoWindowClosesBeforeTheFirstRecord(t *testing.T) {
	t.Parallel()
	b := newBatches(t, 2, func(c *deployment.Config) {})
	drain, over, polls := make(chan struct{}), make(chan error, 1), make(chan struct{}, 100)
	go func() {
		_, err := Run(context.Background(), b.d, RunOptions{Drain: drain, OnProgress: func(Progress) {
			polls <- struct{}{}
		}})
		over <- err
	}()
	for range 3 { // seconds, far above the grace
		<-polls
	}
	b.load(0, 1)
	b.load(1, 1)
	await.That(t, time.Minute, "the load is counted", func() bool {
		releases, err := ReadReleases(t.Context(), b.d)
		return err == nil && len(releases) > 1
	})
	close(drain)
	must.Succeed(t, <-over)
	releases := must.Have(ReadReleases(t.Context(), b.d))
	for _, r := range releases {
		if hour := (r.WindowStart - b.start.UnixMilli()) / time.Hour.Milliseconds(); hour < 2 &&
			math.Abs(r.Count()-batchUsers) > 200 {
			t.Errorf("hour %d: %v is published, want %v", hour, r.Count(), batchUsers)
		}
	}
}

// Records whose windows never close are in the report, though no CLOSE has them.
func TestRuleTheReportCountsRecordsThatCloseNoWindow(t *testing.T) {
	t.Parallel()
	for _, readers := range []int{1, 2} {
		b := newBatches(t, 2, func(c *deployment.Config) {})
		for i := range 2 {
			b.append(int32(i), kafkalog.Message{Value: []byte("no event"), Timestamp: kafkalog.Now()})
		}
		for range 2 {
			b.run(RunOptions{UntilEnd: true, Readers: readers})
			report := must.Have(TrustedReport(t.Context(), b.d))
			if report.Read != 2 || report.Broken() != 2 {
				t.Errorf("%d readers: %+v, want two broken records", readers, report)
			}
		}
	}
}
