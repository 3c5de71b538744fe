package event

import (
	"bytes"

	"github.com/tollgate-dp/tollgate/internal/formats/csvrow"
)

// decodeRow finds the fields of one CSV or TSV row. A line break at the end is not part of the row.
func (d *Decoder) decodeRow(value []byte) error {
	line := trimLineBreak(value)
	var fields int
	var ok bool
	clear(d.raw)
	if d.comma == '\t' {
		fields, ok = d.splitPlain(line)
	} else {
		fields, ok = d.splitQuoted(line)
	}
	if !ok {
		return d.fail(ClassUndecodable, "")
	}
	if fields == d.columns {
		return d.takeValueText()
	}
	for i := range fieldCount {
		if d.fields[i] != "" && fields < d.columns && d.raw[i] == nil {
			return d.fail(ClassMissingField, fieldNames[i])
		}
	}
	// A row with too many fields, or with too few after the last one that is looked for, is not
	// what it seems to be.
	return d.fail(ClassUndecodable, "")
}

// trimLineBreak removes one "\n" or "\r\n" from the end; like encoding/csv also a bare "\r".
func trimLineBreak(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	return b
}

// keep notes the n-th field of the row if it is one that is looked for.
func (d *Decoder) keep(n int, field []byte) {
	if n >= len(d.targets) {
		return
	}
	for _, number := range d.targets[n] {
		d.raw[number] = field
	}
}

// takeValueText reads the value column: a decimal integer in JSON's grammar, without fraction and
// exponent.
func (d *Decoder) takeValueText() error {
	if d.fields[fieldValue] == "" {
		return nil
	}
	n, ok := parseInteger(d.raw[fieldValue])
	if !ok {
		return d.fail(ClassWrongType, "value")
	}
	d.value = n
	return nil
}

// splitPlain splits at tabs; quotes have no meaning. An empty line is not a row.
func (d *Decoder) splitPlain(line []byte) (fields int, ok bool) {
	if len(line) == 0 || bytes.IndexByte(line, '\n') >= 0 || bytes.IndexByte(line, '\r') >= 0 {
		return 0, false
	}
	for {
		i := bytes.IndexByte(line, d.comma)
		if i < 0 {
			d.keep(fields, line)
			return fields + 1, true
		}
		d.keep(fields, line[:i])
		fields++
		line = line[i+1:]
	}
}

// splitQuoted splits at commas outside quotes, as encoding/csv does with its default settings. An
// empty line is not a row, nor is a text with a second row.
func (d *Decoder) splitQuoted(line []byte) (fields int, ok bool) {
	if len(line) == 0 {
		return 0, false
	}
	d.row = d.row[:0]
	for end := csvrow.Comma; end == csvrow.Comma; fields++ {
		var field []byte
		var escaped bool
		field, line, escaped, end = csvrow.Next(line)
		if end > csvrow.End {
			return 0, false
		}
		if escaped {
			start := len(d.row)
			d.row = csvrow.AppendUnescaped(d.row, field)
			field = d.row[start:]
		}
		d.keep(fields, field)
	}
	return fields, true
}
