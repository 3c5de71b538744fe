package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// Partitions that are waited for, and what comes too late because they are not. Texts of that come
// after half a minute, and here sooner.
const (
	soon          = 2 * time.Second
	twoPartitions = "init --config $C --generate-keys --create-topics --event-partitions 2 --start 2025-03-01"
	fourthIsOver  = "2025-03-04T00:00:00Z" // in what a run prints
)

var waitingRemedies = []remedy{
	{texts: []string{"set it above the longest pause", "; exact tallies: --trusted-report"}, walk: func(w *walk) {
		const late = 100
		w.configured("size: 1d", "size: 10s", "idle_grace: 1s", "lateness: 1s, skew: 1s, idle_grace: 1s")
		start := time.Now().UTC().Truncate(time.Minute).Add(-2 * time.Minute)
		w.must(strings.Replace(twoPartitions, "2025-03-01", start.Format(time.RFC3339), 1))
		run := w.tallied()
		w.at(0, 1, start, start.Add(time.Minute))
		w.at(1, 1, start)
		says(w, &run.stdout, start.Add(20*time.Second).Format(time.RFC3339)) // the clock stands in for partition 1
		w.at(1, late, start.Add(time.Second))
		w.await(run)
		says(w, &run.stdout, time.Now().UTC().Truncate(10*time.Second).Add(10*time.Second).Format(time.RFC3339)) // a turn later
		if got := w.tallies(run).Overtaken; got != late {
			w.Errorf("%d of %d records are overtaken", got, late)
		}
		w.edit("idle_grace: 1s", "idle_grace: 10m")
		w.works("run --config $C --until 2025-03-01") // no change is needed

		// Under the longer grace the same silence loses nothing.
		w.configured("deployment: shop", "deployment: other", "topic: visits", "topic: other-visits", "idle_grace: 1s", "idle_grace: 10m")
		w.must(twoPartitions)
		run = w.tallied()
		w.days(0, 1, 1, 2, 3, 4, 5)
		w.days(1, 1, 1)
		w.isRead(0, 1)
		w.days(1, late, 2)
		w.days(1, 1, 5)
		says(w, &run.stdout, fourthIsOver)
		if got := w.tallies(run); got.Overtaken != 0 || got.Accepted != late+7 {
			w.Errorf("the tallies are %+v", got)
		}
	}},
	{texts: []string{"when time.idle_grace ends and the clock decides", "Keep time.idle_grace above the longest pause"}, walk: func(w *walk) {
		w.hooks.StallAfter = soon
		w.configured("idle_grace: 1s", "idle_grace: 10m")
		w.must(twoPartitions)
		run := w.tallied()
		w.days(0, 1, 1, 2, 3, 4, 5)
		w.days(1, 1, 1)
		w.await(run)
		w.days(1, 1, 2, 5) // the producer is back
		says(w, &run.stderr, "partition 1 of topic visits is no longer waited for")
		says(w, &run.stdout, fourthIsOver)
		if got := w.tallies(run); got.Overtaken != 0 || got.Accepted != 8 {
			w.Errorf("the tallies are %+v", got)
		}
	}},
	{texts: one("If silence is normal, lower time.idle_grace"), walk: func(w *walk) {
		w.hooks.StallAfter = soon
		w.configured("trust: producer, no_future: true, idle_grace: 1s", "trust: broker, idle_grace: 300d")
		start := time.Now().UTC().AddDate(0, 0, -3).Format(time.DateOnly)
		w.must(strings.Replace(twoPartitions, "2025-03-01", start, 1))
		run := w.begin("run --config $C --format json")
		w.await(run)
		run.stop()
		w.edit("idle_grace: 300d", "idle_grace: 1s")
		run = w.begin("run --config $C --format json") // no change is needed
		says(w, &run.stdout, start)
	}},
	{texts: one("which its producer has neither committed nor aborted"), walk: func(w *walk) {
		w.hooks.StallAfter = soon
		w.configured("idle_grace: 1s", "idle_grace: 10m")
		w.must(twoPartitions)
		run := w.tallied()
		w.days(0, 1, 1, 2, 3, 4, 5)
		w.days(1, 2, 1, 5)
		w.isRead(1)
		w.transaction()
		w.days(1, 1, 6)
		w.days(0, 1, 6, 7)
		w.await(run)
		w.paste(run.stderr.String(), "kafka-transactions.sh")
		says(w, &run.stderr, "partition 1 of topic visits is no longer waited for")
		says(w, &run.stdout, "2025-03-06T00:00:00Z")
		if got := w.tallies(run); got.Accepted != 12 { // none of the transaction
			w.Errorf("the tallies are %+v", got)
		}
	}},
}

// tallied begins a run that writes exact tallies when it is over.
func (w *walk) tallied() *background {
	w.Helper()
	w.vars["TALLIES"] = filepath.Join(w.value("D"), "tallies.json")
	return w.begin("run --config $C --format json --trusted-report $TALLIES")
}

// tallies ends a run by a later one, and returns what it has told trusted people.
func (w *walk) tallies(run *background) (t pipeline.Tallies) {
	w.Helper()
	w.must("run --config $C --until 2025-03-01 --wait 1m")
	<-run.gone
	if err := json.Unmarshal([]byte(contentsOf(w.T, w.vars["TALLIES"])), &t); err != nil {
		w.Fatalf("%v: %s", err, run.stderr.String())
	}
	return t
}

// days writes events of days in March 2025 to a partition, so many of each.
func (w *walk) days(partition int32, many int, days ...int) {
	w.Helper()
	var times []time.Time
	for _, day := range days {
		times = append(times, time.Date(2025, 3, day, 12, 0, 0, 0, time.UTC))
	}
	w.at(partition, many, times...)
}

// at writes events of some times to a partition, so many of each.
func (w *walk) at(partition int32, many int, times ...time.Time) {
	w.Helper()
	var msgs []kafkalog.Message
	for _, at := range times {
		for i := range many {
			msgs = append(msgs, kafkalog.Message{Value: fmt.Appendf(nil, "%s,u%d-%d-%d,north", at.Format(time.RFC3339), partition, at.Unix(), i), Timestamp: kafkalog.At(at.UnixMilli())})
		}
	}
	w.toEvents(partition, msgs...)
}

func (w *walk) toEvents(partition int32, msgs ...kafkalog.Message) {
	w.Helper()
	client, err := kafkalog.Dial(w.Context(), kafkalog.Config{Brokers: []string{w.value("B")}})
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	p, err := client.NewProducer(w.Context(), w.events(), partition, "")
	if err != nil {
		w.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Append(w.Context(), msgs); err != nil {
		w.Fatal(err)
	}
}

// events returns the events topic of the configuration.
func (w *walk) events() string {
	w.Helper()
	_, rest, _ := strings.Cut(contentsOf(w.T, w.value("C")), "\n  topic: ")
	topic, _, _ := strings.Cut(rest, "\n")
	return topic
}

// isRead waits until the run has read partitions to their ends: a broken record there comes to the
// dead letters.
func (w *walk) isRead(partitions ...int32) {
	w.Helper()
	name := w.proposed(contentsOf(w.T, w.value("C")), "deployment: ") + "-dead-letter"
	for _, p := range partitions {
		broken := fmt.Sprintf("the end of partition %d", p)
		w.toEvents(p, kafkalog.Message{Value: []byte(broken), Timestamp: kafkalog.At(time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli())})
		await.That(w, patience, broken+" is read", func() (found bool) {
			w.read(name, func(r kafkalog.Record) { found = found || string(r.Value) == broken })
			return found
		})
	}
}

// transaction writes to partition 1 of the events in a transaction that stays open.
func (w *walk) transaction() {
	w.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.value("B")), kgo.TransactionalID("upstream"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(client.CloseAllowingRebalance)
	if err := client.BeginTransaction(); err != nil {
		w.Fatal(err)
	}
	of := &kgo.Record{Topic: w.events(), Partition: 1, Value: []byte("2025-03-05T12:00:00Z,undecided,north"), Timestamp: time.Date(2025, 3, 5, 12, 0, 0, 0, time.UTC)}
	if err := client.ProduceSync(context.Background(), of).FirstErr(); err != nil {
		w.Fatal(err)
	}
}
