package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"

	"github.com/tollgate-dp/tollgate/internal/testing/fakeregistry"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/pipeline"
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
