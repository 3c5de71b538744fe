package event

import "github.com/tollgate-dp/tollgate/internal/base/formats/csvrow"

// splitQuoted splits a row at separators outside quotes, as encoding/csv does by default. ok is
// false if line is empty or has more than one row.
func (r *rows) splitQuoted(line []byte) (fields int, ok bool) {
	if len(line) == 0 {
		return 0, false
	}
	d := r.d
	d.row = d.row[:0]
	for end := csvrow.Comma; end == csvrow.Comma; fields++ {
		var field []byte
		var escaped bool
		field, line, escaped, end = csvrow.Next(line, d.encoding.Separator)
		if end > csvrow.End {
			return 0, false
		}
		if escaped {
			start := len(d.row)
			d.row = csvrow.AppendUnescaped(d.row, field)
			field = d.row[start:]
		}
		r.store(fields, field)
	}
	return fields, true
}
