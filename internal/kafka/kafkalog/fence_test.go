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

const (
	addPartitionsKey = 24
	endTxnKey        = 26
)

func mustFence(t *testing.T, p *Producer) int64 {
	t.Helper()
	at, err := p.Fence(t.Context())
	if err != nil {
		t.Fatalf("fencing: %v", err)
	}
	return at
}

func TestAFenceEndsOlderProducersAndIsNoRecord(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	old := newProducer(t, c, 0, "tx")
	if at := mustFence(t, old); at != 0 {
		t.Errorf("the first fence stands at %d", at)
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
	// Who read to the fence has read everything that older producers have written.
	var before []string
	err := c.ReadRange(t.Context(), "t", 0, 0, fence+1, func(r Record) error {
		before = append(before, string(r.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, before, []string{"a"})
}

// A commit is acknowledged before its marker stands. The producer that took the partition waits for
// the marker: until then an older producer may write.
func TestAFenceWaitsForItsMarker(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	acknowledged := make(chan struct{})
	cluster.ControlKey(endTxnKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		close(acknowledged)
		return req.ResponseKind(), nil, true // done, it says, and is not
	})
	type end struct {
		at  int64
		err error
	}
	fenced := make(chan end, 1)
	go func() {
		at, err := p.Fence(t.Context())
		fenced <- end{at, err}
	}()
	<-acknowledged
	other := newProducer(t, c, 0, "")
	mustAppend(t, other, "still before the fence")
	select {
	case got := <-fenced:
		t.Fatalf("fenced at %d (%v) without a marker", got.at, got.err)
	case <-time.After(100 * time.Millisecond): // it could be too early only
	}
	late := p.twin()
	late.txn = p.txn
	if err := late.commitTransaction(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-fenced; got.err != nil || got.at != 1 {
		t.Errorf("fenced at %d (%v), want 1", got.at, got.err)
	}
}

// The marker of an older producer may come after the younger one has asked for the end of the log:
// it is not the marker that the younger one waits for.
func TestAFenceIsNoOlderProducersMarker(t *testing.T) {
	t.Parallel()
	_, c := setup(t, 1)
	mustFence(t, newProducer(t, c, 0, "tx"))
	young := newProducer(t, c, 0, "tx")
	young.next = 0
	if at := mustFence(t, young); at != 1 {
		t.Errorf("the younger one's fence stands at %d, want 1: at 0 stands the older one's", at)
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
	// The newer one came between the commit and its marker: seen in the log only.
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

// Answers are lost before and after what they answer was done; the coordinator asks to come back.
func TestAFenceOutlivesFaults(t *testing.T) {
	t.Parallel()
	for _, key := range []int16{addPartitionsKey, endTxnKey} {
		cluster, c := setup(t, 1)
		p := newProducer(t, c, 0, "tx")
		cluster.ControlKey(key, func(kmsg.Request) (kmsg.Response, error, bool) {
			return nil, errors.New("hang up"), true
		})
		if at := mustFence(t, p); at != 0 {
			t.Errorf("request %d: fenced at %d", key, at)
		}
		p = newProducer(t, c, 0, "tx")
		var seen atomic.Int32
		answerTransaction(cluster, key, 51, &seen) // concurrent transactions
		mustFence(t, p)
		if seen.Load() != 1 {
			t.Errorf("request %d: %d faults", key, seen.Load())
		}
	}
	// It was committed, and no answer came: a second commit changes nothing.
	_, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	if err := errors.Join(p.joinTransaction(t.Context()), p.commitTransaction(t.Context()), p.commitTransaction(t.Context())); err != nil {
		t.Fatal(err)
	}
	if at, found, err := p.marker(t.Context(), p.next); at != 0 || !found || err != nil {
		t.Errorf("marker at %d, %t, %v", at, found, err)
	}
}

// answerTransaction makes the broker answer one request of a transaction with a code.
func answerTransaction(cluster *kfake.Cluster, key, code int16, seen *atomic.Int32) {
	cluster.ControlKey(key, func(req kmsg.Request) (kmsg.Response, error, bool) {
		seen.Add(1)
		switch r := req.(type) {
		case *kmsg.EndTxnRequest:
			res := r.ResponseKind().(*kmsg.EndTxnResponse)
			res.ErrorCode = code
			return res, nil, true
		case *kmsg.AddPartitionsToTxnRequest:
			res := r.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
			answered := kmsg.NewAddPartitionsToTxnResponseTopic()
			answered.Topic = r.Topics[0].Topic
			at := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
			at.Partition, at.ErrorCode = r.Topics[0].Partitions[0], code
			answered.Partitions = append(answered.Partitions, at)
			res.Topics = append(res.Topics, answered)
			return res, nil, true
		}
		return nil, nil, false
	})
}

// A commit that is acknowledged without a marker ever coming: the fence would wait for ever, and
// the run with it.
func TestAFenceWhoseMarkerIsLeftOutCommitsAgain(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	var commits atomic.Int32
	cluster.ControlKey(endTxnKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		commits.Add(1)
		return req.ResponseKind(), nil, true
	})
	if at := mustFence(t, p); at != 0 {
		t.Errorf("fenced at %d", at)
	}
	if commits.Load() != 1 {
		t.Errorf("%d commits were acknowledged without a marker", commits.Load())
	}
	mustAppend(t, p, "a")
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
	for _, at := range []time.Time{time.Now().Add(-renewAfter), time.Now().Add(time.Hour)} { // the clock was set back
		p.fenced = at.Round(0)
		before := joined.Load()
		if offsets, err := p.AppendOffsets(t.Context(), nil); err != nil || len(offsets) != 0 || joined.Load() != before+1 {
			t.Errorf("appending nothing: %v, %v, %d fences", offsets, err, joined.Load()-before)
		}
		mustAppend(t, p, "b")
		if joined.Load() != before+1 {
			t.Errorf("%d fences, want one", joined.Load()-before)
		}
	}
	equal(t, readAll(t, c, 0), []string{"a", "b", "b"})
}

// A producer that was silent until the coordinator knew it no more does not write: another one may
// have the partition, under another producer id.
func TestAProducerThatTheCoordinatorHasForgottenDoesNotWrite(t *testing.T) {
	t.Parallel()
	cluster, c := setup(t, 1)
	p := newProducer(t, c, 0, "tx")
	mustFence(t, p)
	mustAppend(t, p, "a")
	p.fenced = p.fenced.Add(-renewAfter)
	var seen atomic.Int32
	answerTransaction(cluster, addPartitionsKey, 49, &seen) // invalid producer id mapping
	for range 2 {
		if _, err := p.Append(t.Context(), messages("late")); !errors.Is(err, ErrFenced) {
			t.Errorf("append: %v", err)
		}
	}
	equal(t, readAll(t, c, 0), []string{"a"})
}

// Of the batches with its producer id, the marker of its own commit ends the search of a Fence, and
// a newer epoch or the end of its transaction by another one says that it is fenced.
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
