package integration

import (
	"errors"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/hooks/crashpoint"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/schemas"
)

// The broker's own word on fencing, on which the ledger rests: the former owner of a transactional
// id is refused from the first record on that the new owner writes, and not earlier.
func TestInvariant9TheBrokerRefusesAnOlderEpoch(t *testing.T) {
	needReal(t)
	broker := startBroker(t)
	createTopic(t, broker, "fenced", 1, nil)
	var owners []*kafkalog.Producer
	for range 2 {
		p, err := dialled(t, broker).NewProducer(t.Context(), "fenced", 0, "fenced/ledger-0")
		if err != nil {
			t.Fatal(err)
		}
		owners = append(owners, p)
	}
	write := func(owner int) error {
		_, err := owners[owner].Append(t.Context(), []kafkalog.Message{{Value: []byte{byte(owner)}, Timestamp: kafkalog.Now()}})
		return err
	}
	if err := write(1); err != nil {
		t.Fatalf("the owner was refused: %v", err)
	}
	for range 2 {
		if err := write(0); !errors.Is(err, kafkalog.ErrFenced) {
			t.Fatalf("the one before got %v, want ErrFenced", err)
		}
	}
	if err := write(1); err != nil {
		t.Fatalf("the owner was refused after the one before: %v", err)
	}
	d := &deployment{t: t, client: dialled(t, broker)}
	if n := len(d.records("fenced", 0)); n != 2 {
		t.Errorf("%d records stand on the topic, want the owner's two", n)
	}
}

func dialled(t *testing.T, broker string) *kafkalog.Client {
	t.Helper()
	client, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{broker}, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// Another process takes partitions of a running deployment and writes nothing, as a run does that
// dies right after it took them: the run takes them again, in a new epoch, and goes on, and the
// output is what it would have been.
func TestInvariant9ARunThatIsFencedTakesItsPartitionsAgain(t *testing.T) {
	d := newDeployment(t, startBroker(t), "snatched", 2, tight)
	d.load(scatter(calm(620).arrivals(), 2, 1))
	j := d.job()
	j.Delays = map[string]time.Duration{crashpoint.DeltaWriting: 50 * time.Millisecond}
	c := startRunner(t, j)
	for _, id := range []string{"ledger-0", "counts-0", "ledger-2"} {
		topic := d.config.Outputs.Ledger
		if id == "counts-0" {
			topic = d.config.Outputs.Counts
		}
		c.settled(t, 1)
		p, err := d.client.NewProducer(t.Context(), topic, int32(id[len(id)-1]-'0'), d.config.Deployment+"/"+id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Fence(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	if end := c.last(t); end == nil || end.Error != "" || end.Done.Superseded {
		t.Fatalf("the run ended with %s\n%s", end, c.stderr.tail())
	}
	d.verify()
	if tr, err := d.readTrusted(); err != nil || len(tr.epochs) < 2 {
		t.Errorf("the run took %d epochs (%v): it was not fenced", len(tr.epochs), err)
	}
}

// The broker dies while two instances fight for the deployment.
func TestInvariant9TwoInstancesAndABrokerThatDies(t *testing.T) {
	needReal(t)
	t.Parallel()
	broker := startOwnBroker(t)
	d := newDeployment(t, broker.address(), "bothlost", 2, tight)
	d.load(scatter(usualWorkload(621).arrivals(), 2, 3))
	j := d.job()
	j.Delays = map[string]time.Duration{crashpoint.DeltaWriting: 20 * time.Millisecond}
	first := startRunner(t, j)
	first.settled(t, 2)
	second := startRunner(t, j)
	await.That(t, patience, "the second instance has begun", func() bool {
		tr := trusted{closes: map[uint64]schemas.Close{}, settled: map[uint64]schemas.Settled{}}
		if err := tr.readControl(d.records(d.config.Outputs.Control, 0)); err != nil {
			t.Fatal(err)
		}
		return len(tr.epochs) > 1
	})
	broker.kill()
	broker.restart(t)
	finished := false
	for _, c := range []*child{first, second} {
		end := c.last(t)
		finished = finished || end != nil && end.Error == "" && !end.Done.Superseded
	}
	if !finished {
		d.finish()
	}
	d.client = attach(t, d.config).client
	d.verify()
}
