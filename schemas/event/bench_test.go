package event

import (
	"testing"

	"github.com/linkedin/goavro/v2"
)

var benchEvents = map[string]benchCase{
	"csv":        {rowFormat("csv", "ms"), "1700000000123,user-1234567,GET,/products/42,200\n"},
	"csv-quoted": {rowFormat("csv", "ms"), "1700000000123,\"user-1234567\",GET,\"/products/\"\"42\"\"\",200\n"},
	"tsv":        {rowFormat("tsv", "s"), "1700000000.123\tuser-1234567\tGET\t/products/42\t200\n"},
	"jsonl": {jsonFormat("ms"), `{"t":1700000000123,"user":"user-1234567","method":"GET",` +
		`"page":"/products/42","status":200}`},
	"jsonl-rfc3339": {jsonFormat("rfc3339"), `{"t":"2023-11-14T22:13:20.123Z","user":"user-1234567","method":"GET",` +
		`"page":"/products/42","status":200}`},
	"jsonl-nested": {jsonFormat("ms"), `{"t":1700000000123,"ctx":{"ip":"10.0.0.1","agent":"Mozilla/5.0 (X11; Linux ` +
		`x86_64)","tags":["a","b",3.5]},"user":"user-1234567","page":"/products/42"}`},
	"jsonl-bad-time": {jsonFormat("ms"), `{"t":"yesterday","user":"user-1234567","method":"GET",` +
		`"page":"/products/42","status":200}`},
}

type benchCase struct {
	format Format
	value  string
}

// benchCases are benchEvents and the Avro ones.
func benchCases(t testing.TB) map[string]benchCase {
	out := map[string]benchCase{}
	for name, c := range benchEvents {
		out[name] = c
	}
	nested := jsonFormat("ms")
	nested.User, nested.Value = "ctx.user", "n"
	out["jsonl-path-value"] = benchCase{nested, `{"t":1700000000123,"ctx":{"user":"user-1234567","ip":"10.0.0.1"},` +
		`"page":"/products/42","n":5}`}
	value := string(encode(t, visitSchema, visit(text("user-1234567"), text("/products/42"), goavro.Union("int", 7))))
	out["avro"] = benchCase{visitFormat(), value}
	full := visitFormat()
	full.Value = "amount"
	out["avro-value"] = benchCase{full, value}
	return out
}

func TestDecodingEventsDoesNotAllocate(t *testing.T) {
	for name, b := range benchCases(t) {
		d, value := newDecoder(t, b.format), []byte(b.value)
		var ev Event
		_ = d.Decode(value, &ev)
		if n := testing.AllocsPerRun(100, func() { _ = d.Decode(value, &ev) }); n > 0 {
			t.Errorf("%s: %v allocations a record", name, n)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	cases := benchCases(b)
	filtered := jsonFormat("ms")
	filtered.Value, filtered.Filters = "status", []string{`method == "GET" and status < 300`}
	cases["jsonl-filter-value"] = benchCase{filtered, benchEvents["jsonl"].value}
	avroFiltered := cases["avro-value"]
	avroFiltered.format.Filters = []string{`page == "/products/42" and price < 300`}
	cases["avro-filter-value"] = avroFiltered
	for _, name := range []string{"csv", "csv-quoted", "tsv", "jsonl", "jsonl-rfc3339", "jsonl-nested",
		"jsonl-bad-time",
		"jsonl-path-value", "jsonl-filter-value", "avro", "avro-value", "avro-filter-value"} {
		b.Run(name, func(b *testing.B) {
			c := cases[name]
			d, value := newDecoder(b, c.format), []byte(c.value)
			b.ReportAllocs()
			b.SetBytes(int64(len(value)))
			var ev Event
			for b.Loop() {
				_ = d.Decode(value, &ev)
			}
		})
	}
}
