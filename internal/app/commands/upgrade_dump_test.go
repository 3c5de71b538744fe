package commands

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// dumped is a deployment that some version of the runner wrote: what its topics hold after the
// first days of upgradeEvents, and what that version published once it had read them all.
type dumped struct {
	Topics map[string][][]dumpedRecord // by topic and partition
	Counts map[string]string           // values of counts, by key
}

type dumpedRecord struct {
	Offset, Time int64
	Key, Value   []byte
	Headers      []kafkalog.Header `json:",omitempty"`
}

// upgradeTopics has every topic of the deployment with its partitions.
var upgradeTopics = map[string]int{"shop-control": 1, "shop-ledger": 2, "shop-counts": 1, "shop-turns": 1, "shop-dead-letter": 1, "visits": 1}

// upgradeFile writes the configuration of the dumped deployments for a broker, and their keys. It
// has few slots, so that snapshots come soon, and slices of open windows in them.
func upgradeFile(t *testing.T, broker string) string {
	t.Helper()
	cfg := deploymentFile(t, broker, "shards: 4", "shards: 2\nledger_slots: 4", "metrics:\n", `metrics:
  - name: trend
    window: {size: 3d, slide: 1d}
    keys: {list: [north, south]}
    target: {absolute: 30}
    last_at_least: 4
`)
	secrets := filepath.Join(filepath.Dir(cfg), "secrets")
	if err := os.Mkdir(secrets, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, digits := range map[string]string{"noise.key": "5a", "user-hash.key": "a5"} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(strings.Repeat(digits, 32)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

// upgradeEvents writes the events of some days, from one of them to before another.
func upgradeEvents(t *testing.T, from, to int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("when,who,where\n")
	for i := from * 40; i < to*40; i++ {
		at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 24 * time.Hour / 40)
		fmt.Fprintf(&b, "%s,person-%d,%s\n", at.Format(time.RFC3339), i%60, []string{"north", "south"}[i%2])
	}
	fmt.Fprintf(&b, "soon,person-%d,north\n", to) // a dead letter
	return write(t, fmt.Sprintf("days-%d-%d.csv", from, to), b.String())
}

// untilDay are the days that are dumped, and all of them.
const untilDay, allDays = 8, 12

// kafkaAt dials a broker for a test.
func kafkaAt(t *testing.T, addr string) *kafkalog.Client {
	t.Helper()
	c, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// recordsOf returns what a partition of a topic holds.
func recordsOf(t *testing.T, c *kafkalog.Client, topic string, partition int32) (out []dumpedRecord) {
	t.Helper()
	bounds, err := c.Offsets(t.Context(), topic, partition)
	if errors.Is(err, kafkalog.ErrUnknownTopic) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	err = c.ReadRange(t.Context(), topic, partition, bounds.Start, bounds.High, func(r kafkalog.Record) error {
		one := dumpedRecord{Offset: r.Offset, Time: r.Timestamp, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
		for _, h := range r.Headers {
			one.Headers = append(one.Headers, kafkalog.Header{Key: h.Key, Value: bytes.Clone(h.Value)})
		}
		out = append(out, one)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// countsOf returns the newest value of every key of counts.
func countsOf(t *testing.T, c *kafkalog.Client) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, r := range recordsOf(t, c, "shop-counts", 0) {
		out[string(r.Key)] = string(r.Value)
	}
	return out
}

// loadDump reads a dump of testdata/upgrade.
func loadDump(t *testing.T, name string) *dumped {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "upgrade", name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d := &dumped{}
	if err := json.NewDecoder(zipped).Decode(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// fillerKey is the key of records that stand where a version had a mark of a transaction.
const fillerKey = "mark"

// onBroker puts a dump on a broker of its own, each record at its offset, and returns the
// configuration. Every version passes over the fillers.
func (d *dumped) onBroker(t *testing.T) (cfg, addr string) {
	t.Helper()
	addr = broker(t)
	cfg = upgradeFile(t, addr)
	of, err := (&app{stderr: io.Discard, getenv: func(string) string { return "" }}).prepare(cfg, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := pipeline.CreateTopics(t.Context(), of.Deployment, pipeline.TopicOptions{EventPartitions: 1}); err != nil {
		t.Fatal(err)
	}
	c := kafkaAt(t, addr)
	for topic := range upgradeTopics {
		for p, records := range d.Topics[topic] {
			var messages []kafkalog.Message
			for _, r := range records {
				for int64(len(messages)) < r.Offset {
					messages = append(messages, kafkalog.Message{Key: []byte(fillerKey), Timestamp: kafkalog.At(r.Time)})
				}
				messages = append(messages, kafkalog.Message{Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: kafkalog.At(r.Time)})
			}
			if len(messages) > 0 {
				appendTo(t, c, topic, int32(p), messages...)
			}
		}
	}
	return cfg, addr
}

func appendTo(t *testing.T, c *kafkalog.Client, topic string, partition int32, messages ...kafkalog.Message) {
	t.Helper()
	p, err := c.NewProducer(t.Context(), topic, partition, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Append(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
}

var (
	dumpName   = flag.String("dump", "", "write testdata/upgrade/NAME.json.gz with the runner of -dump-runner")
	dumpRunner = flag.String("dump-runner", "", "a runner, of this or of an earlier version, that writes the deployment of -dump")
)

// Before a format changes, a runner of before is built, and what it writes is kept:
//
//	go test ./internal/app/commands -run TestDumpADeployment -dump NAME -dump-runner FILE
func TestDumpADeployment(t *testing.T) {
	if *dumpName == "" {
		t.Skip("only with -dump")
	}
	addr := broker(t)
	cfg := upgradeFile(t, addr)
	runner := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), *dumpRunner, append(args, "--config", cfg)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	runner("init", "--create-topics", "--event-partitions", "1", "--start", "2025-03-01T00:00:00Z")
	runner("replay", "--header", "--input", upgradeEvents(t, 0, untilDay))
	runner("run", "--until-end", "--wait", "1m")
	c := kafkaAt(t, addr)
	d := dumped{Topics: map[string][][]dumpedRecord{}}
	for topic, partitions := range upgradeTopics {
		for p := range int32(partitions) {
			d.Topics[topic] = append(d.Topics[topic], recordsOf(t, c, topic, p))
		}
	}
	runner("replay", "--header", "--input", upgradeEvents(t, untilDay, allDays))
	runner("run", "--until-end", "--wait", "1m")
	d.Counts = countsOf(t, c)
	var b bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.NewEncoder(zipped).Encode(d), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "upgrade", *dumpName+".json.gz"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
