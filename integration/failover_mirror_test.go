package integration

import (
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/internal/testing/reference"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// mirrored takes a deployment to other clusters as a mirror does, record by record: markers, and
// what retention has taken, are gone, and so offsets change; and by a copy that keeps them. The
// topics have had one leader: where there was an election, a start refuses any such copy of the
// events.
func (s *source) mirrored(t *testing.T) {
	m := &source{deployment: newDeployment(t, s.broker.Addr(), "mirrored", 2, tight, sharded(2, 1), withoutFuture), broker: s.broker}
	w := calm(2526)
	w.Windows = 10
	dealt := scatter(w.arrivals(), 2, 1)
	for p := range dealt {
		m.append(int32(p), dealt[p][:len(dealt[p])*3/5])
	}
	m.runTurns(3, live)
	const taken = 100
	for p := range dealt {
		m.append(int32(p), dealt[p][len(dealt[p])*3/5:])
		m.deleteRecords(m.config.Events.Topic, int32(p), taken) // as retention does
	}
	events := m.eventLog()
	moved := m.elsewhere(t, false)
	kept := m.elsewhere(t, true)
	for _, d := range []*deployment{moved, kept} {
		copyTopic(t, m.deployment, d, d.config.Events.Topic, d.partitions, false)
	}
	m.finish()
	var err error
	if m.all, err = m.readCounts(); err != nil {
		t.Fatal(err)
	}
	t.Run("all topics by a mirror", func(t *testing.T) {
		m.comesBack(t, moved, []string{"partition 0 ends at offset", "but when turn 3 was settled it ended at", "a copy changed the offsets"})
	})
	t.Run("events alone by a mirror", func(t *testing.T) {
		m.comesBack(t, kept, []string{"are later than all that were read there", "was recreated, or copied with other offsets or times"})
	})
	t.Run("all topics by a copy that keeps offsets", func(t *testing.T) {
		for p := range events {
			events[p] = append(slices.Repeat([]reference.Record{{Timestamp: base.UnixMilli()}}, taken), events[p]...)
		}
		if err := kept.replaceEvents(events); err != nil {
			t.Fatal(err)
		}
		m.comesBack(t, kept, nil)
	})
}

// elsewhere starts another cluster and copies the deployment's own topics there.
func (s *source) elsewhere(t *testing.T, keep bool) *deployment {
	t.Helper()
	d := s.at(t, startSite(t, realkafka.Options{ClusterID: "dG9sbGdhdGUta2Fma2EtMg"}).Addr())
	if err := pipeline.CreateTopics(t.Context(), d.compiled, pipeline.TopicOptions{EventPartitions: d.partitions, Replication: 1}); err != nil {
		t.Fatal(err)
	}
	o := d.compiled.Config.Outputs
	for topic, partitions := range map[string]int{o.Control: 1, o.Ledger: d.config.Shards, o.Counts: d.config.ReleaseShards, o.Turns: 1, o.DeadLetter: 1} {
		copyTopic(t, s.deployment, d, topic, partitions, keep)
	}
	return d
}

// copyTopic copies the records of a topic with their times. keep fills the offsets that have no
// record, so that all others stay.
func copyTopic(t *testing.T, from, to *deployment, topic string, partitions int, keep bool) {
	t.Helper()
	for p := range int32(partitions) {
		bounds, err := from.client.Offsets(t.Context(), topic, p)
		if err != nil {
			t.Fatal(err)
		}
		var messages []kafkalog.Message
		fill := func(to int64) {
			for keep && int64(len(messages)) < to {
				messages = append(messages, kafkalog.Message{Key: []byte("filler"), Timestamp: kafkalog.At(base.UnixMilli())})
			}
		}
		for _, r := range from.records(topic, p) {
			fill(r.Offset)
			messages = append(messages, kafkalog.Message{Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: kafkalog.At(r.Timestamp)})
		}
		fill(bounds.High)
		if len(messages) == 0 {
			continue
		}
		producer, err := to.client.NewProducer(t.Context(), topic, p, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := producer.Append(t.Context(), messages); err != nil {
			t.Fatal(err)
		}
		producer.Close()
	}
}
