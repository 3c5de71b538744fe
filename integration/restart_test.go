package integration

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// deleteRecords removes all records of a partition below an offset, as retention does.
func (d *deployment) deleteRecords(topic string, partition int32, before int64) {
	d.t.Helper()
	deploytest.DeleteRecords(d.t, d.config.Kafka.Brokers[0], topic, partition, before)
}

// openTurn returns the first turn that is not settled, with its restart offsets.
func (d *deployment) openTurn() (uint64, map[int32]int64) {
	d.t.Helper()
	tr := must.Have(d.readTrusted())
	restart := map[int32]int64{}
	for _, cut := range tr.Closes[tr.Last+1].Cuts {
		restart[cut.Partition] = cut.Restart
	}
	return tr.Last + 1, restart
}

// If all deltas of the interrupted turn are durable, it is redone from the ledger, without its
// events.
func TestRuleAnInterruptedTurnIsRedoneFromTheLedger(t *testing.T) {
	t.Parallel()
	broker := startBrokerProcess(t)
	points := []string{crashpoint.CountsWriting, crashpoint.CountsWritten, crashpoint.DeltaWritten,
		crashpoint.SettledWriting}
	for _, point := range points[:pick(2, 4)] {
		t.Run(point, func(t *testing.T) {
			d := newDeployment(t, broker, "deleted-"+point, 2, tight)
			d.load(scatter(calm(30).arrivals(), 2, 1))
			j := d.job()
			j.CrashAt, j.CrashTurn = point, 2
			if point == crashpoint.DeltaWritten {
				j.Skip = d.config.Shards - 1
			}
			d.crashed(j)
			tr := must.Have(d.readTrusted())
			open := tr.Closes[tr.Last+1]
			if !d.completeTurn(open.Turn) {
				t.Fatalf("turn %d is not complete on the ledger", open.Turn)
			}
			for _, cut := range open.Cuts {
				d.deleteRecords(d.config.Events.Topic, cut.Partition, cut.Restart)
			}
			d.finish()
			d.eventsGone = true
			d.verify()
		})
	}
}

// The last turn was interrupted and is redone from the ledger: its events are not read again, but a
// run until the end of the topic settles it first.
func TestRuleARunUntilTheEndSettlesAnInterruptedLastTurn(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, startBrokerProcess(t), "last-turn", 1, tight, func(c *pipeline.Config) {
		c.Time.IdleGrace = time.Second
	})
	d.load([][]arrival{{visit("u1", "p00", time.Second), visit("u2", "p00", 2*time.Second)}})
	untilEnd := func(o *runOptions) { o.Bounded, o.UntilEnd = false, true }
	if _, err := d.tryRun(untilEnd, diesAt(crashpoint.SettledWriting)); !errors.Is(err, errDied) {
		t.Fatalf("the first run: %v", err)
	}
	if !d.completeTurn(1) {
		t.Fatal("turn 1 is not complete on the ledger")
	}
	if result := d.run(untilEnd); result.Settled != 1 || result.OpenTurns != 0 {
		t.Errorf("%+v", result)
	}
	d.verify()
}

// A delta of the open turn and its events are missing: the run must stop with an error instead of
// counting the rest.
func TestRuleMissingEventsOfAnOpenTurnStopTheRun(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, startBrokerProcess(t), "missing", 1, tight)
	d.load(scatter(calm(31).arrivals(), 1, 1))
	j := d.job()
	j.CrashAt, j.CrashTurn = crashpoint.DeltaWriting, 5
	d.crashed(j)
	turn, restart := d.openTurn()
	if d.completeTurn(turn) {
		t.Fatalf("turn %d is complete on the ledger", turn)
	}
	d.deleteRecords(d.config.Events.Topic, 0, restart[0])
	if end := startRunner(t, d.job()).last(t); end == nil || end.Kind != "log-fault" || !strings.Contains(end.Error,
		"records that a turn needs are gone") {
		t.Fatalf("the run ended with %s, want a fault of the log", end)
	}
	must.Succeed(t, d.chargeable())
}

// The broker is killed in the middle of turns and restarts with the records that it had on disk.
func TestRuleTheRunSurvivesItsBroker(t *testing.T) {
	t.Parallel()
	broker := startOwnBroker(t)
	d := newDeployment(t, broker.Addr(), "broker", 2, tight)
	d.load(scatter(calm(38).arrivals(), 2, 1))
	j := d.job()
	j.Delays = map[string]time.Duration{crashpoint.DeltaWriting: 20 * time.Millisecond}
	c := startRunner(t, j)
	for turn := uint64(2); turn <= uint64(pick(2, 8)); turn += 3 {
		c.settled(t, turn)
		broker.Kill()
		must.Succeed(t, broker.Restart(t.Context()))
	}
	c.succeeds(t, patience)
	d.client = attach(t, d.config).client
	d.verify()
}

// After an engine's restore, READ gets an old restriction, and the elements that were buffered at
// that time arrive again. Writes of the turn under way are delayed, so that the new epoch overtakes
// them.
func TestRuleAnEngineRestoreIsARestart(t *testing.T) {
	broker := startBroker(t)
	// The first point: if all deltas were there, the turn would be redone without these elements.
	slow := []string{crashpoint.DeltaWriting, crashpoint.CountsWriting, "", crashpoint.FenceWriting,
		crashpoint.SettledWriting, ""}
	for i := range pick(2, 6) {
		d := newDeployment(t, broker, fmt.Sprintf("restore%d", i), 2, tight)
		d.load(scatter(calm(uint64(32+i)).arrivals(), 2, 1))
		restores := 0
		d.run(func(o *runOptions) {
			o.Hooks.At = func(point string, _ int) error {
				if point == slow[i] {
					time.Sleep(30 * time.Millisecond) // a slow write
				}
				return nil
			}
			o.Hooks.Restore = func(step int) bool {
				again := step > 2 && step%(2+i%3) == 0 // a turn takes one step at least
				if again {
					restores++
				}
				return again
			}
		})
		if restores < 2 {
			t.Errorf("%d restores were simulated", restores)
		}
		d.verify()
	}
}

// The clock closes the windows of an idle partition. Records that arrive after the CLOSE are
// overtaken: they are counted as such and change nothing else.
func TestRuleRecordsAfterAnIdleCloseAreOvertaken(t *testing.T) {
	d := newDeployment(t, startBroker(t), "idle", 2, func(c *pipeline.Config) { c.Time.IdleGrace = time.Second })
	d.clocked = true
	d.append(0, append(calm(33).arrivals(), closer()))
	d.run(untilTurn(6))
	d.append(1, calm(34).arrivals())
	d.run()
	d.verify()
	if d.report().Overtaken == 0 {
		t.Error("no record was overtaken")
	}
}

// A backlog has many tiny turns, in records so large that a fetch has only a part of them. Wherever
// the fetches of the next run end, it reads every closed turn to its cut.
func TestRuleABacklogOfLargeRecordsIsReadInPieces(t *testing.T) {
	t.Parallel()
	windows, pad := pick(45, 200), strings.Repeat("x", 30_000)
	d := newDeployment(t, startBrokerProcess(t), "backlog", 3, only(publicMetric("visits", time.Second)),
		func(c *pipeline.Config) {
			c.Time.Lateness = 500 * time.Millisecond
		})
	var arrivals []arrival
	for i := range windows * 3 {
		a := visit(fmt.Sprintf("u%d", i%50), "p00", time.Duration(i)*333*time.Millisecond)
		a.value = []byte(strings.Replace(string(a.value), "{", fmt.Sprintf(`{"pad":%q,`, pad), 1))
		arrivals = append(arrivals, a)
	}
	d.load(scatter(arrivals, 3, 1))
	for turn := uint64(3); turn < uint64(windows); turn += uint64(windows) / 4 {
		j := d.job()
		j.CrashAt, j.CrashTurn = crashpoint.SettledWritten, turn
		d.crashed(j)
	}
	d.finish()
	d.verify()
}

// Some shards have written their deltas of the interrupted turn, but the events have changed before
// they are read again: the run stops permanently. (If brokers have ids of topics, the start
// refuses.)
func TestRuleAChangedLogStopsTheRun(t *testing.T) {
	t.Parallel()
	old := must.Have(kfake.NewCluster(kfake.NumBrokers(1), kfake.MaxVersions(kversion.V2_7_0()),
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1"})))
	t.Cleanup(old.Close)
	d := newDeployment(t, old.ListenAddrs()[0], "changed", 2, tight, sharded(16, 1))
	w := calm(503)
	w.Events = 600 // enough for every shard in every turn
	d.load(scatter(w.arrivals(), 2, 7))
	before := d.eventLog()
	d.crashAt(crashpoint.SettledWritten, 3, 0)
	j := d.job()
	j.CrashAt, j.Skip, j.Delays = crashpoint.DeltaWritten, 2, map[string]time.Duration{}
	for shard := 3; shard < d.config.Shards; shard++ {
		j.Delays[inShard(crashpoint.DeltaWriting, shard)] = time.Hour // never sent to the broker
	}
	d.crashed(j)
	d.replaceEvents(changedLog(d, before))
	if end := startRunner(t, d.job()).last(t); end == nil || end.Error == "" {
		t.Fatalf("over a changed log, the run ended with: %s", end)
	}
	must.Succeed(t, d.chargeable())
	if end := startRunner(t, d.job()).last(t); end == nil || end.Kind != "stopped" {
		t.Fatalf("after a STOP, the next run ended with: %s", end)
	}
}

// changedLog moves every event of the open turn to another page.
func changedLog(d *deployment, log events) events {
	turn, _ := d.openTurn()
	ends := d.referenceConfig().TurnEnds(turn)
	changed := events{}
	for p, records := range log {
		for _, r := range records {
			if r.Timestamp >= ends[turn-1]-10_000 {
				r.Value = bytes.ReplaceAll(bytes.Clone(r.Value), []byte(`"p0`), []byte(`"q0`))
			}
			changed[p] = append(changed[p], r)
		}
	}
	return changed
}

// replaceEvents deletes the events topic and creates it again with other records.
func (d *deployment) replaceEvents(log events) {
	d.t.Helper()
	deploytest.DeleteTopic(d.t, d.config.Kafka.Brokers[0], d.config.Events.Topic)
	must.Succeed(d.t, d.client.CreateTopics(d.t.Context(), kafkalog.TopicSpec{Name: d.config.Events.Topic,
		Partitions: d.partitions, Replication: 1, Config: map[string]string{"retention.ms": "-1"}}))
	for p, records := range log {
		var arrivals []arrival
		for _, r := range records {
			arrivals = append(arrivals, arrival{stamp: r.Timestamp, value: r.Value})
		}
		d.append(p, arrivals)
	}
}
