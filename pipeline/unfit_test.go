package pipeline

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/connect"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// Schemas that others have registered, by id; 7 is the topic's own.
var otherSchemas = map[int]map[string]any{
	8:  {"schema": `{"type":"record","name":"order","fields":[{"name":"id","type":"long"}]}`},
	9:  {"schema": `syntax = "proto3";`, "schemaType": "PROTOBUF"},
	10: {"schema": `"order"`, "references": []map[string]any{{"name": "order", "subject": "order", "version": 1}}},
}

func sharedRegistry(t *testing.T) string {
	t.Helper()
	own := map[string]any{"subject": "events-value", "version": 1, "id": 7, "schema": `{"type":"record","name":"visit","fields":[` +
		`{"name":"user","type":"string"},{"name":"key","type":"string"},{"name":"time","type":{"type":"long","logicalType":"timestamp-millis"}}]}`}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := own
		if id, found := strings.CutPrefix(r.URL.Path, "/schemas/ids/"); found && id != "7" {
			n, _ := strconv.Atoi(id)
			if answer = otherSchemas[n]; answer == nil {
				w.WriteHeader(http.StatusNotFound)
				answer = map[string]any{"error_code": 40403, "message": "Schema not found"}
			}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func visitOf(id int, user, key string, at int64) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(id))
	for _, text := range []string{user, key} {
		b = append(binary.AppendVarint(b, int64(len(text))), text...)
	}
	return binary.AppendVarint(b, at)
}

// A producer can name any schema of a registry that others use as well. The run and the counts of
// all other users go on as without such records, and the trusted side is told once per schema.
func TestRuleARecordOfAnotherSchemaStopsNoRun(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	values := map[bool][]schemas.Release{}
	for _, hostile := range []bool{false, true} {
		cfg := deploytest.Config(deploytest.Start(t).Addr())
		cfg.Events.Format = event.Format{Format: "avro", User: "user", Key: "key", Time: "time"}
		cfg.Events.Registry = &deployment.Registry{URL: sharedRegistry(t)}
		d := deploy(t, cfg, start, 1)
		client, err := connect.Dial(t.Context(), d.Config.Kafka, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		producer, err := client.NewProducer(t.Context(), "events", 0, "")
		if err != nil {
			t.Fatal(err)
		}
		defer producer.Close()
		want := map[string]uint64{}
		var msgs []kafkalog.Message
		for i := range int64(120) {
			at := start.Add(time.Duration(i) * time.Second).UnixMilli()
			add := func(value []byte) { msgs = append(msgs, kafkalog.Message{Value: value, Timestamp: kafkalog.At(at)}) }
			if hostile && i%10 == 0 {
				for id := range otherSchemas {
					add(visitOf(id, "evil", "a", at))
					want[event.ClassUnfitSchema]++
				}
				add(visitOf(1000+int(i), "evil", "a", at))
				want[event.ClassUnknownSchema]++
			}
			add(visitOf(7, "u"+strconv.FormatInt(i%5, 10), "a", at))
		}
		if _, err := producer.Append(t.Context(), msgs); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := Run(t.Context(), d, RunOptions{Bounded: true, Logger: deploytest.Logger(&out)}); err != nil {
			t.Fatal(err)
		}
		report, err := TrustedReport(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if report.Accepted != 120 || !maps.Equal(report.DeadLettered, want) {
			t.Errorf("accepted %d, want 120; dead letters %v, want %v", report.Accepted, report.DeadLettered, want)
		}
		for _, says := range []string{"schema=8 ", "schema=9 ", "schema=10 ", "the schema's record order has no field", "PROTOBUF", "refers to 1 other"} {
			if got := strings.Count(out.String(), says); hostile && got != 1 || !hostile && got != 0 {
				t.Errorf("hostile %v: %q told %d times: %s", hostile, says, got, &out)
			}
		}
		if values[hostile], err = ReadReleases(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if len(values[false]) != 6 || !slices.Equal(values[false], values[true]) {
		t.Errorf("values %+v, without the records of other schemas %+v", values[true], values[false])
	}
}
