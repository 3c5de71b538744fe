package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

const produceKey = 0

// answerProduce makes the broker respond to the next produce request with code instead of handling
// it.
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

// The response is lost after the write: the batch is found in the log, with others' records around
// it.
func TestLostAnswerIsFoundInTheLog(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	p, other := newProducer(t, c, 0, "tx"), newProducer(t, c, 0, "")
	mustAppend(t, p, "a")
	mustAppend(t, other, "x")
	for _, v := range []string{"b", "c"} {
		// A copy of the producer writes, unknown to the original: the same state as after a lost
		// response.
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
	return &Producer{c: p.c, topic: p.topic, partition: p.partition, id: p.id, epoch: p.epoch, sequence: p.sequence,
		next: p.next, life: p.life, end: p.end}
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

// A new topic of the same name takes records and fences of a producer that it does not know.
func TestALogThatHasLostTheProducersRecordsEndsIt(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	var producers []*Producer
	for _, txn := range []string{"appends", "fences"} {
		p := newProducer(t, c, 0, txn)
		mustFence(t, p)
		mustAppend(t, p, "a", "b")
		producers = append(producers, p)
	}
	must.Succeed(t, errors.Join(cluster.DeleteTopic("t"), cluster.CreateTopic("t", 1, nil)))
	ctx, cancel := context.WithTimeout(t.Context(), 3*markerPatience)
	defer cancel()
	if _, err := producers[1].Fence(ctx); !errors.Is(err, ErrSequence) {
		t.Errorf("fence: %v", err)
	}
	for range 2 {
		if _, err := producers[0].Append(t.Context(), messages("c")); !errors.Is(err, ErrSequence) {
			t.Errorf("append: %v", err)
		}
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
	const limit = 1000
	cluster, c := setup(t, 1)
	c.cfg.MaxBatchBytes = limit
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
	if err != nil || len(offsets) != 100 || offsets[99] != 99 || largest > limit || largest < 700 {
		t.Fatalf("AppendOffsets = %v, %v, largest batch: %d bytes", offsets, err, largest)
	}
	equal(t, readAll(t, c, 0), values)
}

// A broker that restarts does not know its partitions yet: one response that a topic does not exist
// does not mean that it was deleted.
func TestATopicIsGoneAfterAWhileOnly(t *testing.T) {
	t.Parallel()
	unknown := fmt.Errorf("topic: %w", kafka.UnknownTopicOrPartition)
	const grace = time.Minute
	var a absence
	if a.lasts(unknown, grace) || a.lasts(errors.New("no broker"), grace) || !a.since.IsZero() {
		t.Error("gone at once")
	}
	if a.lasts(unknown, grace) {
		t.Error("gone at once")
	}
	a.since = a.since.Add(-2 * grace)
	if !a.lasts(unknown, grace) || a.lasts(io.EOF, grace) || a.lasts(unknown, grace) {
		t.Error("not gone after the grace, or not there again after another answer")
	}
}
