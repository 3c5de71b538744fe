package event

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// rows finds the fields of records that are rows.
type rows struct {
	d       *Decoder
	targets [][]int // by column: the numbers of the fields that it contains
}

func compileRows(d *Decoder, f *Format) (records, error) {
	columns := f.Columns
	r := &rows{d: d, targets: make([][]int, len(columns))}
	if len(columns) == 0 {
		return nil, badFormat("columns", "%s needs the names of all fields of a row, in order, for example "+
			"columns: %s", f.Format, "["+strings.Join(slices.DeleteFunc(slices.Clone(d.fields[:]),
			func(name string) bool { return name == "" }), ", ")+"]")
	}
	find := func(field, name string, number int) error {
		index := slices.Index(columns, name)
		if index < 0 {
			return badFormat(field, "%q is not among the columns %q: correct one of the two", name, columns)
		}
		if slices.Contains(columns[index+1:], name) {
			return badFormat("columns", "%q is named twice in %q", name, columns)
		}
		r.targets[index] = append(r.targets[index], number)
		return nil
	}
	for i, name := range d.fields {
		if name == "" {
			continue
		}
		if err := find(fieldNames[i], name, i); err != nil {
			return nil, err
		}
	}
	for i, name := range d.filter.Names() {
		if err := find(d.firstUse(name), name, fieldCount+i); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// find implements records. It ignores a line break at the end of the record.
func (r *rows) find(record []byte) error {
	d := r.d
	clear(d.raw)
	var fields int
	var ok bool
	if line := trimLineBreak(record); d.encoding.Quoted {
		fields, ok = r.splitQuoted(line)
	} else {
		fields, ok = r.splitPlain(line)
	}
	if !ok {
		return d.fail(ClassUndecodable, "")
	}
	if fields == len(r.targets) {
		if d.fields[fieldValue] != "" {
			if class := d.decodeValueText(); class != "" {
				return d.fail(class, "value")
			}
		}
		return nil
	}
	for i := range fieldCount {
		if d.fields[i] != "" && fields < len(r.targets) && d.raw[i] == nil {
			return d.fail(ClassMissingField, fieldNames[i])
		}
	}
	// The row has too many fields, or too few although it has all that are needed. Its separators
	// or quotes are probably wrong, so no field can be trusted.
	return d.fail(ClassUndecodable, "")
}

// trimLineBreak removes one "\n" or "\r\n" from the end or, as encoding/csv does, one "\r".
func trimLineBreak(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	return b
}

// store stores the row's n-th field if the format or a filter uses it.
func (r *rows) store(n int, field []byte) {
	if n >= len(r.targets) {
		return
	}
	for _, number := range r.targets[n] {
		r.d.raw[number] = field
	}
}

// splitPlain splits a row at separators; quotes have no meaning. ok is false if line is empty or
// contains a line break.
func (r *rows) splitPlain(line []byte) (fields int, ok bool) {
	if len(line) == 0 || bytes.IndexByte(line, '\n') >= 0 || bytes.IndexByte(line, '\r') >= 0 {
		return 0, false
	}
	for separator := r.d.encoding.Separator; ; fields++ {
		i := bytes.IndexByte(line, separator)
		if i < 0 {
			r.store(fields, line)
			return fields + 1, true
		}
		r.store(fields, line[:i])
		line = line[i+1:]
	}
}

func (r *rows) filterValue(i int) (v any, present bool) {
	return r.d.texts.columnAny(r.d.raw[fieldCount+i]), true
}

func (r *rows) neverEqual(_ int, constant any) string {
	text, isString := constant.(string)
	if _, number := constant.(float64); number {
		return ""
	}
	if !isString {
		return "a column contains only numbers and strings"
	}
	if _, isString = make(internedTexts).columnAny([]byte(text)).(string); !isString {
		return "a column with this text is a number, so write it without quotes"
	}
	return ""
}

func (r *rows) common() string { return fmt.Sprintf("%d columns", len(r.targets)) }

func (r *rows) place(field int, _ string) string {
	column := slices.IndexFunc(r.targets, func(numbers []int) bool { return slices.Contains(numbers, field) })
	return r.d.inUnit(field, fmt.Sprintf("column %d of %s", column+1, r.d.encoding.Name))
}

func (r *rows) members(string) string { return "" }
