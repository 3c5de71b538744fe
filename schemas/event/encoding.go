package event

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
)

// Names of the formats, for tests and for code that writes events. Other production code looks up
// the Encoding of the configured format.
const (
	CSV   = "csv"   // a row as in RFC 4180, read as by encoding/csv
	TSV   = "tsv"   // a row with tabs between fields and no quotes: fields contain no tabs or line breaks
	JSONL = "jsonl" // a JSON object
	Avro  = "avro"  // a record in Avro's binary encoding
)

// Encoding holds everything that distinguishes one format of records from another.
type Encoding struct {
	Name   string // used in configurations and deployment identities, so it never changes
	Record string // description of one record in the configuration reference
	// Separator separates the fields of a row, which are found by column name. If it is 0, records
	// are not rows: their fields have names and are found by path.
	Separator byte
	Quoted    bool // a row may have quoted fields, and thus may span several lines
	// Members returns the paths of a record's fields. It is nil for formats in which columns or a
	// schema name the fields.
	Members func(record []byte) []string
	// SchemaFile is the extension of schema files, or "" if records need no schema. A schema, from
	// a file or a registry, may also determine the unit of times.
	SchemaFile string
	Endings    []string // extensions of files that contain such records
	Mark       string   // first bytes of a container file; "" if files are not containers
	Begins     string   // description of the beginning of such a file
	// line reports whether a line can be a record. It is nil for rows and containers.
	line func(line []byte) bool
	// Spread reports whether the records of a file that begins with head span several lines. It is
	// nil for formats in which they cannot.
	Spread func(head []byte) bool

	compile func(d *Decoder, f *Format) (records, error)
}

// records finds the fields in the records of one format.
type records interface {
	// find finds the fields of a record. It sets the decoder's raw and value and, for times that
	// are not text, timed and millis.
	find(record []byte) error
	// filterValue returns the value of the filters' i-th field and whether it is present.
	filterValue(i int) (v any, present bool)
	// neverEqual returns the reason why the filters' i-th field never equals constant, which is a
	// filter.Comparison.With, or "" if the field may equal it.
	neverEqual(i int, constant any) string
	// common, place and members return parts of an Identity: the part common to all fields, or "";
	// the place of a field; and the places of a filter's fields, or "" if place returns them.
	common() string
	place(field int, registry string) string
	members(registry string) string
}

// encodings lists all formats in the order in which messages list them.
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

// Encodings returns the Encodings of all formats.
func Encodings() []Encoding { return encodings[:] }

// EncodingOf returns the Encoding of the format with a name. For an unknown name it returns an
// Encoding that is not Known.
func EncodingOf(name string) Encoding { return find(func(e Encoding) bool { return e.Name == name }) }

// EncodingOfFile returns the Encoding that the extension of a file's name implies. For an unknown
// extension it returns an Encoding that is not Known.
func EncodingOfFile(name string) Encoding {
	ending := strings.ToLower(filepath.Ext(name))
	return find(func(e Encoding) bool { return slices.Contains(e.Endings, ending) })
}

func find(match func(Encoding) bool) Encoding {
	if i := slices.IndexFunc(encodings[:], match); i >= 0 {
		return encodings[i]
	}
	return Encoding{}
}

// Names returns the names of the formats for which match returns true.
func Names(match func(Encoding) bool) (names []string) {
	for _, e := range encodings {
		if match(e) {
			names = append(names, e.Name)
		}
	}
	return names
}

// Listed returns Names as a phrase. conjunction precedes the last name: " or " in "a, b or c".
func Listed(match func(Encoding) bool, conjunction string) string {
	return spelling.List(Names(match), conjunction)
}

// Known reports whether e is the Encoding of a format.
func (e Encoding) Known() bool { return e.compile != nil }

// Tabular reports whether records are rows, whose fields are found by column name.
func (e Encoding) Tabular() bool { return e.Separator != 0 }

// Schemas reports whether decoding a record requires its writer schema.
func (e Encoding) Schemas() bool { return e.SchemaFile != "" }

// Contained reports whether files with records are containers.
func (e Encoding) Contained() bool { return e.Mark != "" }

// Lines reports whether line, which is a non-empty line of a file, may be a record.
func (e Encoding) Lines(line []byte) bool {
	if e.Tabular() {
		return line[0] != '{' && line[0] != '[' && slices.Contains(line, e.Separator)
	}
	return e.line != nil && e.line(line)
}
