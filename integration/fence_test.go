package integration

import (
	"errors"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

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
	old := must.Have(client.NewProducer(t.Context(), "long", 0, "long/counts-0"))
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
	young := must.Have(client.NewProducer(t.Context(), "long", 0, "long/counts-0"))
	oldID, oldEpoch := old.Identity()
	if id, epoch := young.Identity(); id != oldID || epoch <= oldEpoch {
		t.Errorf("the next producer is (%d, %d) after (%d, %d): the broker has forgotten the transactional id", id,
			epoch, oldID, oldEpoch)
	}
	must.Have(young.Fence(t.Context()))
	if _, err := old.Append(t.Context(), []kafkalog.Message{{Value: []byte{0, 0}}}); !errors.Is(err,
		kafkalog.ErrFenced) {
		t.Errorf("the one before appended after the fence: %v", err)
	}
}

func dialled(t *testing.T, broker string) *kafkalog.Client {
	t.Helper()
	client := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{broker}, Logger: quiet()}))
	t.Cleanup(client.Close)
	return client
}
