package integration

import (
	"errors"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas"
)

// A new ledger that holds another deployment's records gives its accounts to no user.
func TestRuleAChangeTakesNoForeignLedger(t *testing.T) {
	broker := startBroker(t)
	foreign := newMixed(t, broker, "strangers", 1)
	foreign.load(scatter(shoppers(5).arrivals(), 1, 5))
	foreign.runTurns(3)
	d := newDeployment(t, broker, "moving", 1)
	moved := func(ledger string) settings {
		return func(c *pipeline.Config) { c.Shards, c.Outputs.Ledger = foreign.config.Shards, ledger }
	}
	// One that another deployment keeps in snapshots alone.
	kept := func(name string, turn uint64) string {
		if err := d.client.CreateTopics(t.Context(), kafkalog.TopicSpec{Name: name, Partitions: foreign.config.Shards, Replication: 1,
			Config: map[string]string{"cleanup.policy": "compact"}}); err != nil {
			t.Fatal(err)
		}
		producer, err := d.client.NewProducer(t.Context(), name, 1, "")
		if err != nil {
			t.Fatal(err)
		}
		defer producer.Close()
		records, err := schemas.EncodeSnapshot(schemas.Snapshot{Turn: turn, Epoch: 1}, 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := producer.Append(t.Context(), []kafkalog.Message{{Key: records[0].Key, Value: records[0].Value, Timestamp: kafkalog.Now()}}); err != nil {
			t.Fatal(err)
		}
		return name
	}
	refused := func(when, ledger string, dryRuns ...bool) {
		t.Helper()
		for _, dry := range append(dryRuns, false) {
			next := d.config
			moved(ledger)(&next)
			compiled, err := pipeline.Compile(next)
			if err != nil {
				t.Fatal(err)
			}
			_, err = pipeline.Change(t.Context(), compiled, pipeline.ChangeOptions{DryRun: dry})
			if foreign := (*pipeline.TopicError)(nil); !errors.As(err, &foreign) || foreign.Topic != ledger {
				t.Errorf("%s, a change to ledger %s (dry run: %v) ended with: %v", when, ledger, dry, err)
			}
		}
	}
	later := kept("moving-later", 1000)
	refused("before any turn", foreign.config.Outputs.Ledger, true)
	refused("before any turn", later, true)
	d.load(spread(calm(3).arrivals(), 1))
	for _, turns := range []int{2, 3} { // the foreign ledger has 3: some of them are not settled here, then all are
		d.runTurns(turns)
		refused("after some turns", foreign.config.Outputs.Ledger, true)
		refused("after some turns", later, true)
		// A dry run takes no shard: to it, an interrupted change may have left these accounts.
		refused("after some turns", kept(numbered("moving-as-late", turns), settledOf(d)))
	}
	d.verify()
	d.change(moved("moving-own"))
	d.run()
	d.verify()
}

// settledOf returns the last settled turn.
func settledOf(d *deployment) uint64 {
	d.t.Helper()
	tr, err := d.readTrusted()
	if err != nil {
		d.t.Fatal(err)
	}
	return tr.last
}
