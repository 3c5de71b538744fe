package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/pipeline/internal/controllog"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

const testMinute = 60_000

// testHeader has metrics with windows of a minute, or of an hour for "hour".
func testHeader(generation uint32, fromTurn uint64, names ...string) schemas.Header {
	h := schemas.Header{Counts: schemas.CountsEncoding{Format: schemas.CountsJSON}, Generation: generation, LedgerSlots: 8, FromTurn: fromTurn,
		SliceStart: int64(fromTurn-1) * testMinute}
	for _, name := range names {
		size := int64(testMinute)
		if name == "hour" {
			size *= 60
		}
		h.Metrics = append(h.Metrics, schemas.MetricSpec{Name: name, Kind: metrickind.Events, WindowSize: size, WindowSlide: size})
	}
	return h
}

func settledWith(t *testing.T, turn uint64, tallies ...schemas.MetricTally) schemas.ControlBody {
	t.Helper()
	parts, err := schemas.SplitSettled(schemas.Settled{Epoch: 1, First: turn, Turn: turn, CountsEnd: []int64{0}, Tallies: tallies}, 1<<10)
	if err != nil || len(parts) != 1 {
		t.Fatal(len(parts), err)
	}
	return &parts[0]
}

// controlOf is a deployment with these records on control, and nothing else.
func controlOf(t *testing.T, bodies ...schemas.ControlBody) *deployment.Deployment {
	t.Helper()
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Close() })
	d, err := deployment.Compile(deploytest.Config(broker.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	if err := CreateTopics(t.Context(), d, TopicOptions{EventPartitions: 1}); err != nil {
		t.Fatal(err)
	}
	client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	producer, err := client.NewProducer(t.Context(), d.Config.Outputs.Control, controllog.Partition, "")
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	var messages []kafkalog.Message
	for _, b := range bodies {
		data, err := schemas.EncodeControl(schemas.Control{Body: b})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, kafkalog.Message{Value: data, Timestamp: kafkalog.Now()})
	}
	if _, err := producer.Append(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
	return d
}

// A change takes CLOSEs back, moves a metric to another index, gives up the open
// windows of one and adds another: every record is in the report once.
func TestTrustedReportAddsUpOverAChange(t *testing.T) {
	t.Parallel()
	first := testHeader(1, 1, "views", "hour")
	second := testHeader(2, 2, "clicks", "views")
	second.Past = []schemas.PastGeneration{first.AsPast()}
	closing := func(first, turn, contributions uint64, tallies schemas.ReadTallies) *schemas.Close {
		c := closeOf(1, first, turn)
		c.Contributions, c.Tallies = contributions, tallies
		return c
	}
	span := closing(3, 4, 7, schemas.ReadTallies{Read: 6, Accepted: 6})
	span.Each = []uint64{3, 4}
	d := controlOf(t, &first, &schemas.Epoch{},
		closing(1, 1, 10, schemas.ReadTallies{Read: 12, Late: 1, Accepted: 11}),
		closing(2, 2, 90, schemas.ReadTallies{Read: 100, Future: 1, Accepted: 99}), // taken back
		closing(2, 2, 80, schemas.ReadTallies{Read: 200, Accepted: 200}),           // not the next turn
		settledWith(t, 1, schemas.MetricTally{Metric: 0, WindowTally: schemas.WindowTally{Counted: 7, Beyond: 3}}),
		&schemas.Generation{Epoch: 1, CountsEnd: []int64{0}, Header: second},
		closing(2, 2, 25, schemas.ReadTallies{Read: 30, Late: 2, Accepted: 26, DeadLettered: map[string]uint64{"malformed": 2}}),
		settledWith(t, 2, schemas.MetricTally{Metric: 0, WindowTally: schemas.WindowTally{Counted: 20, Filtered: 5}},
			schemas.MetricTally{Metric: 1, WindowTally: schemas.WindowTally{Counted: 24, Beyond: 1}}),
		span)
	got, err := TrustedReport(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	// 42 of the 43 accepted records belong to closed turns.
	want := Tallies{Read: 48, DeadLettered: map[string]uint64{"malformed": 2}, Late: 3, Accepted: 43, Metrics: []MetricTallies{
		{Metric: "views", Beyond: 4, Counted: 31, Open: 8},
		{Metric: "hour", GivenUp: 10},
		{Metric: "clicks", Filtered: 5, Counted: 20, Open: 8},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func closeOf(epoch int64, first, turn uint64) *schemas.Close {
	c := &schemas.Close{Epoch: epoch, First: first, Turn: turn}
	if turn > first {
		c.Each = make([]uint64, turn-first+1)
	}
	return c
}
