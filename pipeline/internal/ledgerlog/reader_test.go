package ledgerlog

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// The error names the damaged record and a remedy.
func TestADamagedRecordOfTheLedgerIsNamed(t *testing.T) {
	t.Parallel()
	c := must.Have(kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{deploytest.Start(t).Addr()}}))
	defer c.Close()
	must.Succeed(t, c.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: "ledger", Partitions: 2}))
	snapshot := must.Have(schemas.EncodeSnapshot(schemas.Snapshot{Turn: 1,
		Accounts: []accounts.Entry{{ID: accounts.ID{1}, Account: accounts.Account{Spent: 1}}}}, 0, 1000))
	delta := must.Have(schemas.EncodeDelta(schemas.Delta{Turn: 2}, 64, 1000))
	d := &deployment.Deployment{}
	d.Config.Keys.UserHash = secret.New([32]byte{7})
	seal := schemas.NewLedgerSeal([32]byte{7}, 1)
	var messages []kafkalog.Message
	for _, r := range append(snapshot, delta...) {
		r.Value[len(r.Value)-1] ^= 1
		messages = append(messages, kafkalog.Message{Key: r.Key, Value: seal.Seal(r), Timestamp: kafkalog.Now()})
	}
	p := must.Have(c.NewProducer(t.Context(), "ledger", 1, ""))
	defer p.Close()
	must.Have(p.Append(t.Context(), messages))
	var ledger schemas.LedgerReader
	must.Have(ReadOn(c, nil, d, "ledger").Acquire(t.Context(), 1, 0, ledger.Add))
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
