package demo

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linkedin/goavro/v2"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

const visitSchema = `{"type":"record","name":"Visit","fields":[
	{"name":"who","type":{"type":"record","name":"Who","fields":[{"name":"id","type":["null","string"]}]}},
	{"name":"page","type":"string"},
	{"name":"when","type":{"type":"long","logicalType":"timestamp-millis"}}]}`

func avroFile(t *testing.T) string {
	t.Helper()
	visit := func(id any, page string, offset time.Duration) map[string]any {
		return map[string]any{"who": map[string]any{"id": id}, "page": page, "when": march.Add(offset)}
	}
	var b bytes.Buffer
	w, err := goavro.NewOCFWriter(goavro.OCFConfig{W: &b, Schema: visitSchema, CompressionName: "snappy"})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Append([]any{visit(goavro.Union("string", "u1"), "a", 2*time.Hour), visit(nil, "a", 0),
		visit(goavro.Union("string", "u2"), "b", time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "visits.avro")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAvroFilesBecomeBareRecordsWithTheirSchema(t *testing.T) {
	opt := FileOptions{Path: avroFile(t), Format: event.Format{Format: event.Avro, User: "who.id", Key: "page",
		Time: "when"}, Window: time.Hour}
	f := open(t, opt)
	d, err := event.NewDecoder(f.Traits().Format)
	if err != nil {
		t.Fatal(err)
	}
	var users []string
	for _, m := range messages(t, f) {
		var ev event.Event
		if err := d.Decode(m.Value, &ev); err != nil {
			continue
		}
		users = append(users, string(ev.User)+" "+string(ev.Key)+" "+time.UnixMilli(ev.Millis).UTC().Format("15:04"))
	}
	if got := strings.Join(users, ", "); got != "u2 b 00:01, u1 a 02:00" {
		t.Error(got)
	}
	if n := f.Faults().ByClass()[event.ClassNullField]; n != 1 {
		t.Errorf("%d records without a user", n)
	}
	if from, to := f.Range(); !from.Equal(march) || !to.Equal(march.Add(3*time.Hour)) {
		t.Errorf("from %s to %s", from, to)
	}
	opt.Format.User = "who.name"
	var bad *event.FormatError
	if _, err := OpenFile(opt); !errors.As(err, &bad) || bad.Field != "user" || !strings.Contains(err.Error(),
		opt.Path) {
		t.Errorf("field that the schema lacks: %v", err)
	}
}
