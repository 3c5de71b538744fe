package demo

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/tollgate-dp/tollgate/internal/app/generate"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

func broker(t *testing.T, partitions int) (pipeline.Kafka, *kafkalog.Client) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // runs last
	b, kafka, err := startBroker(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	client, err := connect.Dial(context.Background(), kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.CreateTopics(context.Background(), kafkalog.TopicSpec{Name: eventsTopic, Partitions: partitions,
		Replication: 1}); err != nil {
		t.Fatal(err)
	}
	return kafka, client
}

func TestLoadKeepsBytesAndOrderOfTime(t *testing.T) {
	c := generate.Defaults()
	c.Events, c.Broken = 30_000, 0.05
	source, err := NewGenerated(c)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]int{}
	for _, m := range messages(t, source) {
		sent[string(m.Value)]++
	}
	kafka, client := broker(t, 2)
	ctx := context.Background()
	loaded, err := load(ctx, kafka, source, nil)
	if err != nil || loaded != 30_000 {
		t.Fatalf("loaded %d: %v", loaded, err)
	}
	for partition := range int32(2) {
		bounds, err := client.Offsets(ctx, eventsTopic, partition)
		if err != nil {
			t.Fatal(err)
		}
		last := int64(0)
		err = client.ReadRange(ctx, eventsTopic, partition, 0, bounds.LastStable, func(r kafkalog.Record) error {
			if r.Timestamp < last {
				t.Errorf("partition %d: the time falls at offset %d", partition, r.Offset)
			}
			last = r.Timestamp
			sent[string(r.Value)]--
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for value, n := range sent {
		if n != 0 {
			t.Fatalf("a record of %d bytes is on the topic %d times too seldom", len(value), n)
		}
	}
}

// The port is open to every user of the machine.
func TestRuleOnlyTheDemoReadsItsBroker(t *testing.T) {
	kafka, _ := broker(t, 1)
	for name, sasl := range map[string]*pipeline.SASL{
		"no password":    nil,
		"wrong password": {Mechanism: kafka.SASL.Mechanism, User: kafka.SASL.User, Password: secret.New("guessed")},
		"the default":    {Mechanism: kafka.SASL.Mechanism, User: "admin", Password: secret.New("admin")},
	} {
		client, err := connect.Dial(t.Context(), pipeline.Kafka{Brokers: kafka.Brokers, SASL: sasl}, nil)
		if err == nil {
			_, err = client.Offsets(t.Context(), eventsTopic, 0)
			client.Close()
		}
		if !errors.Is(err, kafkalog.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoadEndsWhenDrained(t *testing.T) {
	source, err := NewGenerated(generate.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	kafka, _ := broker(t, 2)
	drain := make(chan struct{})
	close(drain)
	if _, err := load(context.Background(), kafka, source, drain); !errors.Is(err, errDrained) {
		t.Errorf("got %v", err)
	}
}
