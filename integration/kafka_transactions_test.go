package integration

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// upstream is another program's producer, which writes events in transactions.
type upstream struct {
	t      testing.TB
	topic  string
	client *kgo.Client
}

func (d *deployment) upstream(id string) *upstream {
	d.t.Helper()
	return &upstream{d.t, d.config.Events.Topic, adminClient(d.t, d.config.Kafka.Brokers[0],
		kgo.TransactionalID(d.config.Deployment+"-"+id),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionTimeout(2*time.Minute))}
}

func (u *upstream) begin() {
	u.t.Helper()
	if err := u.client.BeginTransaction(); err != nil {
		u.t.Fatalf("beginning a transaction: %v", err)
	}
}

// write appends records within the open transaction and waits until they are on the topic.
func (u *upstream) write(partition int32, arrivals ...arrival) {
	u.t.Helper()
	var records []*kgo.Record
	for _, a := range arrivals {
		records = append(records, &kgo.Record{Topic: u.topic, Partition: partition, Value: a.value,
			Timestamp: time.UnixMilli(a.stamp)})
	}
	if err := u.client.ProduceSync(patient(u.t), records...).FirstErr(); err != nil {
		u.t.Fatalf("writing in a transaction: %v", err)
	}
}

func (u *upstream) end(how kgo.TransactionEndTry) {
	u.t.Helper()
	if err := u.client.EndTransaction(patient(u.t), how); err != nil {
		u.t.Fatalf("ending a transaction: %v", err)
	}
}

// Two upstream producers with transactions and one without write to the same partitions; a third of
// the transactions is aborted. Only committed records count, and markers change nothing, even if
// the pipeline dies in between.
func TestRuleAbortedRecordsAreNeverCounted(t *testing.T) {
	needReal(t)
	d := newDeployment(t, startBroker(t), "aborted", 2, tight)
	random := rand.New(runseed.PCG(t, 7, 1))
	producers := []*upstream{d.upstream("a"), d.upstream("b")}
	arrivals := calm(600).arrivals()
	aborted, committed := 0, 0
	for len(arrivals) > 0 {
		n := min(len(arrivals), 5+random.IntN(60))
		part := scatter(arrivals[:n], 2, random.Uint64())
		ghost := goodEvent("ghost", "p00", arrivals[0].stamp, arrivals[0].stamp)
		arrivals = arrivals[n:]
		for _, u := range producers {
			u.begin()
		}
		// The first producer's records lie between records of a transaction that may be aborted.
		for p := range int32(2) {
			half := len(part[p]) / 2
			producers[1].write(p, ghost, ghost, ghost)
			producers[0].write(p, part[p][:half]...)
			d.append(p, part[p][half:])
			producers[1].write(p, ghost)
		}
		producers[0].end(kgo.TryCommit)
		committed += n
		if random.IntN(3) > 0 {
			producers[1].end(kgo.TryAbort)
			aborted += 8
		} else {
			producers[1].end(kgo.TryCommit)
			committed += 8
		}
	}
	log := d.independentLog()
	if n := len(log[0]) + len(log[1]); n != committed || aborted == 0 {
		t.Fatalf("%d records are committed on the topic, %d were; %d are aborted", n, committed, aborted)
	}
	d.sameLog(log)
	for _, turn := range []uint64{3, 7}[:pick(1, 2)] {
		j := d.job()
		j.CrashAt, j.CrashTurn = crashpoint.SettledWritten, turn
		d.crashed(j)
	}
	d.finish()
	must.Succeed(t, d.checkAgainst(log))
	if r := d.report(); r.Read != uint64(committed) {
		t.Errorf("%d records were read, want the %d committed ones", r.Read, committed)
	}
}

// An open transaction holds back everything after it in its partition, because its records may
// still be committed: neither a bounded run, nor one that waits, nor the idle rule may pass it.
func TestRuleAnOpenTransactionHoldsItsPartitionBack(t *testing.T) {
	needReal(t)
	d := newDeployment(t, startBroker(t), "open", 2, tight, func(c *pipeline.Config) { c.Time.IdleGrace = time.Second })
	d.clocked = true
	u := d.upstream("slow")
	for w := range 8 {
		for i := range 20 {
			d.append(int32(i%2), []arrival{visit("u"+string(rune('a'+i)), "p00", time.Duration(w)*10*time.Second+
				time.Second)})
		}
		if w == 3 { // partition 1 now ends in an open transaction
			u.begin()
			u.write(1, visit("undecided", "p00", 35*time.Second))
		}
	}
	run := d.live()
	run.until(t, 2) // partition 1 is readable up to 31 s, and lateness is 5 s
	run.quietFor(t, 3*time.Second)
	u.end(kgo.TryCommit)
	run.until(t, 8)
	run.finish(t)
	d.run()
	log := d.independentLog()
	if n := len(log[1]); n != 8*10+1 {
		t.Fatalf("partition 1 holds %d records", n)
	}
	must.Succeed(t, d.checkAgainst(log))
	if r := d.report(); r.Overtaken != 0 || r.Accepted != 161 {
		t.Errorf("%d records were accepted and %d overtaken, want all 161 accepted", r.Accepted, r.Overtaken)
	}
}

// A bounded run ends at the last stable offset of its start.
func TestRuleABoundedRunEndsBeforeAnOpenTransaction(t *testing.T) {
	needReal(t)
	d := newDeployment(t, startBroker(t), "openend", 1, tight)
	arrivals := calm(601).arrivals()
	half := len(arrivals) / 2
	d.append(0, arrivals[:half])
	log := d.independentLog()
	u := d.upstream("slow")
	u.begin()
	u.write(0, arrivals[half])
	d.append(0, arrivals[half+1:])
	d.run()
	must.Succeed(t, d.checkAgainst(log))
	u.end(kgo.TryAbort)
	d.clocked = true // records that were held back may belong to a window that the first run closed
	d.run()
	must.Succeed(t, d.checkAgainst(d.independentLog()))
	if r := d.report(); r.Read != uint64(len(arrivals)-1) {
		t.Errorf("%d records were read, want all %d but the aborted one", r.Read, len(arrivals)-1)
	}
}
