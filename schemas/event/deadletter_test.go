package event

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tollgate-dp/tollgate/schemas"
)

// Whatever is wrong with a record, its dead letter has the record as it was, where it stood, and
// why.
func TestDeadLettersKeepTheRecordAndSayWhereAndWhy(t *testing.T) {
	long := strings.Repeat("x", schemas.MaxUserBytes+1)
	known := &registry{schemas: map[uint32]string{7: typed(`"string"`, `"string"`, `"long"`), 9: `"long"`}}
	avro := typedFormat("", "", "", "s")
	local := avro
	local.Schema = known.schemas[7]
	avro.Schema = ""
	fromRegistry, err := NewDecoder(avro, WithSchemas(t.Context(), known))
	if err != nil {
		t.Fatal(err)
	}
	valued := jsonFormat("s")
	valued.Value = "n"
	seen := map[string]bool{}
	for _, c := range []struct {
		decoder *Decoder
		value   string
		class   string
	}{
		{newDecoder(t, jsonFormat("s")), "", ClassUndecodable},
		{newDecoder(t, jsonFormat("s")), `{"user":"u","t":1}`, ClassMissingField},
		{newDecoder(t, jsonFormat("s")), `{"user":null,"page":"p","t":1}`, ClassNullField},
		{newDecoder(t, jsonFormat("s")), `{"user":[],"page":"p","t":1}`, ClassWrongType},
		{newDecoder(t, jsonFormat("s")), `{"user":"u","page":"p","t":"x"}`, ClassBadTimestamp},
		{newDecoder(t, jsonFormat("s")), `{"user":"","page":"p","t":1}`, ClassEmptyUser},
		{newDecoder(t, jsonFormat("s")), `{"user":"` + long + `","page":"p","t":1}`, ClassUserTooLong},
		{newDecoder(t, jsonFormat("s")), `{"user":"u","page":"` + long + `","t":1}`, ClassKeyTooLong},
		{newDecoder(t, rowFormat("csv", "s")), "1,u,x,\xff,y", ClassBadKey},
		{newDecoder(t, jsonFormat("s")), strings.Repeat(" ", DefaultMaxRecordBytes+1), ClassOversized},
		{fromRegistry, string(wire(7, "\x02u\x02k")), ClassUndecodable},
		{fromRegistry, string(wire(8, "\x02u\x02k\x02")), ClassUnknownSchema},
		{fromRegistry, string(wire(9, "\x02u\x02k\x02")), ClassUnfitSchema},
		{fromRegistry, "\x02u\x02k\x02", ClassUnframed},
		{newDecoder(t, local), string(wire(7, "\x02u\x02k\x02")), ClassFramed},
		{newDecoder(t, jsonFormat("s")), string(wire(7, `{"user":"u","page":"p","t":1}`)), ClassFramed},
		{newDecoder(t, rowFormat("csv", "s")), string(wire(7, "1,u,x,p,y,z")), ClassFramed},
		{newDecoder(t, jsonFormat("s")), "\x1f\x8b\x08\x00\x00\x00", ClassPacked},
		{newDecoder(t, jsonFormat("s")), "{\x00\"\x00u\x00", ClassNotUTF8},
		{newDecoder(t, jsonFormat("s")), "\x00{\x00\"\x00u", ClassNotUTF8},
		{newDecoder(t, jsonFormat("s")), "{\"user\":\"\xe9\"}", ClassNotUTF8},
		{newDecoder(t, jsonFormat("s")), `"{\"user\":\"u\"}"`, ClassInString},
		{newDecoder(t, valued), `{"user":"u","page":"p","t":1,"n":"N/A"}`, ClassBadValue},
		{newDecoder(t, valued), `{"user":"u","page":"p","t":1,"n":" "}`, ClassNoValue},
	} {
		value := []byte(c.value)
		if got := classOf(t, c.decoder.Decode(value, new(Event))); got != c.class {
			t.Errorf("class %q, want %q", got, c.class)
			continue
		}
		seen[c.class] = true
		origin := schemas.Origin{Topic: "visits", Partition: 3, Offset: 1 << 40, Timestamp: 1700000000123}
		headers := []schemas.RecordHeader{{Key: "trace", Value: []byte{0, 1}}, {Key: "tollgate-class", Value: []byte("faked")}}
		m := schemas.DeadLetter(origin, c.class, []byte("key"), value, headers, 2<<20)
		info, err := schemas.ReadDeadLetter(m.Headers)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(m.Value, value) || string(m.Key) != "key" || info.Origin != origin || info.Class != c.class || info.Length != int64(len(value)) {
			t.Errorf("%s: %+v", c.class, info)
		}
		if len(info.Original) != 2 || info.Original[0].Key != "trace" || !bytes.Equal(info.Original[0].Value, headers[0].Value) || string(info.Original[1].Value) != "faked" {
			t.Errorf("%s: headers %+v", c.class, info.Original)
		}
	}
	for _, class := range Classes() {
		if !seen[class] {
			t.Errorf("no record of class %s was tried", class)
		}
	}
}
