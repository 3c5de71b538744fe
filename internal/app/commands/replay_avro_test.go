package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/kafka/registry"
	"github.com/tollgate-dp/tollgate/internal/testing/fakeregistry"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/pipeline"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

const visitSchema = `{"type":"record","name":"Visit","fields":[
	{"name":"who","type":{"type":"record","name":"Who","fields":[{"name":"id","type":["null","string"]}]}},
	{"name":"page","type":"string"},
	{"name":"when","type":{"type":"long","logicalType":"timestamp-millis"}}]}`

// container writes a container file of n visits over four days; the first has no
// user.
func container(t testing.TB, schema string, n int) string {
	t.Helper()
	var b bytes.Buffer
	w, err := goavro.NewOCFWriter(goavro.OCFConfig{W: &b, Schema: schema, CompressionName: "snappy"})
	if err != nil {
		t.Fatal(err)
	}
	var rows []any
	for i := range n {
		var id any
		if i > 0 {
			id = goavro.Union("string", fmt.Sprint("person-", i))
		}
		at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 4 * 24 * time.Hour / time.Duration(n))
		rows = append(rows, map[string]any{"who": map[string]any{"id": id}, "page": []string{"north", "south"}[i%2], "when": at})
	}
	if err := w.Append(rows); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "visits.avro")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// onTopic are the records of a topic, partition after partition.
func onTopic(t testing.TB, addr, topic string) []kafkalog.Record {
	t.Helper()
	c, err := kafkalog.Dial(t.Context(), kafkalog.Config{Brokers: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	partitions, err := c.Partitions(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	var out []kafkalog.Record
	for _, p := range partitions {
		bounds, err := c.Offsets(t.Context(), topic, p)
		if err != nil {
			t.Fatal(err)
		}
		err = c.ReadRange(t.Context(), topic, p, bounds.Start, bounds.LastStable, func(r kafkalog.Record) error {
			r.Value = bytes.Clone(r.Value)
			out = append(out, r)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// avroFormat is how the pipeline reads the visits; schema "" means by a registry.
func avroFormat(schema string) event.Format {
	return event.Format{Format: "avro", User: "who.id", Key: "page", Time: "when", Schema: schema}
}

// Whichever way records are written, the pipeline's decoder reads each of them
// with the record's own time; the one without a user is its dead letter, under
// the time of the first that has one.
func TestAvroRecordsAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	addr, reg := broker(t), fakeregistry.Start(t)
	file := container(t, visitSchema, 100)
	args := []string{"replay", "--brokers", addr, "--input", file, "--user-field", "who.id", "--time-field", "when"}
	avsc := write(t, "visit.avsc", strings.Replace(visitSchema, `"Visit",`, `"Visit","doc":"as documented",`, 1))
	for _, c := range []struct {
		topic, flag, value string
		before             int // bytes before a record
	}{
		{"bare", "--schema", avsc, 0},
		{"framed", "--registry", reg.URL, 5}, // a zero, and the id of the schema
	} {
		create(t, addr, kafkalog.TopicSpec{Name: c.topic, Partitions: 3})
		if _, stderr := mustRun(t, append(args, "--topic", c.topic, c.flag, c.value)...); !strings.Contains(stderr, "is on topic "+c.topic) {
			t.Errorf("%s: stderr %s", c.topic, stderr)
		}
		format, options := avroFormat(visitSchema), []event.Option(nil)
		if c.before > 0 {
			client, err := registry.New(registry.Config{URL: reg.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			format, options = avroFormat(""), append(options, event.WithSchemas(t.Context(), client))
		}
		decoder, err := event.NewDecoder(format, options...)
		if err != nil {
			t.Fatal(err)
		}
		users, letters := map[string]bool{}, 0
		for _, r := range onTopic(t, addr, c.topic) {
			var decoded event.Event
			if err := decoder.Decode(r.Value, &decoded); err != nil {
				letters++
				if first := time.Date(2025, 3, 1, 0, 57, 36, 0, time.UTC); r.Timestamp != first.UnixMilli() || !strings.Contains(err.Error(), event.ClassNullField) {
					t.Errorf("%s: %v at %v", c.topic, err, time.UnixMilli(r.Timestamp).UTC())
				}
				continue
			}
			users[string(decoded.User)+string(decoded.Key)] = true
			if decoded.Millis != r.Timestamp {
				t.Errorf("%s: event of %d at %d", c.topic, decoded.Millis, r.Timestamp)
			}
		}
		if len(users) != 99 || letters != 1 || !users["person-1south"] || !users["person-98north"] {
			t.Errorf("%s: %d users, %d dead letters", c.topic, len(users), letters)
		}
	}
	if kept := reg.Subject("framed-value"); len(kept) != 1 || kept[0] != visitSchema {
		t.Errorf("registered %v", kept)
	}
	mustRun(t, append(args, "--topic", "framed", "--registry", reg.URL)...)
	if n := len(reg.Subject("framed-value")); n != 1 {
		t.Errorf("%d schemas after a second replay of the file", n)
	}
}

// avroDeployment is the usual deployment with events in Avro, whose schema a line
// of the configuration names.
func avroDeployment(t testing.TB, addr, where string) string {
	t.Helper()
	return deploymentFile(t, addr, "format: csv", "format: avro\n  "+where, "  columns: [when, who, where]\n", "",
		"{user: who, key: where, time: when}", "{user: who.id, key: page, time: when}", "  time_unit: rfc3339\n", "")
}

// The whole way: what replay writes by a configuration is what a run by the same
// configuration counts.
func TestFromAContainerToCounts(t *testing.T) {
	t.Parallel()
	long.Test(t)
	for _, way := range []string{"a schema file", "a registry"} {
		t.Run(way, func(t *testing.T) {
			where := "registry: {url: \"" + fakeregistry.Start(t).URL + "\"}"
			if way == "a schema file" {
				where = "schema: " + write(t, "visit.avsc", visitSchema)
			}
			cfg := avroDeployment(t, broker(t), where)
			mustRun(t, "init", "--config", cfg, "--generate-keys", "--create-topics", "--event-partitions", "2", "--start", "2025-03-01")
			mustRun(t, "replay", "--config", cfg, "--input", container(t, visitSchema, 4000))
			report := filepath.Join(t.TempDir(), "tallies.json")
			stdout, _ := mustRun(t, "run", "--config", cfg, "--until-end", "--wait", "1m", "--format", "json", "--trusted-report", report)
			released := 0
			for _, r := range parse(t, stdout) {
				if r.WindowStart.After(time.Date(2025, 3, 4, 0, 0, 0, 0, time.UTC)) {
					continue
				}
				released++
				if want := map[string]float64{"north": 500, "south": 500, "west": 0}[r.Key]; r.Value < want-150 || r.Value > want+150 {
					t.Errorf("release %+v", r)
				}
			}
			text, err := os.ReadFile(report)
			if err != nil {
				t.Fatal(err)
			}
			var tallies pipeline.Tallies
			if err := json.Unmarshal(text, &tallies); err != nil || tallies.Read != 4000 || tallies.Accepted != 3999 || released != 12 {
				t.Errorf("%d releases, tallies %+v, %v", released, tallies, err)
			}
		})
	}
}
