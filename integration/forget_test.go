package integration

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/audit"
	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// After forget and the deletions that it asks for, no topic has the user's id, account or key. The
// user cannot spend again, even if a run comes between two killed attempts.
func TestRuleAForgottenUserIsNowhereAndSpendsNothing(t *testing.T) {
	t.Parallel()
	const user, secretPage = "user-to-forget", "/page-of-one-user"
	d := newDeployment(t, startBroker(t), "forget", 2, func(c *pipeline.Config) {
		c.Metrics = append(c.Metrics, publicMetric("hour", time.Minute))
	})
	message := func(second int, who, page string) kafkalog.Message {
		a := visit(who, page, time.Duration(second)*time.Second)
		return kafkalog.Message{Value: a.value, Timestamp: kafkalog.At(a.stamp)}
	}
	visits := func(from, to int) {
		for second := from; second < to; second++ {
			who := "user-to-keep-" + fmt.Sprint(second%7)
			d.produce(int32(second%2), []kafkalog.Message{message(second, who, "p00"),
				message(second, user, "p01"), message(second, user, secretPage)})
		}
	}
	visits(0, 20)
	d.produce(0, []kafkalog.Message{{Value: []byte(`{"broken":"` + user + `"`),
		Timestamp: kafkalog.At(base.UnixMilli())}})
	d.runTurns(2)
	if s := must.Have(pipeline.ReadStatement(t.Context(), d.compiled, []byte(user))); len(s.Accounts) != 1 {
		t.Fatalf("the user has spent nothing that could be forgotten: %+v", s)
	}
	id := d.owner(user, 0).ID
	for shard := range int32(d.config.Shards) {
		for _, r := range d.records(d.config.Outputs.Ledger, shard) {
			if bytes.Contains(r.Value, []byte("p0")) || bytes.Contains(r.Value, []byte(secretPage)) ||
				bytes.Contains(r.Value, id[:]) {
				t.Fatalf("shard %d: a ledger record shows a key or an account", shard)
			}
		}
	}
	forget := func(killed string) (*pipeline.Forgotten, error) {
		return pipeline.Forget(crashpoint.With(t.Context(), crashpoint.Hooks{At: dyingAt(killed)}), d.compiled,
			[]byte(user), pipeline.ForgetOptions{By: "Ada", Why: "request 12"})
	}
	for _, killed := range []string{crashpoint.EpochWritten, crashpoint.DeltaWriting, crashpoint.DeltaWritten} {
		if _, err := forget(killed); !errors.Is(err, errDied) {
			t.Fatalf("killed at %s: %v", killed, err)
		}
		d.run()
	}
	visits(20, 40)
	d.run()
	must.Have(forget(""))
	visits(40, 60)
	d.run()
	last := must.Have(forget(""))
	if !last.Again || last.Accounts != 0 {
		t.Errorf("the user had an account again: %+v", last)
	}
	for _, topic := range last.Topics {
		for p, before := range topic.Before {
			d.deleteRecords(topic.Topic, p, before)
		}
		if len(topic.Before) == 0 {
			t.Errorf("forget found nothing of the user on topic %s", topic.Topic)
		}
	}
	d.compactLedger()
	out := &d.compiled.Config.Outputs
	for topic, partitions := range map[string]int{d.config.Events.Topic: 2, out.Ledger: d.config.Shards,
		out.DeadLetter: 1, out.Control: 1, out.Counts: d.config.ReleaseShards, out.Turns: 1} {
		for p := range int32(partitions) {
			for _, r := range d.newest(topic, p) {
				bare := must.Have(schemas.NewLedgerSeal(d.config.Keys.UserHash.Reveal(), int(p)).OpenRecord(
					schemas.LedgerRecord{Key: r.Key, Value: r.Value}))
				parts := [][]byte{r.Key, r.Value, bare.Value}
				for _, h := range r.Headers {
					parts = append(parts, h.Value)
				}
				for _, b := range parts {
					if bytes.Contains(b, []byte(user)) || bytes.Contains(b, id[:]) ||
						bytes.Contains(b, []byte(secretPage)) {
						t.Errorf("topic %s, partition %d, offset %d shows the user", topic, p, r.Offset)
					}
				}
			}
		}
	}
	visits(60, 80)
	d.run()
	if s := must.Have(pipeline.ReadStatement(t.Context(), d.compiled, []byte(user))); len(s.Accounts) != 0 ||
		!s.Forgotten {
		t.Errorf("the user spends again, or is not named as forgotten: %+v", s)
	}
	must.Have(audit.Run(t.Context(), d.compiled, audit.Options{}))
}

// compactLedger waits until a real Kafka has compacted the ledger.
func (d *deployment) compactLedger() {
	if kind(d.t) == embeddedKind {
		return // newest does it
	}
	d.t.Helper()
	alterTopic(d.t, d.config.Kafka.Brokers[0], d.config.Outputs.Ledger, eager())
	await.That(d.t, patience, "compaction of the ledger", func() bool {
		for shard := range int32(d.config.Shards) {
			if d.holes(d.config.Outputs.Ledger, shard) > 0 {
				return true
			}
		}
		return false
	})
}

// newest reads a partition. Of the ledger, it returns the records that compaction leaves: the last
// one of each key, without tombstones.
func (d *deployment) newest(topic string, partition int32) []kafkalog.Record {
	d.t.Helper()
	records := d.records(topic, partition)
	if topic != d.config.Outputs.Ledger {
		return records
	}
	last := map[string]kafkalog.Record{}
	for _, r := range records {
		last[string(r.Key)] = r
	}
	records = records[:0]
	for _, r := range last {
		if r.Value != nil {
			records = append(records, r)
		}
	}
	return records
}
