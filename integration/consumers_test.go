package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tollgate-dp/tollgate/internal/testing/fakeregistry"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/python"
)

// row is a released count in the form in which a run prints it. A consumer must read equal
// float64s.
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

// id returns the Kafka key that the row must have.
func (r row) id() string {
	return r.Metric + "|" + r.WindowStart.UTC().Format(time.RFC3339Nano) + "|" + r.Key
}

// publishedBy runs a deployment over some hours of events and returns the rows that it prints, by
// the Kafka key that each must have.
func publishedBy(t *testing.T, broker, name, outputs string) map[string]row {
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
		when := base.Truncate(24 * time.Hour).Add(time.Duration(i) * 6 * time.Hour / 2400)
		page := must.Have(json.Marshal(keys[i*i%len(keys)]))
		fmt.Fprintf(&lines, `{"user":"u%d","page":%s,"ts":%d}`+"\n", i, page, when.UnixMilli())
	}
	for path, content := range map[string][]byte{file: []byte(text), events: lines.Bytes()} {
		must.Succeed(t, os.WriteFile(path, content, 0o600))
	}
	start := base.Truncate(24 * time.Hour).Format(time.DateOnly)
	outputOf(t, binary, "init", "--config", file, "--generate-keys", "--create-topics", "--event-partitions", "1",
		"--start", start)
	outputOf(t, binary, "replay", "--config", file, "--input", events)
	out := outputOf(t, binary, "run", "--log-format", "text", "--config", file, "--until-end", "--wait", "2m",
		"--format", "json")
	printed := map[string]row{}
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
	return printed
}

// outputOf runs a command to its end and returns its stdout.
func outputOf(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v; its stderr:\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// docs/consumer.py knows only the schema and the formats of counts.
func TestAPythonConsumerReadsTheCountsThatWerePrinted(t *testing.T) {
	interpreter, broker := python.With(t, "fastavro", "kafka"), startBrokerProcess(t)
	for _, format := range []string{"json", "avro"} {
		t.Run(format, func(t *testing.T) {
			outputs, args := "counts_format: "+format, []string{"../docs/consumer.py", broker, "python-" + format +
				"-counts"}
			if format == "avro" {
				url := fakeregistry.Start(t).URL
				outputs, args = outputs+`, registry: {url: "`+url+`"}`, append(args, url)
			}
			printed := publishedBy(t, broker, "python-"+format, outputs)
			read := map[string]row{}
			for line := range bytes.Lines(outputOf(t, interpreter, args...)) {
				key, value, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
				if format == "avro" { // the text of Python's datetime
					value = regexp.MustCompile(`(-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?\+00:00")`).ReplaceAll(value,
						[]byte("${1}T$2"))
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
			if diff := cmp.Diff(printed, read); diff != "" {
				t.Errorf("(-printed +read)\n%s", diff)
			}
		})
	}
}
