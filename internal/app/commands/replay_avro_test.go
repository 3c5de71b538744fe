package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
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

// Nothing is written where the pipeline would not read it: the message says what
// differs and where, and the topic stays empty.
func TestAvroFilesThatATopicCannotTake(t *testing.T) {
	t.Parallel()
	addr, reg, strict := broker(t), fakeregistry.Start(t), fakeregistry.Start(t)
	strict.Refuse = http.StatusConflict
	create(t, addr, kafkalog.TopicSpec{Name: "visits", Partitions: 1})
	file := container(t, visitSchema, 10)
	avsc := write(t, "visit.avsc", visitSchema)
	micros := write(t, "micros.avsc", strings.Replace(visitSchema, "millis", "micros", 1))
	turned := write(t, "turned.avsc", strings.Replace(visitSchema, `["null","string"]`, `["string","null"]`, 1))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	local, remote := avroDeployment(t, addr, "schema: "+micros), avroDeployment(t, addr, "registry: {url: \""+reg.URL+"\"}")
	lacking := deploymentFile(t, addr, "format: csv", "format: avro\n  registry: {url: \""+reg.URL+"\"}", "  columns: [when, who, where]\n", "",
		"{user: who, key: where, time: when}", "{user: who.id, key: pagina, time: when}", "  time_unit: rfc3339\n", "")
	with := func(more ...string) []string {
		return append([]string{"replay", "--brokers", addr, "--topic", "visits", "--input", file, "--user-field", "who.id", "--time-field", "when"}, more...)
	}
	of := func(input string, more ...string) []string {
		return append([]string{"replay", "--brokers", addr, "--topic", "visits", "--input", input, "--user-field", "who.id", "--time-field", "when"}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"neither schema nor registry", with(), 2, "--registry URL if each begins with the id of its schema, --schema FILE.avsc if they are bare"},
		{"schema and registry", with("--schema", avsc, "--registry", reg.URL), 2, "give --schema or --registry"},
		{"user of no registry", with("--schema", avsc, "--registry-user", "ann"), 2, "are only used with --registry"},
		{"registry without an address", with("--registry", "registry"), 2, "must be http://host:port"},
		{"registry user without a password", with("--registry", reg.URL, "--registry-user", "ann"), 2, "--registry-user needs"},
		{"password that is not set", with("--registry", reg.URL, "--registry-user", "ann", "--registry-password-env", "P"), 2, "P is not set"},
		{"two passwords", with("--registry", reg.URL, "--registry-user", "ann", "--registry-password-env", "P", "--registry-password-file", avsc), 2, "not both"},
		{"missing password file", with("--registry", reg.URL, "--registry-user", "ann", "--registry-password-file", "/nowhere/p"), 1, "/nowhere/p"},
		{"missing schema file", with("--schema", "/nowhere/visit.avsc"), 1, "/nowhere/visit.avsc"},
		{"schema file without a schema", with("--schema", file), 3, "the schema is not JSON"},
		{"field that the schema lacks", of(file, "--schema", avsc, "--user-field", "who.name"), 2, `no field "name"`},
		{"field that the file lacks", of(file, "--registry", reg.URL, "--user-field", "who.name"), 1, `no field "name"`},
		{"columns of a container", with("--schema", avsc, "--header"), 2, "for csv and tsv"},
		{"schema for csv", with("--schema", avsc, "--input-format", "csv", "--header"), 2, "--schema is for avro, the input is csv"},
		{"registry beside a file", []string{"replay", "--config", remote, "--input", file, "--registry", reg.URL}, 2, "leave out --registry: the file of --config sets it"},
		{"container for csv", []string{"replay", "--config", deploymentFile(t, addr), "--input", file}, 2, "--input-format is avro, but events.format in the configuration is csv"},
		{"registry of a file without an address", []string{"replay", "--config", avroDeployment(t, addr, `registry: {url: "registry"}`), "--input", file}, 3, "events.registry.url: "},
		{"header of a container", []string{"replay", "--config", remote, "--input", file, "--header"}, 2, "--header is for csv and tsv"},

		{"no container", of(avsc, "--input-format", "avro", "--schema", avsc), 1, "it does not begin as one"},
		{"another unit of time", []string{"replay", "--config", local, "--input", file}, 1,
			"field when is long (timestamp-millis) in the file, long (timestamp-micros) on the topic; bare records must be written with the topic's schema"},
		{"another order of branches", with("--schema", turned), 1, "field who.id is null in the file, string on the topic"},
		{"schema that lacks a configured field", []string{"replay", "--config", lacking, "--input", file}, 1, `no field "pagina"`},
		{"schema that the subject refuses", with("--registry", strict.URL), 1, "the new schema lacks the field cart"},
		{"missing topic", append(with("--registry", reg.URL), "--topic", "nowhere"), 1, "nowhere"},
	} {
		code, stdout, stderr := run(t, c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "error: ") {
			t.Errorf("%s: exit %d, want %d; stdout %q, stderr %q does not say %q", c.name, code, c.code, stdout, stderr, c.want)
		}
	}
	if n := len(onTopic(t, addr, "visits")); n != 0 || len(reg.Subject("visits-value")) != 0 {
		t.Errorf("%d records on the topic, schemas registered: %q", n, reg.Subject("visits-value"))
	}

	// A container that breaks off was right until there.
	cut := filepath.Join(t.TempDir(), "cut.avro")
	if err := os.WriteFile(cut, append(whole, whole[len(whole)-40:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := run(t, of(cut, "--schema", avsc)...)
	if n := len(onTopic(t, addr, "visits")); code != exitError || n != 10 || !strings.Contains(stderr, "the records before that (10) are on the topic") {
		t.Errorf("a cut container: exit %d, %d records, stderr %s", code, n, stderr)
	}
}
