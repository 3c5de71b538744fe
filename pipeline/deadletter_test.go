package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
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
		partition := kmsg.NewProduceResponseTopicPartition()
		partition.Partition, partition.ErrorCode = r.Topics[0].Partitions[0].Partition, int16(kafka.PolicyViolation)
		response := kmsg.NewProduceResponseTopic()
		response.Topic, response.Partitions = topic, []kmsg.ProduceResponseTopicPartition{partition}
		res.Topics = append(res.Topics, response)
		return res, nil, true
	})
	return refused
}

// Dead letters that cannot be written end their epoch. The next epoch reads into the same memory,
// and writes each of these records once, as it is on the events topic.
func TestRuleADeadLetterHoldsItsOwnRecordAfterAnEpochEnds(t *testing.T) {
	t.Parallel()
	e := startElections(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cfg := deploytest.Config(e.ListenAddrs()[0])
	cfg.Time.IdleGrace = 24 * time.Hour // a partition that has been read is never passed
	start := time.Now().Add(-2 * time.Hour).Truncate(time.Minute)
	d := deploy(t, cfg, start, 1)
	_, source := readerOf(t, d, reading.Options{Groups: 1})

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
		msgs = append(msgs, kafkalog.Message{Key: fmt.Appendf(nil, "key %d", i), Value: value,
			Timestamp: kafkalog.At(start.Add(30 * time.Minute).UnixMilli()),
			Headers:   []kafkalog.Header{{Key: "trace", Value: []byte{byte(i)}}, {Key: "null"}}})
	}
	refused := e.refuseOnce(d.Config.Outputs.DeadLetter)
	appendEvents(t, e.ListenAddrs()[0], msgs...)
	position := step.Next
	for err = nil; err == nil; step, err = source.Step(ctx, position) {
		position = step.Next
	}
	if !errors.Is(err, kafka.PolicyViolation) || !refused.Load() {
		t.Fatalf("a step whose dead letters the broker refuses: %v", err)
	}
	if _, err := source.Step(ctx, position); err != nil { // as after an engine's restore
		t.Fatal(err)
	}

	letters := 0
	eachRecord(t, d, d.Config.Outputs.DeadLetter, 0, func(r kafkalog.Record) {
		letters++
		header := func(name string) (value string) {
			i := slices.IndexFunc(r.Headers, func(h kafkalog.Header) bool { return h.Key == name })
			return string(r.Headers[i].Value)
		}
		offset := must.Have(strconv.ParseInt(header(schemas.DeadLetterOffset), 10, 64))
		nth := offset - 120
		last := slices.IndexFunc(r.Headers, func(h kafkalog.Header) bool { return h.Key == schemas.DeadLetterLength })
		h := r.Headers[last+1:]
		if len(h) != 2 || !bytes.Equal(h[0].Value, []byte{byte(nth)}) || h[1].Key != "null" ||
			h[1].Value != nil || header(schemas.DeadLetterClass) != "undecodable" {
			t.Errorf("the dead letter of record %d has the headers %v", nth, r.Headers)
		}
		want, key := broken[offset], fmt.Appendf(nil, "key %d", nth)
		if !bytes.Equal(r.Value, want) || !bytes.Equal(r.Key, key) {
			t.Errorf("the dead letter of record %d is %q: %q, want %q: %q", nth, r.Key, r.Value, key, want)
		}
	})
	if letters != len(broken) {
		t.Errorf("%d dead letters, want %d", letters, len(broken))
	}
}
