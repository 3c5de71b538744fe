package ledgerlog

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// The error names the damaged record and a remedy.
func TestADamagedRecordOfTheLedgerIsNamed(t *testing.T) {
	t.Parallel()
	c, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{deploytest.Start(t).Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: "ledger", Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	snapshot, err := schemas.EncodeSnapshot(schemas.Snapshot{Turn: 1,
		Accounts: []accounts.Entry{{ID: accounts.ID{1}, Account: accounts.Account{Spent: 1}}}}, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	delta, err := schemas.EncodeDelta(schemas.Delta{Turn: 2}, 64, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var messages []kafkalog.Message
	for _, r := range append(snapshot, delta...) {
		r.Value[len(r.Value)-1] ^= 1
		messages = append(messages, kafkalog.Message{Key: r.Key, Value: r.Value, Timestamp: kafkalog.Now()})
	}
	p, err := c.NewProducer(t.Context(), "ledger", 1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Append(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
	var ledger schemas.LedgerReader
	if _, err := ReadOn(c, nil, "ledger").Acquire(t.Context(), 1, 0, ledger.Add); err != nil {
		t.Fatal(err)
	}
	_, _, ofSnapshot := ledger.NewestSnapshot(9)
	_, ofDelta := ledger.DeltasAfter(0)
	for want, err := range map[string]error{"topic ledger, partition 1, offset 0: ": ofSnapshot,
		"topic ledger, partition 1, offset 1: ": ofDelta} {
		if !errors.Is(err, schemas.ErrMalformed) || !strings.HasPrefix(err.Error(), want) ||
			!strings.Contains(err.Error(), "; it is damaged: restore the topic from a copy") {
			t.Errorf("got %v, want %s and a remedy", err, want)
		}
	}
}
