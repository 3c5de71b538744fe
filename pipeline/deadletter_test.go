package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/connect"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/pipeline/internal/reading"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/transforms"
)

// refuseOnce makes the broker refuse the first append to a topic.
func (e *elections) refuseOnce(topic string) *atomic.Bool {
	refused := new(atomic.Bool)
	e.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		r := req.(*kmsg.ProduceRequest)
		if r.Topics[0].Topic != topic {
			return nil, nil, false
		}
		refused.Store(true)
		res := r.ResponseKind().(*kmsg.ProduceResponse)
		at := kmsg.NewProduceResponseTopicPartition()
		at.Partition, at.ErrorCode = r.Topics[0].Partitions[0].Partition, int16(kafka.PolicyViolation)
		of := kmsg.NewProduceResponseTopic()
		of.Topic, of.Partitions = topic, []kmsg.ProduceResponseTopicPartition{at}
		res.Topics = append(res.Topics, of)
		return res, nil, true
	})
	return refused
}

// Dead letters that cannot be written end their epoch. The next epoch reads into the same memory,
// and writes each of these records once, as it stands on the events topic.
func TestRuleADeadLetterHoldsItsOwnRecordAfterAnEpochEnds(t *testing.T) {
	t.Parallel()
	e := startElections(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cfg := deploytest.Config(e.ListenAddrs()[0])
	cfg.Time.IdleGrace = 24 * time.Hour // a partition that has been read is never passed
	start := time.Now().Add(-2 * time.Hour).Truncate(time.Minute)
	d := deploy(t, cfg, start, 1)
	client, err := connect.Dial(ctx, d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	log := slog.New(slog.DiscardHandler)
	control, err := controllog.Open(ctx, client, d.Config.Outputs.Control, d.Config.LedgerSlots, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Announce(ctx); err != nil {
		t.Fatal(err)
	}
	source, err := reading.New(ctx, d, client, control, reading.Options{StallLimit: time.Hour, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()

	appendEvents(t, e.ListenAddrs()[0], append(eventsAt(start, 60), eventsAt(start.Add(30*time.Minute), 60)...)...)
	step, err := source.Step(ctx, transforms.Restriction{Epoch: -1, Tick: 1})
	if err != nil || !step.Opened {
		t.Fatalf("the first step has opened a turn: %v, %v", step.Opened, err)
	}
	broken := map[int64][]byte{}
	var msgs []kafkalog.Message
	for i := range 40 {
		value := fmt.Appendf(nil, "broken record %d", i)
		broken[int64(120+i)] = value
		msgs = append(msgs, kafkalog.Message{Key: fmt.Appendf(nil, "key %d", i), Value: value, Timestamp: kafkalog.At(start.Add(30 * time.Minute).UnixMilli()),
			Headers: []kafkalog.Header{{Key: "trace", Value: []byte{byte(i)}}, {Key: "null"}}})
	}
	refused := e.refuseOnce(d.Config.Outputs.DeadLetter)
	appendEvents(t, e.ListenAddrs()[0], msgs...)
	at := step.Next
	for err = nil; err == nil; step, err = source.Step(ctx, at) {
		at = step.Next
	}
	if !errors.Is(err, kafka.PolicyViolation) || !refused.Load() {
		t.Fatalf("a step whose dead letters the broker refuses: %v", err)
	}
	if _, err := source.Step(ctx, at); err != nil { // as after an engine's restore
		t.Fatal(err)
	}

	topic := d.Config.Outputs.DeadLetter
	bounds, err := client.Offsets(ctx, topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	letters := 0
	if err := client.ReadRange(ctx, topic, 0, bounds.Start, bounds.LastStable, func(r kafkalog.Record) error {
		letters++
		headers := make([]schemas.RecordHeader, len(r.Headers))
		for i, h := range r.Headers {
			headers[i] = schemas.RecordHeader{Key: h.Key, Value: h.Value}
		}
		info, err := schemas.ReadDeadLetter(headers)
		if err != nil {
			return err
		}
		want := broken[info.Origin.Offset]
		if h := info.Original; len(h) != 2 || !bytes.Equal(h[0].Value, []byte{byte(info.Origin.Offset - 120)}) || h[1].Key != "null" || h[1].Value != nil || info.Class != "undecodable" {
			t.Errorf("the dead letter of offset %d, of class %s, has the headers %v", info.Origin.Offset, info.Class, h)
		}
		if key := fmt.Appendf(nil, "key %d", info.Origin.Offset-120); !bytes.Equal(r.Value, want) || !bytes.Equal(r.Key, key) {
			t.Errorf("the dead letter of offset %d is %q: %q, want %q: %q", info.Origin.Offset, r.Key, r.Value, key, want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if letters != len(broken) {
		t.Errorf("%d dead letters, want %d", letters, len(broken))
	}
}
