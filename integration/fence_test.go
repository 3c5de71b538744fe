package integration

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// taking is what one taker of a partition has seen.
type taking struct {
	name  uint16
	fence int64
	acked []int64 // offsets of its records
}

// What a fence promises, on the broker at hand, where no taker asks first who is the newest: many
// take one partition at once, write as fast as they can, and stop when the broker tells them to.
// Between a fence and the next newer one stands nothing from anybody else, everything that an older
// one was told is written stands before it, and no reader of the log sees a fence.
func TestRuleNothingOfAnOlderWriterStandsAfterAFence(t *testing.T) {
	const takers = 40
	topic := fmt.Sprintf("fences-%d", time.Now().UnixNano())
	broker := startBroker(t)
	client := dialled(t, broker)
	createTopic(t, broker, topic, 1, nil)
	var takings []taking
	var mu sync.Mutex
	var running sync.WaitGroup
	random := rand.New(runseed.PCG(t, 11, 3))
	for n := range takers {
		wait := time.Duration(random.IntN(40)) * time.Millisecond
		running.Go(func() {
			time.Sleep(wait) // takers come at their own times: that is what is tested
			if got, ok := take(t, client, topic, uint16(n)); ok {
				mu.Lock()
				defer mu.Unlock()
				takings = append(takings, got)
			}
		})
		if n%8 == 7 { // some come at once, some one after the other
			running.Wait()
		}
	}
	running.Wait()
	if len(takings) < 5 {
		t.Fatalf("%d of %d takers got the partition", len(takings), takers)
	}
	checkFences(t, client, topic, takings)
}

// take takes the partition and writes until it is fenced; ok is false where it never had it.
func take(t *testing.T, client *kafkalog.Client, topic string, name uint16) (got taking, ok bool) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := client.NewProducer(ctx, topic, 0, topic)
	if err != nil {
		t.Errorf("taking a producer id: %v", err)
		return got, false
	}
	defer p.Close()
	got.name = name
	got.fence, err = p.Fence(ctx)
	if errors.Is(err, kafkalog.ErrFenced) {
		return got, false
	}
	if err != nil {
		t.Errorf("fencing: %v", err)
		return got, false
	}
	value := binary.BigEndian.AppendUint16(nil, name)
	for range 50 {
		offset, err := p.Append(ctx, []kafkalog.Message{{Value: value}})
		if errors.Is(err, kafkalog.ErrFenced) {
			break
		}
		if err != nil {
			t.Errorf("appending: %v", err)
			break
		}
		got.acked = append(got.acked, offset)
	}
	return got, true
}

func checkFences(t *testing.T, client *kafkalog.Client, topic string, takings []taking) {
	t.Helper()
	bounds, err := client.Offsets(t.Context(), topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	written := map[int64]uint16{} // the writer by offset
	err = client.ReadRange(t.Context(), topic, 0, 0, bounds.LastStable, func(r kafkalog.Record) error {
		if len(r.Value) != 2 {
			return fmt.Errorf("offset %d: a record that nobody wrote", r.Offset)
		}
		written[r.Offset] = binary.BigEndian.Uint16(r.Value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	fences := map[uint16]int64{} // by writer, whatever the broker calls it
	for _, a := range takings {
		fences[a.name] = a.fence
	}
	for _, a := range takings {
		if _, there := written[a.fence]; there {
			t.Errorf("a record stands at offset %d of a fence", a.fence)
		}
		for _, at := range a.acked {
			if written[at] != a.name {
				t.Errorf("taker %d was told that offset %d is its own, and %d wrote it", a.name, at, written[at])
			}
		}
		for at, name := range written {
			if at > a.fence && fences[name] < a.fence {
				t.Errorf("offset %d of taker %d, whose fence is %d, stands after the fence %d of taker %d", at, name, fences[name], a.fence, a.name)
			}
		}
	}
}

// The transactional id of a producer that only appends is forgotten by the broker, and then the
// next producer gets another producer id, whose marker fences nothing. A fence that is renewed
// keeps the id: the records go on where they were, and the next taker is the newer one.
func TestRuleARunThatWritesForLongIsStillFenced(t *testing.T) {
	needReal(t)
	broker, err := realkafka.Start(t.Context(), realkafka.Options{Settings: map[string]string{
		"transactional.id.expiration.ms": "2000", "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
	}})
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() { _ = broker.Close() })
	client := dialled(t, broker.Addr())
	createTopic(t, broker.Addr(), "long", 1, nil)
	old, err := client.NewProducer(t.Context(), "long", 0, "long/counts-0")
	if err != nil {
		t.Fatal(err)
	}
	last := int64(-1)
	for began := time.Now(); time.Since(began) < 6*time.Second; time.Sleep(200 * time.Millisecond) {
		if _, err := old.Fence(t.Context()); err != nil { // what appends do every hour
			t.Fatalf("renewing the fence: %v", err)
		}
		at, err := old.Append(t.Context(), []kafkalog.Message{{Value: []byte{0, 0}}})
		if err != nil || at <= last {
			t.Fatalf("appended at %d after %d: %v", at, last, err)
		}
		last = at
	}
	young, err := client.NewProducer(t.Context(), "long", 0, "long/counts-0")
	if err != nil {
		t.Fatal(err)
	}
	oldID, oldEpoch := old.Identity()
	if id, epoch := young.Identity(); id != oldID || epoch <= oldEpoch {
		t.Errorf("the next producer is (%d, %d) after (%d, %d): the broker has forgotten the transactional id", id, epoch, oldID, oldEpoch)
	}
	if _, err := young.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Append(t.Context(), []kafkalog.Message{{Value: []byte{0, 0}}}); !errors.Is(err, kafkalog.ErrFenced) {
		t.Errorf("the one before appended after the fence: %v", err)
	}
}

func dialled(t *testing.T, broker string) *kafkalog.Client {
	t.Helper()
	client, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{broker}, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}
