package kafkalog

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const produceKey = 0

// answerProduce makes the broker answer the next produce request with code instead of handling it.
func answerProduce(cluster *kfake.Cluster, code int16) *atomic.Int32 {
	var seen atomic.Int32
	cluster.ControlKey(produceKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		seen.Add(1)
		r := req.(*kmsg.ProduceRequest)
		res := r.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range r.Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.BaseOffset = p.Partition, code, -1
				rt.Partitions = append(rt.Partitions, rp)
			}
			res.Topics = append(res.Topics, rt)
		}
		return res, nil, true
	})
	return &seen
}

// hangUpOnProduce makes the broker close the connection on the next produce request without
// handling it.
func hangUpOnProduce(cluster *kfake.Cluster) {
	cluster.ControlKey(produceKey, func(kmsg.Request) (kmsg.Response, error, bool) {
		return nil, errors.New("hang up"), true
	})
}

func TestRetriedBatchIsWrittenOnce(t *testing.T) {
	t.Parallel()
	// 3 unknown partition, 6 not leader, 7 timed out, 19 and 20 not enough replicas, 56 storage
	// error.
	for _, code := range []int16{3, 5, 6, 7, 19, 20, 56} {
		cluster, c := setup(t, 1)
		p := newProducer(t, c, 0, "tx")
		mustAppend(t, p, "a")
		seen := answerProduce(cluster, code)
		if base := mustAppend(t, p, "b"); base != 1 || seen.Load() != 1 {
			t.Errorf("code %d: base %d after %d faults", code, base, seen.Load())
		}
		hangUpOnProduce(cluster)
		mustAppend(t, p, "c")
		equal(t, readAll(t, c, 0), []string{"a", "b", "c"})
	}
}

// The answer is lost after the write: the batch is found in the log, with others' records around
// it.
func TestLostAnswerIsFoundInTheLog(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	p, other := newProducer(t, c, 0, "tx"), newProducer(t, c, 0, "")
	mustAppend(t, p, "a")
	mustAppend(t, other, "x")
	for _, v := range []string{"b", "c"} {
		// Written by a copy of the producer, which does not know of it: exactly what a lost answer
		// leaves.
		twin := *p.twin()
		mustAppend(t, &twin, v)
		mustAppend(t, other, "y")
		sent := true
		p.buf = twin.buf
		base, err := p.try(t.Context(), 1, &sent)
		if err != nil || base != twin.next-1 {
			t.Fatalf("try = %d, %v, want %d", base, err, twin.next-1)
		}
		p.sequence, p.next = twin.sequence, twin.next
	}
	equal(t, readAll(t, c, 0), []string{"a", "x", "b", "y", "c", "y"})
}

// twin is a second handle on the same identity and sequence.
func (p *Producer) twin() *Producer {
	return &Producer{c: p.c, topic: p.topic, partition: p.partition, id: p.id, epoch: p.epoch, sequence: p.sequence, next: p.next, life: p.life, end: p.end}
}

func TestDuplicateIsSuppressedByTheBroker(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	mustAppend(t, p, "a")
	twin := p.twin()
	first := mustAppend(t, p, "b")
	if again := mustAppend(t, twin, "b"); again != first {
		t.Errorf("the same batch at %d and %d", first, again)
	}
	equal(t, readAll(t, c, 0), []string{"a", "b"})
}

func TestSequenceErrorAsksTheLog(t *testing.T) {
	t.Parallel()
	for _, code := range []int16{45, 46, 59} {
		cluster, c := setup(t, 1)
		p := newProducer(t, c, 0, "tx")
		mustAppend(t, p, "a")
		twin := p.twin()
		mustAppend(t, twin, "b")
		answerProduce(cluster, code)
		if base := mustAppend(t, p, "b"); base != 1 {
			t.Errorf("code %d: found at %d", code, base)
		}
		answerProduce(cluster, code)
		if _, err := p.Append(t.Context(), messages("c")); !errors.Is(err, ErrSequence) {
			t.Errorf("code %d without the batch in the log: %v", code, err)
		}
		if _, err := p.Append(t.Context(), messages("d")); !errors.Is(err, ErrSequence) {
			t.Errorf("append after the loss: %v", err)
		}
		equal(t, readAll(t, c, 0), []string{"a", "b"})
	}
}

func TestRefusalLeavesTheProducerUsable(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	mustAppend(t, p, "a")
	answerProduce(cluster, 32) // timestamp not allowed
	if _, err := p.Append(t.Context(), messages("b")); err == nil || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("refused append: %v", err)
	}
	answerProduce(cluster, 10)
	if _, err := p.Append(t.Context(), messages("b")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("append refused for its size: %v", err)
	}
	if _, err := p.Append(t.Context(), []Message{{Value: make([]byte, 2<<20)}}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("append beyond MaxBatchBytes: %v", err)
	}
	mustAppend(t, p, "c")
	equal(t, readAll(t, c, 0), []string{"a", "c"})
}

func TestCancelledAppendHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	release := make(chan struct{})
	cluster.ControlKey(produceKey, func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.SleepControl(func() { <-release })
		return nil, nil, false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Append(ctx, messages("a"))
	close(release)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append with a context that ends: %v", err)
	}
	if _, err := p.Append(t.Context(), messages("b")); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("append after an unknown outcome: %v", err)
	}
	// A context that has ended before anything was sent spoils nothing.
	q := newProducer(t, c, 0, "tx")
	if _, err := q.Append(ctx, messages("c")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append with an ended context: %v", err)
	}
	mustAppend(t, q, "d")
}

func TestBatchesSplitAtTheLimit(t *testing.T) {
	t.Parallel()
	cluster := startBroker(t)
	c, err := Dial(t.Context(), Config{Brokers: cluster.ListenAddrs(), MaxBatchBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CreateTopics(t.Context(), TopicSpec{Name: "t", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	p := newProducer(t, c, 0, "")
	var largest int
	cluster.ControlKey(produceKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		largest = max(largest, len(req.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records))
		return nil, nil, false
	})
	var values []string
	for i := range 100 {
		values = append(values, string(make([]byte, i)))
	}
	offsets, err := p.AppendOffsets(t.Context(), messages(values...))
	if err != nil || len(offsets) != 100 || offsets[99] != 99 {
		t.Fatalf("AppendOffsets = %v, %v", offsets, err)
	}
	if largest > 1000 || largest < 800 {
		t.Errorf("largest batch: %d bytes", largest)
	}
	equal(t, readAll(t, c, 0), values)
}

func TestNewerProducerFencesTheOlder(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 2)
	old := newProducer(t, c, 0, "tx")
	mustAppend(t, old, "a")
	bystander := newProducer(t, c, 0, "other")
	mustAppend(t, bystander, "x")
	young := newProducer(t, c, 0, "tx")
	oldID, oldEpoch := old.Identity()
	id, epoch := young.Identity()
	if id != oldID || epoch != oldEpoch+1 {
		t.Errorf("identity (%d, %d) after (%d, %d)", id, epoch, oldID, oldEpoch)
	}
	mustAppend(t, young, "fence")
	for range 2 {
		if _, err := old.Append(t.Context(), messages("late")); !errors.Is(err, ErrFenced) {
			t.Errorf("append of the fenced producer: %v", err)
		}
	}
	mustAppend(t, young, "b")
	mustAppend(t, bystander, "y")
	equal(t, readAll(t, c, 0), []string{"a", "x", "fence", "b", "y"})
}

func TestFenceIsFoundAfterALostAnswer(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	old := newProducer(t, c, 0, "tx")
	mustAppend(t, old, "a")
	young := newProducer(t, c, 0, "tx")
	mustAppend(t, young, "fence")
	hangUpOnProduce(cluster)
	if _, err := old.Append(t.Context(), messages("late")); !errors.Is(err, ErrFenced) {
		t.Errorf("append of the fenced producer: %v", err)
	}
}

// A broker that comes back does not know yet what it leads: one answer that a topic does not exist,
// at the end of a call that has waited for it for longer than a topic may be missing, is no reason
// to take the topic for deleted.
func TestATopicIsNotGoneBecauseABrokerWasAway(t *testing.T) {
	t.Parallel()
	calls := map[string]func(t *testing.T, c *Client, p *Producer) error{
		"append": func(t *testing.T, _ *Client, p *Producer) error {
			_, err := p.Append(t.Context(), messages("b"))
			return err
		},
		"poll": func(t *testing.T, c *Client, _ *Producer) error {
			f := c.NewFetcher()
			defer f.Close()
			for {
				got, err := f.Poll(t.Context(), []Fetch{{Topic: "t", Partition: 0}}, 1, time.Second)
				if err != nil || len(got) > 0 {
					return errors.Join(err, got[0].Err)
				}
			}
		},
		"offsets": func(t *testing.T, c *Client, _ *Producer) error {
			_, err := c.Offsets(t.Context(), "t", 0)
			return err
		},
		"partitions": func(t *testing.T, c *Client, _ *Producer) error {
			_, err := c.Partitions(t.Context(), "t")
			return err
		},
		"settings": func(t *testing.T, c *Client, _ *Producer) error {
			_, err := c.TopicConfig(t.Context(), "t")
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, c := setup(t, 1)
			p := newProducer(t, c, 0, "")
			mustAppend(t, p, "a")
			away := topicGrace + 100*time.Millisecond
			if name == "append" || name == "poll" {
				away = unknownGrace + 100*time.Millisecond
			}
			told := unknownOnceAfter(cluster, time.Now().Add(away))
			if err := call(t, c, p); err != nil {
				t.Errorf("after %s without a broker: %v", away, err)
			}
			if !told.Load() {
				t.Error("the broker was never asked")
			}
		})
	}
}

// unknownOnceAfter makes the broker hang up on every request until the given instant, and then say
// once that the topic asked for does not exist. What it returns is set when it has said so.
func unknownOnceAfter(cluster *kfake.Cluster, until time.Time) *atomic.Bool {
	const unknown = 3
	told := new(atomic.Bool)
	cluster.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if time.Now().Before(until) {
			return nil, errors.New("hang up"), true
		}
		if told.Load() {
			return nil, nil, false
		}
		switch r := req.(type) {
		case *kmsg.MetadataRequest:
			if len(r.Topics) == 0 {
				return nil, nil, false
			}
			told.Store(true)
			res := r.ResponseKind().(*kmsg.MetadataResponse)
			at := kmsg.NewMetadataResponseTopic()
			at.Topic, at.ErrorCode = r.Topics[0].Topic, unknown
			res.Topics = append(res.Topics, at)
			return res, nil, true
		case *kmsg.DescribeConfigsRequest:
			told.Store(true)
			res := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
			of := kmsg.NewDescribeConfigsResponseResource()
			of.ResourceType, of.ResourceName, of.ErrorCode = r.Resources[0].ResourceType, r.Resources[0].ResourceName, unknown
			res.Resources = append(res.Resources, of)
			return res, nil, true
		}
		return nil, nil, false
	})
	return told
}
