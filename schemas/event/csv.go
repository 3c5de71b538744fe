package event

import (
	"bytes"
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
	// A row with too many fields, or too few behind the last one that is looked for, is not the row it seems to be.
	return d.fail(ClassUndecodable, "")
}

// trimLineBreak takes one "\n" or "\r\n" from the end; like encoding/csv also a bare "\r".
func trimLineBreak(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	return b
}

// keep notes the n-th field of the row if it is one of those looked for.
func (d *Decoder) keep(n int, field []byte) {
	if n >= len(d.targets) {
		return
	}
	for _, number := range d.targets[n] {
		d.raw[number] = field
	}
}

// takeValueText reads the value column: a decimal integer in JSON's grammar, without fraction and exponent.
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

// splitPlain splits at tabs; quotes mean nothing. An empty line is no row.
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

// splitQuoted splits a row as encoding/csv does with its default settings: a field that begins with a quote ends with
// one, two quotes within it are one, line breaks within it are "\n"; elsewhere a quote is a fault. An empty line is no
// row, nor is what has a second row behind it.
func (d *Decoder) splitQuoted(line []byte) (fields int, ok bool) {
	if len(line) == 0 {
		return 0, false
	}
	d.row = d.row[:0]
	for {
		if len(line) == 0 || line[0] != '"' {
			i := bytes.IndexByte(line, d.comma)
			field := line
			if i >= 0 {
				field = line[:i]
			}
			if bytes.IndexByte(field, '"') >= 0 || bytes.IndexByte(field, '\n') >= 0 {
				return 0, false
			}
			d.keep(fields, field)
			fields++
			if i < 0 {
				return fields, true
			}
			line = line[i+1:]
			continue
		}
		field, rest, ok := d.quoted(line[1:])
		if !ok {
			return 0, false
		}
		d.keep(fields, field)
		fields++
		if len(rest) == 0 {
			return fields, true
		}
		if rest[0] != d.comma {
			return 0, false
		}
		line = rest[1:]
	}
}

// quoted reads a field behind its opening quote and returns what is behind the closing one.
func (d *Decoder) quoted(line []byte) (field, rest []byte, ok bool) {
	i := bytes.IndexByte(line, '"')
	if i < 0 {
		return nil, nil, false
	}
	if (i+1 == len(line) || line[i+1] != '"') && bytes.IndexByte(line[:i], '\r') < 0 {
		return line[:i], line[i+1:], true
	}
	start := len(d.row)
	for {
		for _, c := range line[:i] {
			// "\r\n" is one line break.
			if n := len(d.row); c == '\n' && n > start && d.row[n-1] == '\r' {
				d.row[n-1] = '\n'
				continue
			}
			d.row = append(d.row, c)
		}
		if i+1 == len(line) || line[i+1] != '"' {
			return d.row[start:], line[i+1:], true
		}
		d.row = append(d.row, '"')
		line = line[i+2:]
		i = bytes.IndexByte(line, '"')
		if i < 0 {
			return nil, nil, false
		}
	}
}
