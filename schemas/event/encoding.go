package event

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
)

// Names of the formats, for tests and for code that writes events. Other production code looks up
// the entry of the configured format.
const (
	CSV   = "csv"   // a row as in RFC 4180, read as by encoding/csv
	TSV   = "tsv"   // a row with tabs between fields and no quotes: fields contain no tabs or line breaks
	JSONL = "jsonl" // a JSON object
	Avro  = "avro"  // a record in Avro's binary encoding
)

// Encoding holds everything that distinguishes one format of records from another.
type Encoding struct {
	Name   string // in configurations and identities of deployments; it never changes
	Record string // description of one record in the configuration reference
	// Separator separates the fields of a row, which are found by column name. 0 means that fields
	// have names and are found by path.
	Separator byte
	Quoted    bool // a row may have quoted fields and so span several lines
	// Members returns the paths of a record's fields; nil if columns or a schema name the fields.
	Members func(record []byte) []string
	// SchemaFile is the extension of files with schemas; "" if records need none. A schema, from a
	// file or a registry, may also set the unit of times.
	SchemaFile string
	Endings    []string // extensions of files with such records
	Mark       string   // first bytes of a container file; "" if a file has a record on each line
	Begins     string   // description of the beginning of such a file
	// line reports whether a line can be a record; nil for rows and containers.
	line func(line []byte) bool
	// Spread reports whether a file that begins with head has records that span lines; nil if that
	// is impossible in the format.
	Spread func(head []byte) bool

	compile func(d *Decoder, f *Format) (records, error)
}

// records finds the fields in records of one format.
type records interface {
	// find sets d.raw, d.value and, for times that are not text, d.timed and d.millis.
	find(record []byte) error
	// filterValue returns the value of the i-th field of the filters; false if it is missing.
	filterValue(i int) (v any, present bool)
	// neverEqual returns the reason why the i-th field of the filters never equals a
	// filter.Comparison's constant; "" if it may.
	neverEqual(i int, constant any) string
	// The parts of an Identity: the common part, or ""; the place of a field; and the places of the
	// filters' fields, or "" if place returns them.
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

// EncodingOf returns the entry of a format; if the table has none, it is not Known.
func EncodingOf(name string) Encoding {
	return entry(func(e Encoding) bool { return e.Name == name })
}

// EncodingOfFile returns the entry of a file's format by the extension of its name.
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

// Names returns the names of the formats that satisfy is.
func Names(is func(Encoding) bool) (names []string) {
	for _, e := range encodings {
		if is(e) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Listed returns Names as a text; before precedes the last name, as " or " does in "a, b or c".
func Listed(is func(Encoding) bool, before string) string {
	return spelling.List(Names(is), before)
}

// Known reports whether the entry is in the table.
func (e Encoding) Known() bool { return e.compile != nil }

// Tabular reports whether records are rows, whose fields are found by the names of columns.
func (e Encoding) Tabular() bool { return e.Separator != 0 }

// Schemas reports whether records are read by their writer schema.
func (e Encoding) Schemas() bool { return e.SchemaFile != "" }

// Contained reports whether files of records are containers.
func (e Encoding) Contained() bool { return e.Mark != "" }

// Lines reports whether a non-empty line of a file may be a record.
func (e Encoding) Lines(line []byte) bool {
	if e.Tabular() {
		return line[0] != '{' && line[0] != '[' && slices.Contains(line, e.Separator)
	}
	return e.line != nil && e.line(line)
}
