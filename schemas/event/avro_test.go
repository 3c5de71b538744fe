package event

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
)

// visitSchema has seven fields, a nested record and unions, as producers write them.
const visitSchema = `{"type":"record","name":"Visit","namespace":"shop.web","fields":[
	{"name":"id","type":"string"},
	{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"user","type":{"type":"record","name":"User","fields":[
		{"name":"id","type":["null","string"]},
		{"name":"plan","type":{"type":"enum","name":"Plan","symbols":["free","paid"]}}]}},
	{"name":"page","type":["null","string"]},
	{"name":"amount","type":["null","int","string"]},
	{"name":"price","type":"double"},
	{"name":"tags","type":{"type":"array","items":"string"}}]}`

func visitFormat() Format {
	return Format{Format: "avro", Schema: visitSchema, User: "user.id", Key: "page", Time: "at"}
}

func visit(user, page, amount any) map[string]any {
	return map[string]any{"id": "4711", "at": int64(1700000000123), "user": map[string]any{"id": user, "plan": "paid"},
		"page": page, "amount": amount, "price": 9.5, "tags": []any{"a", "b"}}
}

func text(s string) any { return goavro.Union("string", s) }

func encode(t testing.TB, schema string, v any) []byte {
	t.Helper()
	c, err := goavro.NewCodec(schema)
	if err != nil {
		t.Fatal(err)
	}
	// goavro takes a logical time for a time.Time or a number.
	b, err := c.BinaryFromNative(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAvroFieldsAreFoundInNestedRecordsAndUnions(t *testing.T) {
	f := visitFormat()
	f.Value = "amount"
	f.Filters = []string{`user.plan == "paid"`, `"b" in tags and price > 9`, `amount > 5`, `page == "/x"`}
	d := newDecoder(t, f)
	for _, c := range []struct {
		name               string
		user, page, amount any
		class, field       string
		passes             uint64
	}{
		{"all there", text("u1"), text("/x"), goavro.Union("int", 7), "", "", 0b1111},
		{"other values", text("u1"), text("/y"), goavro.Union("int", -7), "", "", 0b0011},
		{"null user", nil, text("/x"), goavro.Union("int", 7), ClassNullField, "user", 0},
		{"null key", text("u1"), nil, goavro.Union("int", 7), ClassNullField, "key", 0},
		{"null value", text("u1"), text("/x"), nil, ClassNoValue, "value", 0},
		{"value of a branch that is no integer", text("u1"), text("/x"), text("7"), ClassBadValue, "value", 0},
		{"empty user", text(""), text("/x"), goavro.Union("int", 7), ClassEmptyUser, "user", 0},
		{"key not UTF-8", text("u1"), text("\xff"), goavro.Union("int", 7), ClassBadKey, "key", 0},
	} {
		var ev Event
		err := d.Decode(encode(t, visitSchema, visit(c.user, c.page, c.amount)), &ev)
		var bad *Error
		if errors.As(err, &bad); classOf(t, err) != c.class || c.class != "" && bad.Field != c.field {
			t.Errorf("%s: %v, want %s of %s", c.name, err, c.class, c.field)
			continue
		}
		if err == nil && (string(ev.User) != "u1" || ev.Millis != 1700000000123 || ev.Passes != c.passes) {
			t.Errorf("%s: %+v", c.name, ev)
		}
	}
}

func typed(user, key, time string) string {
	return fmt.Sprintf(`{"type":"record","name":"R","fields":[{"name":"u","type":%s},{"name":"k","type":%s},`+
		`{"name":"t","type":%s}]}`, user, key, time)
}

func typedFormat(user, key, time, unit string) Format {
	return Format{Format: "avro", Schema: typed(user, key, time), User: "u", Key: "k", Time: "t", TimeUnit: unit}
}

func avroText(s string) string { return string(binary.AppendVarint(nil, int64(len(s)))) + s }

func avroLongText(n int64) string { return string(binary.AppendVarint(nil, n)) }

func avroDoubleText(f float64) string {
	return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
}

func TestAvroTypesOfUsersKeysAndTimes(t *testing.T) {
	const ms, micros = `{"type":"long","logicalType":"timestamp-millis"}`,
		`{"type":"long","logicalType":"timestamp-micros"}`
	long, ab := avroLongText(1), avroText("a")+avroText("b")
	for _, c := range []struct {
		user, key, time, unit, value string
		wantUser, wantKey, class     string
		millis                       int64
	}{
		{`"string"`, `"string"`, ms, "", avroText("a") + avroText("b") + long, "a", "b", "", 1},
		{`"string"`, `"string"`, ms, "ms", avroText("a") + avroText("") + long, "a", "", "", 1},
		{`"bytes"`, `"int"`, micros, "", avroText("\xff") + avroLongText(-3) + avroLongText(-1), "\xff", "-3", "", -1},
		{`"int"`, `"long"`, `"long"`, "s", avroLongText(17) + avroLongText(1<<40) + avroLongText(-2), "17",
			"1099511627776", "", -2000},
		{`"long"`, `"boolean"`, `"int"`, "ms", avroLongText(-5) + "\x01" + long, "-5", "true", "", 1},
		{`"long"`, `{"type":"enum","name":"E","symbols":["A","B"]}`, `"double"`, "s",
			avroLongText(5) + avroLongText(1) + avroDoubleText(1700000000.123), "5", "B", "", 1700000000123},
		{`{"type":"fixed","name":"F","size":16,"logicalType":"uuid"}`, `"string"`, `"string"`, "rfc3339",
			"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff" + avroText("k") +
				avroText("1970-01-01T00:00:01Z"),
			"00112233-4455-6677-8899-aabbccddeeff", "k", "", 1000},
		{`{"type":"fixed","name":"F","size":2}`, `"string"`, `"long"`, "us", "\x00\x01" + avroText("k") +
			avroLongText(-1), "\x00\x01", "k", "", -1},
		{`["null","string","long"]`, `["string","boolean"]`, `["null",` + ms + `]`, "", avroLongText(2) +
			avroLongText(9) + avroLongText(1) + "\x00" + avroLongText(1) + long, "9", "false", "", 1},
		{`"string"`, `"string"`, `"string"`, "rfc3339", ab + avroText("now"), "", "", ClassBadTimestamp, 0},
		{`"string"`, `"string"`, `"double"`, "s", ab + avroDoubleText(math.NaN()), "", "", ClassBadTimestamp, 0},
		{`"string"`, `"string"`, `"double"`, "s", ab + avroDoubleText(math.Inf(1)), "", "", ClassBadTimestamp, 0},
		{`"string"`, `"string"`, `"long"`, "s", ab + avroLongText(math.MaxInt64), "", "", ClassBadTimestamp, 0},
		{`"string"`, `"string"`, ms, "", ab + avroLongText(maxMillis+1), "", "", ClassBadTimestamp, 0},
		{`"string"`, `"string"`, ms, "", avroText("a") + avroText("b") + long + "x", "", "", ClassUndecodable, 0},
		{`"string"`, `"string"`, ms, "", avroText("a") + avroText("b"), "", "", ClassUndecodable, 0},
		{`"string"`, `{"type":"enum","name":"E","symbols":["A"]}`, ms, "", avroText("a") + "\x02" + long, "", "",
			ClassUndecodable, 0},
		{`"string"`, `"string"`, ms, "", "", "", "", ClassUndecodable, 0},
		{`"string"`, `"string"`, ms, "", avroLongText(-1) + avroText("b") + long, "", "", ClassUndecodable, 0},
		{`"string"`, `"string"`, ms, "", avroLongText(1<<40) + avroText("b") + long, "", "", ClassUndecodable, 0},
	} {
		var ev Event
		err := newDecoder(t, typedFormat(c.user, c.key, c.time, c.unit)).Decode([]byte(c.value), &ev)
		if got := classOf(t, err); got != c.class {
			t.Errorf("%s %s %s: class %q, want %q", c.user, c.key, c.time, got, c.class)
			continue
		}
		if err == nil && (string(ev.User) != c.wantUser || string(ev.Key) != c.wantKey || ev.Millis != c.millis) {
			t.Errorf("%s %s %s: %q %q %d, want %q %q %d", c.user, c.key, c.time, ev.User, ev.Key, ev.Millis, c.wantUser,
				c.wantKey, c.millis)
		}
	}
}

// Branches of a union may be records of other fields, and may have times in other units.
func TestARecordHasOnlyFieldsOfItsBranch(t *testing.T) {
	branches := func(b string) string {
		return `["null",{"type":"record","name":"A","fields":[{"name":"u","type":"string"},{"name":"t","type":` +
			`{"type":"long","logicalType":"timestamp-millis"}}]},{"type":"record","name":"B","fields":[` + b + `]}]`
	}
	f := typedFormat(branches(`{"name":"w","type":"string"}`), `"string"`, `"long"`, "s")
	f.User = "u.u"
	d := newDecoder(t, f)
	var ev Event
	if err := d.Decode([]byte("\x02\x02a\x00\x02k\x02"), &ev); err != nil || string(ev.User) != "a" {
		t.Fatalf("%+v, %v", ev, err)
	}
	if class := classOf(t, d.Decode([]byte("\x04\x02b\x02k\x02"), &ev)); class != ClassMissingField {
		t.Errorf("a branch without the user: %q", class)
	}
	micros := branches(`{"name":"t","type":{"type":"long","logicalType":"timestamp-micros"}}`)
	f.Schema = typed(micros, `"string"`, `"int"`)
	f.User, f.Time, f.TimeUnit = "k", "u.t", ""
	if err := f.Check(); err == nil || !strings.Contains(err.Error(), "in ms and in us") {
		t.Errorf("times in two units: %v", err)
	}
}

// A null record or user does not affect how later records are read.
func TestANullChangesNothingForLaterRecords(t *testing.T) {
	f := typedFormat(`["null",{"type":"record","name":"A","fields":[{"name":"u","type":["null","string"]}]}]`,
		`"string"`, `"long"`, "s")
	f.User = "u.u"
	d := newDecoder(t, f)
	for i, record := range []string{"\x02\x02\x02a", "\x00", "\x02\x02\x02b", "\x02\x00", "\x02\x02\x02c"} {
		var ev Event
		class := classOf(t, d.Decode([]byte(record+"\x02k\x02"), &ev))
		if want := []string{"a", ClassNullField, "b", ClassNullField, "c"}[i]; class+string(ev.User) != want {
			t.Errorf("record %d: %q of user %q, want %q", i, class, ev.User, want)
		}
	}
}

// Items without bytes would let a short record claim any number of them.
func TestArraysOfNothingAreRefused(t *testing.T) {
	for _, items := range []string{`"null"`, `{"type":"record","name":"E","fields":[{"name":"n","type":"null"}]}`,
		`{"type":"fixed","name":"F","size":0}`} {
		f := typedFormat(`"string"`, `["null",{"type":"array","items":`+items+`},"string"]`, `"long"`, "s")
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), "no bytes") {
			t.Errorf("%s: %v", items, err)
		}
	}
}

// registry is a SchemaSource that counts questions.
type registry struct {
	schemas  map[uint32]string
	down     error
	requests int
}

func (r *registry) Schema(_ context.Context, id uint32) (string, error) {
	r.requests++
	if r.down != nil {
		return "", r.down
	}
	if s, ok := r.schemas[id]; ok {
		if s == "protobuf" {
			return "", fmt.Errorf("asking: %w: it is a schema of type PROTOBUF", ErrUnfitSchema)
		}
		return s, nil
	}
	return "", fmt.Errorf("asking: %w", ErrUnknownSchema)
}

func wire(id uint32, b string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, id), b...)
}

func TestRecordsAreReadByTheSchemaThatTheyName(t *testing.T) {
	s, ms := `"string"`, `{"type":"long","logicalType":"timestamp-millis"}`
	r := &registry{schemas: map[uint32]string{
		7: typed(s, s, ms), 8: typed(s, `"long"`, ms),
	}}
	f := typedFormat(s, s, ms, "")
	f.Schema = ""
	must.Succeed(t, f.Check())
	d := must.Have(NewDecoder(f, WithSchemas(t.Context(), r)))
	var ev Event
	for range 3 {
		if err := d.Decode(wire(7, avroText("u")+avroText("k")+avroLongText(1)), &ev); err != nil ||
			string(ev.Key) != "k" {
			t.Fatal(err, ev)
		}
		if err := d.Decode(wire(8, avroText("u")+avroLongText(5)+avroLongText(1)), &ev); err != nil ||
			string(ev.Key) != "5" {
			t.Fatal(err, ev)
		}
		if class := classOf(t, d.Decode(wire(11, ""), &ev)); class != ClassUnknownSchema {
			t.Errorf("unknown id: %q", class)
		}
	}
	if r.requests != 3 {
		t.Errorf("the registry was asked %d times for three ids", r.requests)
	}
	for _, value := range [][]byte{{}, {0}, {0, 0, 0, 7}, wire(7, "")} {
		if class := classOf(t, d.Decode(value, &ev)); class != ClassUndecodable {
			t.Errorf("%x: %q", value, class)
		}
	}
	r.down = errors.New("connection refused")
	var bad *Error
	if err := d.Decode(wire(12, ""), &ev); !errors.Is(err, r.down) || errors.As(err, &bad) {
		t.Errorf("registry down: %v", err)
	}
	r.down = nil
	if class := classOf(t, d.Decode(wire(12, ""), &ev)); class != ClassUnknownSchema {
		t.Errorf("registry back: %q", class)
	}
}

// A producer can name any schema of the registry in a record: another topic's, one of another kind,
// a broken one. Such records are dead letters, the schema and the reason are reported once, and the
// records of other producers are read as before.
func TestRuleARecordOfAnySchemaStopsNothing(t *testing.T) {
	s, ms := `"string"`, `{"type":"long","logicalType":"timestamp-millis"}`
	r := &registry{schemas: map[uint32]string{
		7: typed(s, s, ms), 8: typed(s, s, `"boolean"`), 9: `{"type":"record","name":"R","fields":[]}`, 10: "{",
		11: `"string"`, 12: "protobuf",
	}}
	f := typedFormat(s, s, ms, "")
	f.Schema = ""
	reported := map[uint32][]error{}
	d := must.Have(NewDecoder(f, WithSchemas(t.Context(), r),
		OnUnfitSchema(func(id uint32, reason error) { reported[id] = append(reported[id], reason) })))
	ids := []uint32{8, 9, 10, 11, 12}
	var ev Event
	for range 3 {
		for _, id := range ids {
			for _, body := range []string{"", avroText("u") + avroText("k") + avroLongText(1)} {
				if class := classOf(t, d.Decode(wire(id, body), &ev)); class != ClassUnfitSchema {
					t.Errorf("schema %d: class %q", id, class)
				}
			}
			if err := d.Decode(wire(7, avroText("u")+avroText("k")+avroLongText(1)), &ev); err != nil ||
				string(ev.User) != "u" {
				t.Errorf("the record after one of schema %d: %v", id, err)
			}
		}
	}
	if r.requests != len(ids)+1 {
		t.Errorf("the registry was asked %d times for %d ids", r.requests, len(ids)+1)
	}
	for id, want := range map[uint32]string{8: "time", 9: "user", 10: "schema", 11: "must be a record",
		12: "PROTOBUF"} {
		if len(reported[id]) != 1 || !strings.Contains(reported[id][0].Error(), want) {
			t.Errorf("schema %d: told %v, want one reason with %q", id, reported[id], want)
		}
	}
	if len(reported) != len(ids) {
		t.Errorf("told of %d schemas, want %d", len(reported), len(ids))
	}
}

func TestHostileAvroIsUndecodableAndBounded(t *testing.T) {
	schema := func(x string) string {
		return `{"type":"record","name":"R","fields":[{"name":"u","type":"string"},{"name":"t","type":"long"},` +
			`{"name":"x","type":` + x + `}]}`
	}
	head := avroText("u") + avroLongText(1)
	for _, c := range []struct{ name, typ, value, class string }{
		{"array", `{"type":"array","items":"int"}`, avroLongText(2) + "\x02\x04\x00", ""},
		{"array with block sizes", `{"type":"array","items":"int"}`, avroLongText(-2) + "\x04\x02\x04\x00", ""},
		{"count beyond the record", `{"type":"array","items":"int"}`, avroLongText(math.MaxInt32) + "\x02",
			ClassUndecodable},
		{"count beyond 2^31", `{"type":"array","items":"int"}`, avroLongText(1<<50) + "\x02", ClassUndecodable},
		{"least count", `{"type":"array","items":"int"}`, avroLongText(math.MinInt64) + "\x02", ClassUndecodable},
		{"map", `{"type":"map","values":"int"}`, avroLongText(2) + avroText("a") + "\x02" + avroText("b") + "\x02\x00",
			""},
		{"key twice", `{"type":"map","values":"int"}`, avroLongText(2) + avroText("a") + "\x02" + avroText("a") +
			"\x02\x00", ""},
		{"branch beyond the union", `["null","int"]`, "\x04", ClassUndecodable},
		{"negative branch", `["null","int"]`, "\x01", ClassUndecodable},
		{"int beyond 32 bits", `"int"`, avroLongText(math.MaxInt32 + 1), ClassUndecodable},
		{"long beyond 64 bits", `"long"`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", ClassUndecodable},
		{"integer without end", `"long"`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", ClassUndecodable},
		{"nested lists", `["null",{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}]`,
			strings.Repeat("\x02", 300) + "\x00", ""},
		{"deeply nested lists", `["null",{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}]`,
			strings.Repeat("\x02", 1<<19) + "\x00", ClassUndecodable},
		{"record within itself", `{"type":"record","name":"L","fields":[{"name":"next","type":"L"}]}`, "",
			ClassUndecodable},
	} {
		for _, filters := range [][]string{nil, {`x == 3`}} {
			f := Format{Format: "avro", Schema: schema(c.typ), User: "u", Time: "t", TimeUnit: "s", Filters: filters}
			if got := classOf(t, newDecoder(t, f).Decode([]byte(head+c.value), new(Event))); got != c.class {
				t.Errorf("%s: class %q, want %q", c.name, got, c.class)
			}
		}
	}
}
