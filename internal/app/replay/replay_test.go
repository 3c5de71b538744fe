package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/embedded"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/await"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

const topic = "visits"

// broker starts a broker with a topic of two partitions.
func broker(t *testing.T) *kafkalog.Client {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // runs last
	b, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	client, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{b.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	spec := kafkalog.TopicSpec{Name: topic, Partitions: 2, Replication: 1}
	if err := client.CreateTopics(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	return client
}

// options returns the options for a file of lines "seconds,user".
func options(t *testing.T, lines ...string) Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{
		Path: path, Topic: topic,
		Format: event.Format{Format: "csv", Columns: []string{"when", "who"}, User: "who", Time: "when", TimeUnit: "s"},
	}
}

// written returns the values on the topic, by partition.
func written(t *testing.T, client *kafkalog.Client) (values [2][]string) {
	t.Helper()
	for p := range int32(2) {
		bounds, err := client.Offsets(t.Context(), topic, p)
		if err == nil {
			err = client.ReadRange(t.Context(), topic, p, bounds.Start, bounds.LastStable,
				func(r kafkalog.Record) error {
					values[p] = append(values[p], string(r.Value))
					return nil
				})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return values
}

// The result counts the written and the skipped records; the records of a user stay in one
// partition, in the order of the file.
func TestTheResultSaysWhatWasWritten(t *testing.T) {
	client := broker(t)
	lines := []string{"when,who", "soon,early"}
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("%d,user-%d", 1_700_000_000+i, i%7))
	}
	lines = append(lines, "1700000000,"+strings.Repeat("x", demo.MaxRecordBytes))
	o := options(t, lines...)
	o.Header = true
	r, err := Open(t.Context(), client, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	result, err := r.Run(t.Context(), nil)
	if want := (Result{Written: 101, FirstLeftOut: 103, Unit: "line", Expired: 101, Retention: 168 * time.Hour}); err !=
		nil || result != want {
		t.Errorf("got %+v, %v, want %+v", result, err, want)
	}
	seen, where := 0, map[string]int{}
	for p, values := range written(t, client) {
		last := ""
		for _, v := range values {
			when, who, _ := strings.Cut(v, ",")
			if partition, known := where[who]; known && partition != p {
				t.Errorf("%s is in both partitions", who)
			}
			where[who] = p
			if when != "soon" && when < last {
				t.Errorf("%s after %s", when, last)
			} else if when != "soon" {
				last = when
			}
			seen++
		}
	}
	if seen != 101 {
		t.Errorf("%d records on the topic", seen)
	}
}

// Records would get the wrong times as their timestamps, and a topic cannot be corrected. A broken
// record that another unit would fit refuses nothing.
func TestTimesInAnotherUnitAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	for unit, refused := range map[string]string{"s": "", "ms": "of 1970-01-20: correct events.time_unit, for"} {
		client, o := broker(t), options(t, "2025-03-01T00:00:00Z,early", "1700000000,user", "1700000001,user")
		o.Format.TimeUnit = unit
		r, err := Open(t.Context(), client, o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_, err = r.Run(t.Context(), nil)
		if values := written(t, client); !strings.Contains(fmt.Sprint(err), refused) ||
			(len(values[0])+len(values[1]) == 0) != (refused != "") {
			t.Errorf("%s: %v were written, %v", unit, values, err)
		}
	}
}

func TestRecordsAreSkippedByTheirValue(t *testing.T) {
	client := broker(t)
	for want, set := range map[int64]func(*Options){
		3: func(*Options) {},
		2: func(o *Options) { o.SkipNoValue, o.Format.NoValue = true, event.NoValueSkip },
		1: func(o *Options) { o.SkipNoValue, o.Format.NoValue, o.SkipBadValues = true, event.NoValueSkip, true },
	} {
		o := options(t, "when,who,worth", "1700000000,a,5", "1700000000,b,", "1700000000,c,N/A")
		o.Header, o.Format.Columns, o.Format.Value = true, nil, "worth"
		set(&o)
		r, err := Open(t.Context(), client, o)
		if err != nil {
			t.Fatal(err)
		}
		result, err := r.Run(t.Context(), nil)
		if err != nil || result.Written != want || r.Faults().WithoutValue() != 1 {
			t.Errorf("%+v, %v, want %d written", result, err, want)
		}
		r.Close()
	}
}

// A drained replay stops writing the file, and reports that.
func TestADrainedReplayReportsIt(t *testing.T) {
	client := broker(t)
	r, err := Open(t.Context(), client, options(t, "1700000000,a", "1700000001,b"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	drain := make(chan struct{})
	close(drain)
	if result, err := r.Run(t.Context(), drain); err != nil || !result.Drained || result.Written != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
	if values := written(t, client); len(values[0])+len(values[1]) != 0 {
		t.Errorf("on the topic: %v", values)
	}
}

// A topic with outputs of a deployment, in its first or its last record, is refused before anything
// is written, even if its first offsets have no record. Tombstones and events do not matter.
func TestATopicWithOutputsIsRefused(t *testing.T) {
	event := kafkalog.Message{Value: []byte("Tgill,1700000000"), Timestamp: kafkalog.At(1)}
	turn, err := schemas.EncodeTurnEnd(schemas.TurnEnd{Turn: 1, End: 60_000, Generation: 1, Counts: "counts",
		CountsEnd: []int64{0}})
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]kafkalog.Message{
		"": {Key: []byte("k"), Value: nil},
		"outputs.counts": {Value: []byte("{}"), Headers: []kafkalog.Header{{Key: schemas.HeaderType,
			Value: []byte(schemas.TypeRelease)}}},
		"outputs.dead_letter": {Value: []byte("x"), Headers: []kafkalog.Header{{Key: schemas.DeadLetterClass,
			Value: []byte("time")}}},
		"outputs.ledger":  {Key: schemas.LedgerKey{Kind: schemas.KindDeltaPart, Slot: 3, Part: 1}.Bytes()},
		"outputs.control": {Value: []byte("Tg\x01\x04")},
		"outputs.turns":   {Value: turn},
	} {
		longer := append([]kafkalog.Message{m}, slices.Repeat([]kafkalog.Message{event}, checkedOffsets)...)
		for i, messages := range [][]kafkalog.Message{{m, event}, {event, m}, longer} {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				client := broker(t)
				producer, err := client.NewProducer(t.Context(), topic, 1, "run")
				for range i / 2 * checkedOffsets { // markers of transactions
					if err == nil {
						_, err = producer.Fence(t.Context())
					}
				}
				if err == nil {
					_, err = producer.Append(t.Context(), messages)
					producer.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
				r, err := Open(t.Context(), client, options(t, "1700000000,a"))
				if err == nil {
					r.Close()
				}
				if refused := err != nil && strings.Contains(err.Error(), name) && strings.Contains(err.Error(),
					"events.topic"); refused != (name != "") {
					t.Errorf("%q: got %v", name, err)
				}
			})
		}
	}
}

// Records of a slow pipe reach the topic before more arrive. The replay ends with the pipe.
func TestRecordsOfASlowPipeAreWrittenAsTheyCome(t *testing.T) {
	client := broker(t)
	o := options(t)
	o.Path = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(o.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(o.Path, os.O_RDWR, 0) // so that neither end waits for the other
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	put := func(text string) {
		t.Helper()
		if _, err := pipe.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	put("1700000000,a\n17000")
	r, err := Open(t.Context(), client, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	result, ended := Result{}, make(chan error, 1)
	go func() {
		var err error
		result, err = r.Run(t.Context(), nil)
		ended <- err
	}()
	on := func(n int) func() bool {
		return func() bool {
			values := written(t, client)
			return len(values[0])+len(values[1]) == n
		}
	}
	await.That(t, time.Minute, "the first record on the topic", on(1))
	put("00001,b\n1700000002,c\n1700000003,d")
	await.That(t, time.Minute, "three records on the topic", on(3))
	pipe.Close()
	if err := <-ended; err != nil || result.Written != 4 || !on(4)() {
		t.Errorf("%+v, %v", result, err)
	}
}
