package replay

import (
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

// A record without bytes is broken, but not a tombstone.
func TestARecordWithoutBytesIsNotNull(t *testing.T) {
	r := Replay{schema: `"bytes"`, scratch: make([]byte, 0, schemas.RegistryBytes)}
	if got := r.framed(nil); got == nil || len(got) != 0 {
		t.Errorf("bare: %#v", got)
	}
	r.prefix = []byte{0, 0, 0, 1, 2}
	if got := string(r.framed(nil)) + string(r.framed([]byte("x"))); got !=
		"\x00\x00\x00\x01\x02\x00\x00\x00\x01\x02x" {
		t.Errorf("framed: %q", got)
	}
}

// Bare records go on a topic only if they were written with the topic's schema.
func TestBareRecordsNeedTheTopicsSchema(t *testing.T) {
	schema := func(doc, unit string) string {
		return `{"type":"record","name":"R","doc":"` + doc + `","fields":[{"name":"next","type":["null","R"]},` +
			`{"name":"t","type":{"type":"long","logicalType":"timestamp-` + unit + `"}}]}`
	}
	for file, same := range map[string]bool{schema("other", "millis"): true, schema("", "micros"): false, "{": false} {
		if err := checkSchema(file, schema("", "millis")); (err == nil) != same {
			t.Errorf("%s: %v", file, err)
		}
	}
}
