package pipeline

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/internal/base/kafka/registry"
	"github.com/tollgate-dp/tollgate/internal/testing/deploytest"
	"github.com/tollgate-dp/tollgate/internal/testing/fakeregistry"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/internal/countslog"
	"github.com/tollgate-dp/tollgate/schemas"
)

// valuesOn returns the values on a counts topic, by their Kafka keys; one key has one value.
func valuesOn(t *testing.T, d *deployment.Deployment) map[string]string {
	t.Helper()
	values := map[string]string{}
	for shard := range int32(d.Config.ReleaseShards) {
		eachRecord(t, d, d.Config.Outputs.Counts, shard, func(r kafkalog.Record) {
			if countslog.TypeOf(&r) != schemas.TypeRelease {
				return
			}
			if old, again := values[string(r.Key)]; again && old != string(r.Value) {
				t.Errorf("%s has two values", r.Key)
			}
			values[string(r.Key)] = string(r.Value)
		})
	}
	return values
}

func inRegistry(url string) func(*deployment.Config) {
	return func(c *deployment.Config) { c.Outputs.Registry = &deployment.Registry{URL: url} }
}

const countsSubject = "tollgate-counts-value"

// Without a registry values are JSON, with one they carry the id from Init. A run, even one that
// redoes a turn, does not ask the registry.
func TestRuleARunNeverAsksTheRegistryForCounts(t *testing.T) {
	t.Parallel()
	reg := fakeregistry.Start(t)
	reg.Add("another-value", `"string"`)
	plain := ran(t, tenTurns(t, func(*deployment.Config) {}))
	framed := tenTurns(t, inRegistry(reg.URL))
	if kept := reg.Subject(countsSubject); len(kept) != 1 || kept[0] != schemas.ReleaseSchema() {
		t.Fatalf("init has registered %q", kept)
	}
	reg.Requests()
	diesBeforeSettling(t, framed, 3)
	ran(t, framed)
	if asked := reg.Requests(); len(asked) > 0 {
		t.Errorf("runs have asked %q", asked)
	}
	inJSON, inAvro := valuesOn(t, plain), valuesOn(t, framed)
	if len(inJSON) != 30 || len(inAvro) != 30 {
		t.Fatalf("%d and %d values, want 30", len(inJSON), len(inAvro))
	}
	for key, value := range inAvro {
		if !strings.HasPrefix(value, "\x00\x00\x00\x00\x65") { // the second schema of this registry
			t.Errorf("%s begins with %x", key, value[:5])
		}
		r := must.Have(schemas.DecodeRelease([]byte(value)))
		release, err := schemas.DecodeReleaseKey([]byte(key))
		if err != nil || release != (schemas.ReleaseKey{Metric: r.Metric, WindowStart: r.WindowStart, Key: r.Key}) {
			t.Errorf("%s is the key of %+v, %v", key, r, err)
		}
		json, err := schemas.EncodeRelease(schemas.CountsEncoding{Format: schemas.CountsJSON}, r)
		if err != nil || inJSON[key] != string(json) {
			t.Errorf("%s is %s in the deployment without a registry, want %s", key, inJSON[key], json)
		}
	}
	if got := len(released(t, framed)); got != 30 {
		t.Errorf("%d values are read back", got)
	}
}

// An init that ends between registration and HEADER does no harm; one with a refused schema writes
// no HEADER.
func TestInitRegistersTheSchemaOfCounts(t *testing.T) {
	t.Parallel()
	reg := fakeregistry.Start(t)
	cfg := deploytest.Config(deploytest.Start(t).Addr())
	inRegistry(reg.URL)(&cfg)
	d := mustCompile(t, cfg)
	must.Succeed(t, CreateTopics(t.Context(), d, TopicOptions{EventPartitions: 1}))
	reg.Refuse = http.StatusConflict
	err := Init(t.Context(), d, InitOptions{})
	if !errors.Is(err, registry.ErrIncompatible) || !strings.Contains(err.Error(), countsSubject) ||
		!strings.Contains(err.Error(), "outputs.counts") {
		t.Fatalf("the registry refuses the schema, and init says %v", err)
	}
	if err := CheckTopics(t.Context(), d, CheckOptions{Start: true}); err != nil {
		t.Errorf("before init: %v", err)
	}
	reg.Refuse = 0
	reg.Add(countsSubject, schemas.ReleaseSchema()) // as an init that was killed afterwards
	reg.Requests()
	must.Succeed(t, Init(t.Context(), d, InitOptions{Start: time.Unix(0, 0)}))
	if asked := reg.Requests(); !slices.Equal(asked, []string{"POST /subjects/" + countsSubject}) {
		t.Errorf("a schema that is registered: init asked %q", asked)
	}
	if err := CheckTopics(t.Context(), d, CheckOptions{Start: true}); err != nil {
		t.Errorf("after init: %v", err)
	}
}

// Another format is a change like any other; values that were published stay as they are, and are
// read.
func TestTheFormatOfCountsCanBeChanged(t *testing.T) {
	t.Parallel()
	reg := fakeregistry.Start(t)
	d := ran(t, tenTurns(t, func(*deployment.Config) {}))
	before := valuesOn(t, d)
	next := d.Config
	next.Outputs.CountsFormat = schemas.CountsAvro
	inRegistry(reg.URL)(&next)
	framed := mustCompile(t, next)
	if _, err := Run(t.Context(), framed, RunOptions{Bounded: true}); !errors.Is(err, deployment.ErrHeaderMismatch) ||
		!strings.Contains(err.Error(), "the format of counts differs (outputs.counts_format: in force json, "+
			"configured avro)") {
		t.Fatal(err)
	}
	reg.Requests()
	if result, err := Change(t.Context(), framed, ChangeOptions{DryRun: true}); err != nil || len(result.Differences) !=
		1 {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, asked := range reg.Requests() {
		if strings.HasSuffix(asked, "/versions") {
			t.Errorf("a dry run has asked %s", asked)
		}
	}
	must.Have(Change(t.Context(), framed, ChangeOptions{}))
	appendRecord(t, framed, framed.Config.Events.Topic, eventsAt(time.Date(2026, 1, 1, 0, 0, 12, 0, time.UTC), 1)[0])
	ran(t, framed)
	after := valuesOn(t, framed)
	for key, value := range before {
		if after[key] != value {
			t.Errorf("%s has another value after the change", key)
		}
		delete(after, key)
	}
	for key, value := range after {
		if !strings.HasPrefix(value, "\x00\x00\x00\x00\x64") {
			t.Errorf("%s is %q", key, value)
		}
	}
	if got := len(released(t, framed)); len(after) == 0 || got != len(before)+len(after) {
		t.Errorf("%d values are read, %d of them new", got, len(after))
	}
}
