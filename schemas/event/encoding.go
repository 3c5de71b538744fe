package event

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
)

// The names of the formats, for tests and for code that writes events itself. Other code that ships
// looks up the entry of the format that is configured.
const (
	CSV   = "csv"   // a row as RFC 4180 has it and encoding/csv reads it
	TSV   = "tsv"   // a row, tabs between fields, nothing quoted: no tab or line break in a field
	JSONL = "jsonl" // a JSON object
	Avro  = "avro"  // a record in Avro's binary encoding
)

// Encoding has all differences between the records of one format and another.
type Encoding struct {
	// Name is part of configurations and of identities of deployments: it never changes.
	Name string
	// Record is what one record is, in the reference of the configuration.
	Record string

	// Separator separates the fields of a row, which are found by column name; 0: records name
	// their fields, which are found by path.
	Separator byte
	// Quoted is set if a row may have quoted fields and so span several lines.
	Quoted bool
	// Members returns the names of a record's fields, as paths; nil where columns or a schema have
	// them.
	Members func(record []byte) []string
	// SchemaFile is the ending of a file with the schema of records; "" if no record needs one. The
	// schema, from the file or from a registry, may also set the unit of times.
	SchemaFile string

	// Endings are the endings of files with such records.
	Endings []string
	// Mark begins a container, a file that has the schema of its records; "" if a file has a record
	// in each line.
	Mark string
	// Begins is what such a file begins with.
	Begins string
	// line reports whether a line can be a record; nil for rows and in containers.
	line func(line []byte) bool
	// Spread reports whether the records of a file that begins with head do not have a line each;
	// nil where all files have a record in each line, or are containers.
	Spread func(head []byte) bool

	compile func(d *Decoder, f *Format) (records, error)
}

// records finds the fields in the records of one format.
type records interface {
	// find sets d.raw, d.value and, for times that are not text, d.timed and d.millis.
	find(record []byte) error
	// seen returns the value of the i-th field of the filters; false if the record lacks it.
	seen(i int) (v any, present bool)

	// never returns the reason that the i-th field of the filters never equals a constant, as in a
	// filter.Comparison; "" if it may.
	never(i int, constant any) string

	// The parts of an Identity: the common part, or ""; the place of a field; and the places of the
	// filters' fields, or "" if place has them.
	common() string
	place(field int, registry string) string
	members(registry string) string
}

// encodings is the table, in the order in which texts list the formats.
var encodings = [...]Encoding{
	{
		Name: CSV, Record: "one row (RFC 4180)", Separator: ',', Quoted: true,
		Endings: []string{".csv"}, Begins: "columns that are separated by commas", compile: compileRows,
	},
	{
		Name: TSV, Record: "one row with tabs, without quotes", Separator: '\t',
		Endings: []string{".tsv", ".tab"}, Begins: "columns that are separated by tabs", compile: compileRows,
	},
	{
		Name: JSONL, Record: "one object", Members: memberPaths,
		Endings: []string{".jsonl", ".ndjson", ".json"}, Begins: "a JSON object",
		line: isObject, Spread: spreadObjects, compile: compileObjects,
	},
	{
		Name: Avro, Record: "one record, by `schema` or `registry`", SchemaFile: ".avsc",
		Endings: []string{".avro"}, Mark: "Obj\x01", Begins: "the mark of an Avro container file", compile: compileAvro,
	},
}

// Encodings returns the table.
func Encodings() []Encoding { return encodings[:] }

// EncodingOf returns the entry of a format; one that is not Known if the table has no format of
// that name.
func EncodingOf(name string) Encoding {
	return entry(func(e Encoding) bool { return e.Name == name })
}

// EncodingOfFile returns the entry of a file's format, by the ending of its name.
func EncodingOfFile(name string) Encoding {
	ending := strings.ToLower(filepath.Ext(name))
	return entry(func(e Encoding) bool { return slices.Contains(e.Endings, ending) })
}

func entry(is func(Encoding) bool) Encoding {
	if i := slices.IndexFunc(encodings[:], is); i >= 0 {
		return encodings[i]
	}
	return Encoding{}
}

// Names returns the names of the formats for which is returns true.
func Names(is func(Encoding) bool) (names []string) {
	for _, e := range encodings {
		if is(e) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Listed returns Names as text: "a, b or c" where before is " or ".
func Listed(is func(Encoding) bool, before string) string {
	return spelling.List(Names(is), before)
}

// Known reports whether it is an entry of the table.
func (e Encoding) Known() bool { return e.compile != nil }

// Tabular reports whether records are rows, so that the names of columns are needed to find a
// field.
func (e Encoding) Tabular() bool { return e.Separator != 0 }

// Schemas reports whether records are read by the schema that they were written with.
func (e Encoding) Schemas() bool { return e.SchemaFile != "" }

// Contained reports whether a file of records is a container.
func (e Encoding) Contained() bool { return e.Mark != "" }

// Lines reports whether a line of a file, not empty, may be a record.
func (e Encoding) Lines(line []byte) bool {
	if e.Tabular() {
		return line[0] != '{' && line[0] != '[' && slices.Contains(line, e.Separator)
	}
	return e.line != nil && e.line(line)
}
