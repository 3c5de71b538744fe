package ledgerlog

import (
	"errors"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/state/accounts"
)

// Many deltas after it, and many parts of it, do not hide the version of a snapshot.
func TestRuleTheVersionOfAnOldSnapshotIsFound(t *testing.T) {
	t.Parallel()
	c, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{deploytest.Start(t).Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var entries []accounts.Entry
	for i := range byte(100) {
		entries = append(entries, accounts.Entry{ID: accounts.ID{i}, Account: accounts.Account{Spent: 1}})
	}
	for topic, later := range map[string]bool{"known": false, "later": true} {
		records, err := schemas.EncodeSnapshot(schemas.Snapshot{Turn: 1, Accounts: entries}, 0, 150)
		if err != nil || len(records) < 40 {
			t.Fatal(len(records), err)
		}
		if first, err := schemas.DecodeLedgerPart(records[0].Key, records[0].Value); err != nil {
			t.Fatal(err)
		} else if later {
			first.Chunk[3]++
		}
		for turn := uint64(2); turn < 32; turn++ {
			delta, err := schemas.EncodeDelta(schemas.Delta{Turn: turn}, 64, 1000)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, delta...)
		}
		if err := c.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: topic, Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		var messages []kafkalog.Message
		for _, r := range records {
			messages = append(messages, kafkalog.Message{Key: r.Key, Value: r.Value, Timestamp: kafkalog.Now()})
		}
		p, err := c.NewProducer(t.Context(), topic, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Append(t.Context(), messages); err != nil {
			t.Fatal(err)
		}
		p.Close()
		if err := CheckVersions(t.Context(), c, topic, 1); errors.Is(err, schemas.ErrVersion) != later || err != nil && !later {
			t.Errorf("%s: %v", topic, err)
		}
	}
}
