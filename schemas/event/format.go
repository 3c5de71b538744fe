package event

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas/event/filter"
)

// FormatError says what is impossible in a Format.
type FormatError struct {
	// Field says where: "format", "columns", "user", "key", "time", "time_unit", "value",
	// "max_record_bytes", "filters[2]" or "schema".
	Field  string
	Reason string
}

// Error names field and reason.
func (e *FormatError) Error() string { return "reading event format: " + e.Field + ": " + e.Reason }

func badFormat(field, format string, args ...any) error {
	return &FormatError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// SchemaSource returns writer schemas by their id in a registry. An error in which errors.Is finds
// ErrUnknownSchema says that the registry has no schema with this id; ErrUnfitSchema says that it
// has one by which no event can ever be read; any other error says that there was no answer this
// time.
type SchemaSource interface {
	Schema(ctx context.Context, id uint32) (string, error)
}

// ErrUnknownSchema is what a SchemaSource returns when the registry has no Avro schema with an id.
var ErrUnknownSchema = errors.New("no schema with this id")

// ErrUnfitSchema is what a SchemaSource returns when the schema with an id is not Avro, or is not
// one text.
var ErrUnfitSchema = errors.New("unfit schema")

// Option is an option of NewDecoder.
type Option func(*Decoder)

// WithSchemas gives the decoder a registry for Avro records in the registries' wire format: a zero
// byte, the schema's id in four bytes big-endian, the record. Each schema is asked for once, within
// ctx.
func WithSchemas(ctx context.Context, source SchemaSource) Option {
	return func(d *Decoder) { d.avro = newAvroSource(ctx, source) }
}

// OnUnfitSchema makes the decoder call fn once for each schema of a registry by which no event can
// be read, before the first record of the schema becomes a dead letter of ClassUnfitSchema. The
// reason is a *FormatError, or errors.Is finds ErrUnfitSchema in it; it may quote the schema, and
// has nothing of a record.
func OnUnfitSchema(fn func(id uint32, reason error)) Option {
	return func(d *Decoder) { d.tellUnfit = fn }
}

// Check checks the format as NewDecoder does, but does not ask where the schemas of Avro records
// come from. Errors are *FormatError.
func (f Format) Check() error {
	_, err := f.compile(nil)
	return err
}

// NewDecoder checks the format and makes a decoder for it. Errors are *FormatError.
func NewDecoder(f Format, options ...Option) (*Decoder, error) {
	d, err := f.compile(options)
	if err != nil {
		return nil, err
	}
	if d.avro != nil && d.avro.bare == nil && d.avro.from == nil {
		return nil, badFormat("schema", "Avro records need a writer schema: give the contents of an .avsc file, or a schema registry")
	}
	return d, nil
}

func (f Format) compile(options []Option) (*Decoder, error) {
	d := &Decoder{max: f.MaxRecordBytes, format: f.Format, unit: f.TimeUnit,
		fields: [fieldCount]string{f.User, f.Key, f.Time, f.Value}, errs: make(map[Error]*Error)}
	if d.max == 0 {
		d.max = DefaultMaxRecordBytes
	}
	if err := f.checkNames(); err != nil {
		return nil, err
	}
	var err error
	if err = d.compileFilters(f.Filters); err != nil {
		return nil, err
	}
	d.raw = make([][]byte, fieldCount+len(d.filter.Names()))
	for _, o := range options {
		o(d)
	}
	switch f.Format {
	case "jsonl":
		d.avro = nil
		return d, d.plantTree()
	case "avro":
		return d, d.compileAvro(f.Schema)
	case "csv":
		d.comma = ','
	default:
		d.comma = '\t'
	}
	d.avro = nil
	return d, d.findColumns(f.Columns)
}

func (d *Decoder) compileFilters(texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	if len(texts) > filter.MaxFilters {
		return badFormat("filters", "%d different filters; the limit is %d", len(texts), filter.MaxFilters)
	}
	d.filter, d.texts = filter.NewSet(), make(internedTexts)
	for i, text := range texts {
		if err := d.filter.Add(text); err != nil {
			return badFormat(fmt.Sprintf("filters[%d]", i), "%v", err)
		}
	}
	return nil
}

// firstUse returns the FormatError.Field of the first filter that uses a field.
func (d *Decoder) firstUse(name string) string {
	return fmt.Sprintf("filters[%d]", d.filter.FirstUse(name))
}

// checkNames checks what does not depend on columns, paths and schemas.
func (f Format) checkNames() error {
	switch {
	case !slices.Contains([]string{"csv", "tsv", "jsonl", "avro"}, f.Format):
		return badFormat("format", "%q: must be csv, tsv, jsonl or avro", f.Format)
	case f.TimeUnit == "" && f.Format != "avro":
		return badFormat("time_unit", "it is missing: how are times written? s, ms or us (since 1970), or rfc3339")
	case f.MaxRecordBytes < 0:
		return badFormat("max_record_bytes", "%d: must be positive", f.MaxRecordBytes)
	case f.User == "":
		return badFormat("user", "no user field is named")
	case f.Time == "":
		return badFormat("time", "no time field is named")
	case f.Schema != "" && f.Format != "avro":
		return badFormat("schema", "a schema is for the format avro, this is %s", f.Format)
	}
	units := []string{"s", "ms", "us", "rfc3339"}
	if f.Format == "avro" {
		if units = append(units, ""); !slices.Contains(units, f.TimeUnit) {
			return badFormat("time_unit", "%q: must be s, ms, us, rfc3339, or empty for that of the logical type", f.TimeUnit)
		}
	}
	if !slices.Contains(units, f.TimeUnit) {
		return badFormat("time_unit", "%q: must be s, ms, us or rfc3339", f.TimeUnit)
	}
	return nil
}

// paths parses the names of the fields.
func (d *Decoder) paths() (paths [fieldCount][]string, err error) {
	for i, text := range d.fields {
		if text == "" {
			continue
		}
		if paths[i], err = parsePath(text); err != nil {
			return paths, badFormat(fieldNames[i], "field %q: %v", text, err)
		}
	}
	return paths, nil
}

func (d *Decoder) findColumns(columns []string) error {
	d.columns = len(columns)
	d.targets = make([][]int, len(columns))
	if len(columns) == 0 {
		return badFormat("columns", "%s needs the names of a row's fields, all of them and in order, for example columns: %s", d.format, "["+strings.Join(slices.DeleteFunc(slices.Clone(d.fields[:]), func(name string) bool { return name == "" }), ", ")+"]")
	}
	find := func(field, name string, number int) error {
		at := slices.Index(columns, name)
		if at < 0 {
			return badFormat(field, "%q is not among the columns %q: correct one of the two", name, columns)
		}
		if slices.Contains(columns[at+1:], name) {
			return badFormat("columns", "%q is named twice in %q", name, columns)
		}
		d.targets[at] = append(d.targets[at], number)
		return nil
	}
	for i, name := range d.fields {
		if name == "" {
			continue
		}
		if err := find(fieldNames[i], name, i); err != nil {
			return err
		}
	}
	for i, name := range d.filter.Names() {
		if err := find(d.firstUse(name), name, fieldCount+i); err != nil {
			return err
		}
	}
	return nil
}
