package eventfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/base/formats/avro"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// recordOf is a schema of fields "name": type.
func recordOf(fields ...string) string {
	for i, f := range fields {
		name, typ, _ := strings.Cut(f, " ")
		if !strings.ContainsAny(typ, `{["`) {
			typ = `"` + typ + `"`
		}
		fields[i] = fmt.Sprintf(`{"name":%q,"type":%s}`, name, typ)
	}
	return `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
}

const (
	millis = `{"type":"long","logicalType":"timestamp-millis"}`
	micros = `{"type":"long","logicalType":"timestamp-micros"}`
	colour = `{"type":"enum","name":"C","symbols":["red","blue"]}`
	list   = `{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]},{"name":"v","type":"%"}]}`
)

func TestSchemasThatATopicsReadersTakeForTheirOwn(t *testing.T) {
	for _, c := range []struct{ name, file, topic string }{
		{"the same", visits, visits},
		{"another name and documentation", strings.Replace(visits, `"V"`, `"x.y.W","doc":"visits"`, 1), visits},
		{"an int for a long", recordOf("n int"), recordOf("n long")},
		{"a string for bytes", recordOf("n string"), recordOf("n bytes")},
		{"a branch more on the topic", recordOf(`n ["null","string"]`), recordOf(`n ["null","string","long"]`)},
		{"a symbol more on the topic", recordOf("c " + colour), recordOf("c " + strings.Replace(colour, `"blue"`,
			`"blue","green"`, 1))},
		{"a logical type of no time", recordOf(`n {"type":"string","logicalType":"uuid"}`), recordOf("n string")},
		{"a type by its full name", recordOf("a "+colour, "b C"), recordOf("a "+strings.Replace(colour, `"C"`,
			`"C","namespace":"x"`, 1), "b x.C")},
		{"a type in itself", strings.Replace(list, "%", "long", 1), strings.Replace(list, "%", "long", 1)},
		{"a type with the name of a primitive one",
			recordOf(`a {"type":"enum","name":"int","namespace":"x","symbols":["r"]}`, "b int"),
			recordOf(`a {"type":"enum","name":"E","symbols":["r"]}`, "b int")},
	} {
		if err := MatchSchemas(c.file, c.topic); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSchemasThatATopicsReadersWouldTakeApartOtherwise(t *testing.T) {
	for _, c := range []struct{ name, file, topic, path, says string }{
		{"another order", recordOf("u string", "t long"), recordOf("t long", "u string"), "",
			"the record has other fields"},
		{"a field less", recordOf("u string"), recordOf("u string", "t long"), "", "the record has other fields"},
		{"a long for an int", recordOf("n long"), recordOf("n int"), "n", "field n is long in the file, int on the " +
			"topic"},
		{"bytes for a string", recordOf("n bytes"), recordOf("n string"), "n", "bytes"},
		{"another unit of time", recordOf("t " + micros), recordOf("t " + millis), "t",
			"long (timestamp-micros) in the file, long (timestamp-millis)"},
		{"a time for a number", recordOf("t " + micros), recordOf("t long"), "t", "timestamp-micros"},
		{"a union for a single type", recordOf(`n ["null","string"]`), recordOf("n string"), "n",
			"field n is union in the file, string"},
		{"branches the other way", recordOf(`n ["null","string"]`), recordOf(`n ["string","null"]`), "n",
			"null in the file, string"},
		{"a branch more in the file", recordOf(`n ["null","string","long"]`), recordOf(`n ["null","string"]`), "n",
			"field n has other"},
		{"symbols the other way", recordOf("c " + colour), recordOf("c " + strings.Replace(colour, `"red","blue"`,
			`"blue","red"`, 1)), "c", "field c has other"},
		{"another size", recordOf(`f {"type":"fixed","name":"F","size":3}`),
			recordOf(`f {"type":"fixed","name":"F","size":4}`), "f", "field f has other"},
		{"items", recordOf(`l {"type":"array","items":"long"}`), recordOf(`l {"type":"array","items":"string"}`), "l[]",
			"field l[] is long"},
		{"values of a map", recordOf(`m {"type":"map","values":"long"}`),
			recordOf(`m {"type":"map","values":"double"}`), "m[]", "double"},
		{"in a record", recordOf("w " + recordOf("id long")), recordOf("w " + recordOf("id string")), "w.id",
			"field w.id is long"},
		{"in a type that contains itself", strings.Replace(list, "%", "long", 1), strings.Replace(list, "%", "float",
			1), "v", "float"},
	} {
		err := MatchSchemas(c.file, c.topic)
		var bad *SchemaMismatch
		if !errors.As(err, &bad) || bad.Path != c.path || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for side, err := range map[string]error{"file": MatchSchemas(`"string"`, visits), "topic": MatchSchemas(visits,
		`{`)} {
		if err == nil || !strings.Contains(err.Error(), "schema of the "+side) {
			t.Errorf("an invalid schema of the %s: %v", side, err)
		}
	}
}

// valued is a schema with the bytes of one value of it.
type valued struct {
	schema string
	bytes  []byte
}

func drawType(t *rapid.T, depth int, names *int) valued {
	kinds := []string{"int", "long", "string", "bytes", "boolean", "double", "millis", "enum"}
	if depth > 0 {
		kinds = append(kinds, "record", "array", "union")
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind")
	*names++
	switch kind {
	case "int", "long":
		return valued{`"` + kind + `"`, binary.AppendVarint(nil, int64(rapid.Int32().Draw(t, "n")))}
	case "millis":
		return valued{millis, binary.AppendVarint(nil, 7)}
	case "string", "bytes":
		text := rapid.StringN(0, 3, -1).Draw(t, "text")
		return valued{`"` + kind + `"`, append(binary.AppendVarint(nil, int64(len(text))), text...)}
	case "boolean":
		return valued{`"boolean"`, []byte{1}}
	case "double":
		return valued{`"double"`, make([]byte, 8)}
	case "enum":
		n := rapid.IntRange(1, 3).Draw(t, "symbols")
		return valued{fmt.Sprintf(`{"type":"enum","name":"E%d","symbols":[%s]}`, *names,
			strings.Join([]string{`"a"`, `"b"`, `"c"`}[:n], ",")), binary.AppendVarint(nil, int64(n-1))}
	case "array":
		item := drawType(t, depth-1, names)
		return valued{`{"type":"array","items":` + item.schema + `}`, append(append([]byte{2}, item.bytes...), 0)}
	case "union":
		branch := drawType(t, 0, names)
		return valued{`["null",` + branch.schema + `]`, append([]byte{2}, branch.bytes...)}
	}
	var fields []string
	var all []byte
	for i := range rapid.IntRange(1, 2).Draw(t, "fields") {
		f := drawType(t, depth-1, names)
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":%s}`, i, f.schema))
		all = append(all, f.bytes...)
	}
	return valued{fmt.Sprintf(`{"type":"record","name":"N%d","fields":[%s]}`, *names, strings.Join(fields, ",")), all}
}

// If the schemas match, a record of the file is one whole record for the topic's readers; every
// schema matches itself and its like with long in place of int.
func TestMatchingSchemasReadTheSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() valued {
			names := 0
			v := drawType(t, 1, &names)
			return valued{`{"type":"record","name":"R","fields":[{"name":"f","type":` + v.schema + `}]}`, v.bytes}
		}
		file := draw()
		for i, topic := range []string{file.schema, strings.ReplaceAll(file.schema, `"int"`, `"long"`), draw().schema} {
			if err := MatchSchemas(file.schema, topic); err != nil {
				if i < 2 {
					t.Fatalf("%s and %s: %v", file.schema, topic, err)
				}
				continue
			}
			typ, err := avro.Parse(topic)
			if err != nil {
				t.Fatal(err)
			}
			var r avro.Reader
			r.Open(file.bytes)
			if ok := r.Skip(typ, 0); !ok || r.At != len(file.bytes) {
				t.Fatalf("%x of %s has %d bytes for %s (%v)", file.bytes, file.schema, r.At, topic, ok)
			}
		}
	})
}
