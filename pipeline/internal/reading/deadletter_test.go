package reading

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

func deleteTopic(t *testing.T, broker, topic string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{topic}
	one := kmsg.NewDeleteTopicsRequestTopic()
	one.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, one)
	res, err := req.RequestWith(t.Context(), client)
	if err != nil || res.Topics[0].ErrorCode != 0 {
		t.Fatalf("deleting topic %s: %v, %+v", topic, err, res)
	}
}

// A deleted dead-letter topic is reported before a record needs it, with a remedy; a record that
// cannot be written there is an error, never dropped; and a recreated topic is used.
func TestRuleAMissingDeadLetterTopicIsToldBeforeItIsNeeded(t *testing.T) {
	t.Parallel()
	broker := deploytest.Start(t)
	d, err := deployment.Compile(deploytest.Config(broker.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topic := d.Config.Outputs.DeadLetter
	if err := client.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: topic, Partitions: 1, Replication: 1}); err !=
		nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	letters, err := newDeadLetters(t.Context(), client, d, slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer letters.close()
	begin := time.Now()
	look := func(after time.Duration, warnings int) {
		t.Helper()
		out.Reset()
		if err := letters.checkTopic(t.Context(), begin.Add(after)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "level=WARN"); n != warnings {
			t.Fatalf("after %v: %d warnings, want %d: %s", after, n, warnings, &out)
		}
	}
	broken := func(offset int64) {
		letters.add("events", &kafkalog.Record{Partition: 1, Offset: offset, Value: []byte("{")}, "undecodable")
	}
	broken(1)
	if err := letters.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	look(11*time.Second, 0)

	deleteTopic(t, broker.Addr(), topic)
	look(12*time.Second, 0) // too soon after the last look
	look(22*time.Second, 1)
	for _, s := range []string{"topic " + topic, "does not exist any more",
		"kafka-topics.sh --bootstrap-server " + broker.Addr() + " --create --topic " + topic} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("%q does not say %q", out.String(), s)
		}
	}
	look(33*time.Second, 0)
	look(83*time.Second, 1)
	look(100*time.Second, 0)

	broken(2)
	err = letters.flush(t.Context())
	if !errors.Is(err, kafkalog.ErrUnknownTopic) || !strings.Contains(err.Error(), "--create --topic "+topic) {
		t.Errorf("writing to no topic: %v", err)
	}
	if len(letters.waiting) != 1 {
		t.Errorf("%d letters wait, want the one that could not be written", len(letters.waiting))
	}

	if err := client.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: topic, Partitions: 1, Replication: 1}); err !=
		nil {
		t.Fatal(err)
	}
	look(120*time.Second, 1)
	look(140*time.Second, 0)
	if err := letters.flush(t.Context()); err != nil {
		t.Fatalf("writing to the topic that was made again: %v", err)
	}
	if bounds, err := client.Offsets(t.Context(), topic, 0); err != nil || bounds.High != 1 {
		t.Errorf("the topic ends at %d, %v", bounds.High, err)
	}

	deleteTopic(t, broker.Addr(), topic) // and it is made again before a look
	if err := client.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: topic, Partitions: 1, Replication: 1}); err !=
		nil {
		t.Fatal(err)
	}
	broken(3)
	if err := letters.flush(t.Context()); err != nil {
		t.Fatalf("writing to the topic that was made again at once: %v", err)
	}
}
