package demo

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/tollgate-dp/tollgate/internal/app/generate"
	"github.com/tollgate-dp/tollgate/internal/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
)

func broker(t *testing.T, partitions int) (string, *kafkalog.Client) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // runs last
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	client, err := kafkalog.Dial(context.Background(), kafkalog.Config{Brokers: []string{b.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.CreateTopics(context.Background(), kafkalog.TopicSpec{Name: eventsTopic, Partitions: partitions, Replication: 1}); err != nil {
		t.Fatal(err)
	}
	return b.Addr(), client
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
	addr, client := broker(t, 2)
	ctx := context.Background()
	loaded, err := load(ctx, addr, source, nil)
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

func TestLoadEndsWhenDrained(t *testing.T) {
	source, err := NewGenerated(generate.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := broker(t, 2)
	drain := make(chan struct{})
	close(drain)
	if _, err := load(context.Background(), addr, source, drain); !errors.Is(err, errDrained) {
		t.Errorf("got %v", err)
	}
}

func TestLoadNamesABrokerThatIsGone(t *testing.T) {
	source, err := NewGenerated(generate.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := load(context.Background(), "127.0.0.1:1", source, nil); err == nil {
		t.Error("no error")
	}
}
