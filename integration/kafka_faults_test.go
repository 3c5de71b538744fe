package integration

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// eager returns the settings of a topic that Kafka compacts at once.
func eager() map[string]string {
	return map[string]string{
		"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001",
		"delete.retention.ms": "0", "min.compaction.lag.ms": "0",
	}
}

// holes returns how many offsets of a partition have lost their record.
func (d *deployment) holes(topic string, partition int32) int64 {
	d.t.Helper()
	bounds := must.Have(d.client.Offsets(d.t.Context(), topic, partition))
	return bounds.High - int64(len(d.records(topic, partition)))
}

// keyed appends arrivals with record keys, in batches that are more than a segment's time apart.
func (d *deployment) keyed(arrivals []arrival, keys int) {
	d.t.Helper()
	ctx := patient(d.t)
	p := must.Have(d.client.NewProducer(ctx, d.config.Events.Topic, 0, ""))
	for i := 0; i < len(arrivals); i += 100 {
		var messages []kafkalog.Message
		for j, a := range arrivals[i:min(len(arrivals), i+100)] {
			messages = append(messages, kafkalog.Message{Key: fmt.Appendf(nil, "k%d", (i+j)%keys), Value: a.value,
				Timestamp: kafkalog.At(a.stamp)})
		}
		must.Have(p.Append(ctx, messages))
		time.Sleep(150 * time.Millisecond) // longer than segment.ms
	}
}

// compactEvents makes Kafka compact the events topic, then turns compaction off.
func (d *deployment) compactEvents() {
	d.t.Helper()
	broker, topic := d.config.Kafka.Brokers[0], d.config.Events.Topic
	alterTopic(d.t, broker, topic, eager())
	await.That(d.t, patience, "compaction of the events", func() bool { return d.holes(topic, 0) > 0 })
	alterTopic(d.t, broker, topic, map[string]string{"cleanup.policy": "delete", "min.cleanable.dirty.ratio": "1.0"})
	// The broker does not report a cleaning under way: wait until it has ended.
	for before := int64(-1); before != d.holes(topic, 0); time.Sleep(time.Second) {
		before = d.holes(topic, 0)
	}
}

// Holes that compaction made before any run do not change the counts.
func TestRuleHolesInTheEventsAreReadAcross(t *testing.T) {
	needReal(t)
	d := newDeployment(t, startBroker(t), "holes", 1, tight)
	alterTopic(t, d.config.Kafka.Brokers[0], d.config.Events.Topic, map[string]string{"segment.ms": "100"})
	arrivals := calm(611).arrivals()
	d.keyed(arrivals, 300)
	d.compactEvents()
	log := d.independentLog()
	if n := len(log[0]); n >= len(arrivals) || n < 300 {
		t.Fatalf("%d of %d records are left", n, len(arrivals))
	}
	d.sameLog(log)
	d.run()
	must.Succeed(t, d.checkAgainst(log))
}

// If compaction has removed records of a closed turn, the run stops instead of counting the rest.
func TestRuleHolesInAClosedTurnStopTheRun(t *testing.T) {
	needReal(t)
	d := newDeployment(t, startBroker(t), "holed", 1, tight)
	alterTopic(t, d.config.Kafka.Brokers[0], d.config.Events.Topic, map[string]string{"segment.ms": "100"})
	d.keyed(calm(612).arrivals(), 40)
	j := d.job()
	j.CrashAt, j.CrashTurn = crashpoint.DeltaWriting, 4
	d.crashed(j)
	d.compactEvents()
	end := startRunner(t, d.job()).last(t)
	if end == nil || end.Kind != "log-fault" || !strings.Contains(end.Error, "records were changed or lost") {
		t.Fatalf("the run ended with %s, want a fault of the log", end)
	}
	must.Succeed(t, d.chargeable())
}

// Records are deleted before a waiting run has read them. The broker's response is "out of range",
// and the run must not skip the gap.
func TestRuleRecordsDeletedUnderARunStopIt(t *testing.T) {
	needReal(t)
	d := newDeployment(t, startBroker(t), "deleted", 2, tight)
	w := calm(613)
	w.Windows = 60 // more than a run reads ahead
	w.Events = 20
	arrivals := w.arrivals()
	for i := range arrivals { // so large that a fetch has only some windows
		arrivals[i].value = bytes.Replace(arrivals[i].value, []byte("{"), fmt.Appendf(nil, `{"pad":"%s",`,
			strings.Repeat("x", 10_000)), 1)
	}
	dealt := scatter(arrivals, 2, 1)
	for i := 0; i < len(dealt[0]); i += 50 {
		d.append(0, dealt[0][i:min(len(dealt[0]), i+50)])
	}
	d.append(1, dealt[1][:50])
	run := d.live()
	run.until(t, 3) // partition 1 ends soon and holds partition 0 back far from its end
	for more := true; more; {
		select {
		case <-run.settled:
		case <-time.After(time.Second): // no further
			more = false
		}
	}
	d.deleteRecords(d.config.Events.Topic, 0, int64(len(dealt[0])))
	d.append(1, dealt[1][50:]) // so that partition 0 must be read to its end
	select {
	case err := <-run.over:
		if !errors.Is(err, pipeline.ErrLogFault) || !strings.Contains(err.Error(), "retention") ||
			!strings.Contains(err.Error(), "deleted-events") {
			t.Fatalf("the run ended with %v, want a fault of the log that names the topic and retention", err)
		}
	case <-time.After(patience):
		t.Fatal("the run goes on over deleted records")
	}
	must.Succeed(t, d.chargeable())
}
