package reading

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// A deleted dead-letter topic is reported before a record needs it, with a remedy; a record that
// cannot be written there is an error, never dropped; and a recreated topic is used.
func TestRuleAMissingDeadLetterTopicIsToldBeforeItIsNeeded(t *testing.T) {
	t.Parallel()
	broker := deploytest.Start(t)
	d := must.Have(deployment.Compile(deploytest.Config(broker.Addr())))
	client := must.Have(connect.Dial(t.Context(), d.Config.Kafka, nil))
	defer client.Close()
	topic := d.Config.Outputs.DeadLetter
	if err := client.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: topic, Partitions: 1, Replication: 1}); err !=
		nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	letters := must.Have(newDeadLetters(t.Context(), client, d, slog.New(slog.NewTextHandler(&out, nil))))
	defer letters.close()
	begin := time.Now()
	look := func(after time.Duration, warnings int) {
		t.Helper()
		out.Reset()
		must.Succeed(t, letters.checkTopic(t.Context(), begin.Add(after)))
		if n := strings.Count(out.String(), "level=WARN"); n != warnings {
			t.Fatalf("after %v: %d warnings, want %d: %s", after, n, warnings, &out)
		}
	}
	broken := func(offset int64) {
		letters.add("events", &kafkalog.Record{Partition: 1, Offset: offset, Value: []byte("{")}, "undecodable")
	}
	broken(1)
	must.Succeed(t, letters.flush(t.Context()))
	look(11*time.Second, 0)

	deploytest.DeleteTopic(t, broker.Addr(), topic)
	look(12*time.Second, 0) // too soon after the last look
	look(22*time.Second, 1)
	for _, s := range []string{"topic " + topic, "no longer exists",
		"kafka-topics.sh --bootstrap-server " + broker.Addr() + " --create --topic " + topic} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("%q does not say %q", out.String(), s)
		}
	}
	look(33*time.Second, 0)
	look(83*time.Second, 1)
	look(100*time.Second, 0)

	broken(2)
	err := letters.flush(t.Context())
	if !errors.Is(err, kafkalog.ErrUnknownTopic) || !strings.Contains(err.Error(), "--create --topic "+topic) {
		t.Errorf("writing to no topic: %v", err)
	}
	if len(letters.pending) != 1 {
		t.Errorf("%d letters wait, want the one that could not be written", len(letters.pending))
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

	deploytest.DeleteTopic(t, broker.Addr(), topic) // and it is made again before a look
	if err := client.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: topic, Partitions: 1, Replication: 1}); err !=
		nil {
		t.Fatal(err)
	}
	broken(3)
	if err := letters.flush(t.Context()); err != nil {
		t.Fatalf("writing to the topic that was made again at once: %v", err)
	}
}
