package kafkalog

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

const (
	addPartitionsKey = 24
	endTxnKey        = 26
)

func mustFence(t *testing.T, p *Producer) int64 {
	t.Helper()
	offset, err := p.Fence(t.Context())
	if err != nil {
		t.Fatalf("fencing: %v", err)
	}
	return offset
}

func TestAFenceEndsOlderProducersAndIsNoRecord(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	old := newProducer(t, c, 0, "tx")
	if offset := mustFence(t, old); offset != 0 {
		t.Errorf("the first fence stands at %d", offset)
	}
	mustAppend(t, old, "a")
	young := newProducer(t, c, 0, "tx")
	fence := mustFence(t, young)
	if fence != 2 {
		t.Errorf("the second fence stands at %d, want 2", fence)
	}
	if _, err := old.Append(t.Context(), messages("late")); !errors.Is(err, ErrFenced) {
		t.Errorf("append of the fenced producer: %v", err)
	}
	if base := mustAppend(t, young, "b"); base != fence+1 {
		t.Errorf("the first record stands at %d", base)
	}
	equal(t, readAll(t, c, 0), []string{"a", "b"})
}

// A commit is acknowledged before its marker is written, and the marker may be missing: until then
// an older producer may write. The fence waits for the marker, and commits again.
func TestAFenceWaitsForItsMarker(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	acknowledged := make(chan struct{})
	cluster.ControlKey(endTxnKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		close(acknowledged)
		return req.ResponseKind(), nil, true // claims success without doing anything
	})
	fenced := make(chan int64, 1)
	go func() {
		offset, err := p.Fence(t.Context())
		if err != nil {
			t.Error(err)
		}
		fenced <- offset
	}()
	<-acknowledged
	mustAppend(t, newProducer(t, c, 0, ""), "still before the fence")
	if offset := <-fenced; offset != 1 {
		t.Errorf("fenced at %d, want 1", offset)
	}
	mustAppend(t, p, "a")
}

// The marker of an older producer may appear after the younger one has asked for the end of the
// log: the younger one must not accept it as its own.
func TestAFenceIsNoOlderProducersMarker(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	mustFence(t, newProducer(t, c, 0, "tx"))
	young := newProducer(t, c, 0, "tx")
	young.next = 0
	if offset := mustFence(t, young); offset != 1 {
		t.Errorf("the younger one's fence stands at %d, want 1: at 0 stands the older one's", offset)
	}
}

func TestAFenceOfAnOlderProducerSaysSo(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	old := newProducer(t, c, 0, "tx")
	mustFence(t, newProducer(t, c, 0, "tx"))
	if _, err := old.Fence(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("the older producer's fence: %v", err)
	}
	// A newer producer committed between the commit and its marker, visible only in the log.
	cluster, c := setup(t, 1)
	old = newProducer(t, c, 0, "tx")
	taken := make(chan struct{})
	cluster.ControlKey(endTxnKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		defer close(taken)
		return req.ResponseKind(), nil, true
	})
	ended := make(chan error, 1)
	go func() {
		_, err := old.Fence(t.Context())
		ended <- err
	}()
	<-taken
	mustFence(t, newProducer(t, c, 0, "tx"))
	if err := <-ended; !errors.Is(err, ErrFenced) {
		t.Errorf("the fence of a producer that was overtaken: %v", err)
	}
}

// Responses are lost before and after their request was handled; the coordinator asks the client to
// retry.
func TestAFenceOutlivesFaults(t *testing.T) {
	t.Parallel()
	for _, key := range []int16{addPartitionsKey, endTxnKey} {
		cluster, c := setup(t, 1)
		p := newProducer(t, c, 0, "tx")
		cluster.ControlKey(key, func(kmsg.Request) (kmsg.Response, error, bool) {
			return nil, errors.New("hang up"), true
		})
		if offset := mustFence(t, p); offset != 0 {
			t.Errorf("request %d: fenced at %d", key, offset)
		}
		answerJoining(cluster, 51) // concurrent transactions
		mustFence(t, newProducer(t, c, 0, "tx"))
	}
	// The commit succeeded and its response was lost: a second commit changes nothing.
	_, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	must.Succeed(t, errors.Join(p.joinTransaction(t.Context()), p.commitTransaction(t.Context()),
		p.commitTransaction(t.Context())))
	if offset, found, err := p.marker(t.Context(), p.next); offset != 0 || !found || err != nil {
		t.Errorf("marker at %d, %t, %v", offset, found, err)
	}
}

// answerJoining makes the broker respond that a partition cannot join a transaction.
func answerJoining(cluster *kfake.Cluster, code int16) {
	cluster.ControlKey(addPartitionsKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		res := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
		res.Topics = []kmsg.AddPartitionsToTxnResponseTopic{
			{Topic: "t", Partitions: []kmsg.AddPartitionsToTxnResponseTopicPartition{{ErrorCode: code}}}}
		return res, nil, true
	})
}

func TestAFenceEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	ctx, cancel := context.WithCancel(t.Context())
	cluster.ControlKey(endTxnKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		time.AfterFunc(20*time.Millisecond, cancel)
		return req.ResponseKind(), nil, true
	})
	if _, err := p.Fence(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a fence without end: %v", err)
	}
}

// Appends do not reach the coordinator, which forgets who only appends: the next producer of the
// transactional id would get another producer id, and its marker would fence nothing.
func TestAnOldFenceIsRenewedBeforeAnAppend(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	mustFence(t, p)
	mustAppend(t, p, "a")
	var joined atomic.Int32
	cluster.ControlKey(addPartitionsKey, func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		joined.Add(1)
		return nil, nil, false
	})
	// The second one: the clock was set back.
	for _, renewed := range []time.Time{time.Now().Add(-renewAfter), time.Now().Add(time.Hour)} {
		p.fenced = renewed.Round(0)
		before := joined.Load()
		if offsets, err := p.AppendOffsets(t.Context(), nil); err != nil || len(offsets) != 0 ||
			joined.Load() != before+1 {
			t.Errorf("appending nothing: %v, %v, %d fences", offsets, err, joined.Load()-before)
		}
		mustAppend(t, p, "b")
		if joined.Load() != before+1 {
			t.Errorf("%d fences, want one", joined.Load()-before)
		}
	}
	equal(t, readAll(t, c, 0), []string{"a", "b", "b"})
}

// A producer that was silent until the coordinator forgot it does not write: another one may own
// the partition, under another producer id.
func TestAProducerThatTheCoordinatorHasForgottenDoesNotWrite(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	mustFence(t, p)
	mustAppend(t, p, "a")
	p.fenced = p.fenced.Add(-renewAfter)
	answerJoining(cluster, 49) // invalid producer id mapping
	for range 2 {
		if _, err := p.Append(t.Context(), messages("late")); !errors.Is(err, ErrFenced) {
			t.Errorf("append: %v", err)
		}
	}
	equal(t, readAll(t, c, 0), []string{"a"})
}

// Among the batches with its producer id, a Fence ends its search at the marker of its own commit.
// A newer epoch, or another producer's end of its transaction, means that it is fenced.
func TestWhatABatchSaysOfAFence(t *testing.T) {
	t.Parallel()
	p := &Producer{id: 7, epoch: 3}
	marker := func(kind byte) []byte {
		return appendBatch(nil, []Message{{Key: []byte{0, 0, 0, kind}, Value: make([]byte, 6)}}, 7, 0, 0, 1)
	}
	for name, tt := range map[string]struct {
		raw     []byte
		control bool
		epoch   int16
		mine    bool
		fenced  bool
	}{
		"its commit":              {marker(commitMarker), true, 3, true, false},
		"its abort":               {marker(abortMarker), true, 3, false, true},
		"its records":             {appendBatch(nil, messages("a"), 7, 0, 0, 1), false, 3, false, false},
		"an older one's commit":   {marker(commitMarker), true, 2, false, false},
		"an older one's abort":    {marker(abortMarker), true, 2, false, false},
		"a newer one's commit":    {marker(commitMarker), true, 4, false, true},
		"records of a newer one":  {appendBatch(nil, messages("a"), 7, 0, 0, 1), false, 4, false, true},
		"another kind of control": {marker(5), true, 3, false, false},
	} {
		b, _, ok := nextBatch(tt.raw)
		if b.ProducerEpoch = tt.epoch; tt.control {
			b.Attributes |= attrControl
		}
		mine, err := p.isMarker(&b)
		if !ok || mine != tt.mine || errors.Is(err, ErrFenced) != tt.fenced {
			t.Errorf("%s: %v, %v", name, mine, err)
		}
	}
}
