package integration

import (
	"errors"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// A broker forgets the transactional id of a producer that only appends. The next producer then
// gets another producer id, and its marker fences nothing. Renewing the fence keeps the id, so that
// the next producer is the newer one.
func TestRuleARunThatWritesForLongIsStillFenced(t *testing.T) {
	needReal(t)
	broker := startKafka(t, realkafka.Options{Settings: map[string]string{
		"transactional.id.expiration.ms": "2000", "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
	}})
	client := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{broker.Addr()}, Logger: quiet()}))
	t.Cleanup(client.Close)
	createTopic(t, broker.Addr(), "long", 1, 1, nil)
	old := must.Have(client.NewProducer(t.Context(), "long", 0, "long/counts-0"))
	last := int64(-1)
	for began := time.Now(); time.Since(began) < 6*time.Second; time.Sleep(200 * time.Millisecond) {
		must.Have(old.Fence(t.Context())) // as appends do every hour
		offset := must.Have(old.Append(t.Context(), []kafkalog.Message{{Value: []byte{0, 0}}}))
		if offset <= last {
			t.Fatalf("appended at %d after %d", offset, last)
		}
		last = offset
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
		t.Errorf("the older producer appended after the fence: %v", err)
	}
}
