package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/testing/fakeregistry"
	"github.com/tollgate-dp/tollgate/internal/testing/python"
	"github.com/tollgate-dp/tollgate/internal/testing/realkafka"
)

// What consumers read that no test of the product wrote, compared row by row with what the run
// printed.

// row is a released count as it is printed; a number that is read must be the same float64.
type row struct {
	Metric, Key              string
	WindowStart              time.Time `json:"window_start"`
	WindowEnd                time.Time `json:"window_end"`
	Value, StdDev, Low, High float64
	Confidence, Precision    float64
	Met                      bool
	Rungs                    int
	Value1024ths             int64 `json:"value_1024ths"` // on counts only
}

// id is the Kafka key that the row must have.
func (r row) id() string {
	return r.Metric + "|" + r.WindowStart.UTC().Format(time.RFC3339Nano) + "|" + r.Key
}

// publishedBy runs a deployment over some hours of events and returns what the run printed, by the
// Kafka key that each row must have, and the counts topic.
func publishedBy(t *testing.T, broker, name, outputs string) (printed map[string]row, topic string) {
	t.Helper()
	binary, dir := buildRunner(t), t.TempDir()
	file, events := filepath.Join(dir, "tollgate.yaml"), filepath.Join(dir, "events.jsonl")
	keys := []string{"/home", `say "é"`, "a|b", "日本 <&>", ""}
	var listed []string
	for _, k := range keys {
		listed = append(listed, strconv.Quote(k))
	}
	text := fmt.Sprintf(`deployment: %s
kafka: {brokers: [%q]}
events: {topic: %s-events, format: jsonl, fields: {user: user, key: page, time: ts}, time_unit: ms}
privacy: {epsilon: 40, delta: 1e-4, lasts: 6h}
time: {trust: producer, no_future: true, idle_grace: 1s}
metrics:
  - {name: visits, window: {size: 1h}, keys: {list: [%s]}, target: {relative: 0.1, absolute: 3}}
  - {name: pages, window: {size: 2h}, keys: {mode: private}, target: {absolute: 3}}
outputs: {%s}
keys: {noise: {file: noise.key}, user_hash: {file: user.key}}
shards: 2
release_shards: 2
`, name, broker, name, strings.Join(listed, ", "), outputs)
	var lines bytes.Buffer
	for i := range 2400 {
		at := base.Truncate(24 * time.Hour).Add(time.Duration(i) * 6 * time.Hour / 2400)
		page, err := json.Marshal(keys[i*i%len(keys)])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, `{"user":"u%d","page":%s,"ts":%d}`+"\n", i, page, at.UnixMilli())
	}
	for path, content := range map[string][]byte{file: []byte(text), events: lines.Bytes()} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := base.Truncate(24 * time.Hour).Format(time.DateOnly)
	outputOf(t, binary, "init", "--config", file, "--generate-keys", "--create-topics", "--event-partitions", "1", "--start", start)
	outputOf(t, binary, "replay", "--config", file, "--input", events)
	out := outputOf(t, binary, "run", "--log-format", "text", "--config", file, "--until-end", "--wait", "2m", "--format", "json")
	printed = map[string]row{}
	for line := range bytes.Lines(out) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		printed[r.id()] = r
	}
	if len(printed) < 30 {
		t.Fatalf("%d rows were printed:\n%s", len(printed), out)
	}
	return printed, name + "-counts"
}

// outputOf runs a command to its end and returns what it prints on stdout.
func outputOf(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v; it said:\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// The consumer of docs/consumer.py knows nothing of this program but the schema and the formats.
func TestAPythonConsumerReadsTheCountsThatWerePrinted(t *testing.T) {
	interpreter, broker := python.With(t, "fastavro", "kafka"), startBrokerProcess(t)
	for _, format := range []string{"json", "avro"} {
		t.Run(format, func(t *testing.T) {
			outputs, args := "counts_format: "+format, []string{"../docs/consumer.py", broker, "python-" + format + "-counts"}
			if format == "avro" {
				url := fakeregistry.Start(t).URL
				outputs, args = outputs+`, registry: {url: "`+url+`"}`, append(args, url)
			}
			printed, _ := publishedBy(t, broker, "python-"+format, outputs)
			read := map[string]row{}
			for line := range bytes.Lines(outputOf(t, interpreter, args...)) {
				key, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
				if format == "avro" { // datetime's own text
					value = regexp.MustCompile(`(-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?\+00:00")`).ReplaceAll(value, []byte("${1}T$2"))
				}
				var r row
				if err := json.Unmarshal(value, &r); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if float64(r.Value1024ths)/1024 != r.Value {
					t.Errorf("%s: value %v, value_1024ths %d", key, r.Value, r.Value1024ths)
				}
				r.Value1024ths = 0
				r.WindowStart, r.WindowEnd = r.WindowStart.UTC(), r.WindowEnd.UTC()
				read[string(key)] = r
			}
			sameRows(t, printed, read)
		})
	}
}

func sameRows(t *testing.T, printed, read map[string]row) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(printed)) {
		if got, there := read[id]; !there || got != printed[id] {
			t.Errorf("%s is read as %+v (%v), printed as %+v", id, got, there, printed[id])
		}
		delete(read, id)
	}
	for id := range read {
		t.Errorf("%s was not printed", id)
	}
}

// Kafka Connect's file sink writes what its converter makes of a value: with JsonConverter a map
// whose value is a number.
func TestKafkaConnectsFileSinkWritesTheCountsThatWerePrinted(t *testing.T) {
	if kind(t) != kafkaKind {
		t.Skipf("runs Kafka Connect as a process: `.ci/run kafka`, or %s=%s", kindVariable, kafkaKind)
	}
	broker := startBroker(t)
	printed, topic := publishedBy(t, broker, "connect", "counts_format: json")
	dir := t.TempDir()
	rows, masked := filepath.Join(dir, "rows"), filepath.Join(dir, "masked")
	sink := func(name, file string, more map[string]string) map[string]string {
		settings := map[string]string{"name": name, "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
			"tasks.max": "1", "topics": topic, "file": file}
		maps.Copy(settings, more)
		return settings
	}
	worker := map[string]string{
		"key.converter":                  "org.apache.kafka.connect.storage.StringConverter",
		"value.converter":                "org.apache.kafka.connect.json.JsonConverter",
		"value.converter.schemas.enable": "false",
		"consumer.isolation.level":       "read_committed",
		"consumer.auto.offset.reset":     "earliest",
	}
	connect, err := realkafka.StartConnect(broker, dir, worker, sink("rows", rows, nil),
		// MaskField puts 0 in place of a number and nothing in place of a text: a sink that wants a
		// number gets one.
		sink("masked", masked, map[string]string{"transforms": "mask", "transforms.mask.fields": "value",
			"transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value"}))
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(connect.Close)
	read := map[string]row{}
	for _, line := range linesOf(t, connect, rows, len(printed)) {
		r := javaRow(t, line)
		read[r.id()] = r
	}
	sameRows(t, printed, read)
	for _, line := range linesOf(t, connect, masked, len(printed)) {
		if !strings.Contains(line, ", value=0.0,") && !strings.Contains(line, ", value=0,") {
			t.Errorf("a value is no number to Kafka Connect: %s", line)
		}
	}
}

// linesOf waits until the worker has written so many lines.
func linesOf(t *testing.T, connect *realkafka.Connect, file string, n int) []string {
	t.Helper()
	tick, over := time.NewTicker(100*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for {
		var lines []string
		if text, err := os.ReadFile(file); err == nil {
			for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
				lines = append(lines, s.Text())
			}
		}
		if len(lines) >= n {
			return lines
		}
		select {
		case <-tick.C:
		case <-connect.Gone():
			t.Fatalf("Kafka Connect ended; it said:\n%s", connect.Said())
		case <-over:
			t.Fatalf("Kafka Connect wrote %d lines of %d; it said:\n%s", len(lines), n, connect.Said())
		}
	}
}

// javaField is the beginning of a field in what Map.toString writes.
var javaField = regexp.MustCompile(`(?:^\{|, )(metric|window_start|window_end|key|value|stddev|low|high|confidence|met|rungs|precision|value_1024ths|precision_units|turn|generation|metric_digest|noise_key_id)=`)

// javaRow reads what Map.toString makes of a value; no key of these tests looks like a field.
func javaRow(t *testing.T, line string) row {
	t.Helper()
	fields, found := map[string]string{}, javaField.FindAllStringSubmatchIndex(line, -1)
	for i, at := range found {
		end := len(line) - 1
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		fields[line[at[2]:at[3]]] = line[at[1]:end]
	}
	number := func(name string) float64 {
		v, err := strconv.ParseFloat(fields[name], 64)
		if err != nil {
			v = math.NaN()
		}
		return v
	}
	at := func(name string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, fields[name])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return v
	}
	if len(fields) != 18 {
		t.Fatalf("%d fields in %s", len(fields), line)
	}
	return row{Metric: fields["metric"], Key: fields["key"], WindowStart: at("window_start"), WindowEnd: at("window_end"),
		Value: number("value"), StdDev: number("stddev"), Low: number("low"), High: number("high"), Confidence: number("confidence"),
		Precision: number("precision"), Met: fields["met"] == "true", Rungs: int(number("rungs"))}
}
