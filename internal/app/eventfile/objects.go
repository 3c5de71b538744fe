package eventfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// spread reports whether the records of a file that begins with head are in an array or span
// several lines, so that there is not one record per line.
func spread(format event.Encoding, head []byte) bool {
	return format.Spread != nil && format.Spread(bytes.TrimPrefix(head, mark))
}

// object returns the next object of a spread file, or io.EOF after the last one. It skips commas,
// brackets, record separators and white space between objects. An object ends with its closing
// brace. Anything else ends before the next comma, bracket or line break. object returns an
// ErrDamaged if the array does not end. Record.Line is the record's number.
func (l *lineReader) object() (Record, error) {
	out := kept{limit: l.limit}
	var depth int
	var quoted, escaped bool
	for {
		c, err := l.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && l.arrays > 0:
			return Record{}, fmt.Errorf("%w: its JSON array, or a string in it, does not end: copy the complete file "+
				"again", ErrDamaged)
		case errors.Is(err, io.EOF) && len(out.text) > 0:
			return l.record(&out), nil
		case err != nil:
			return Record{}, err
		case quoted:
			quoted, escaped = escaped || c != '"', !escaped && c == '\\'
		case c == '"':
			quoted = true
		case c == '{' || c == '[' && depth > 0:
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			if depth--; depth == 0 {
				out.addByte(c)
				return l.record(&out), nil
			}
		case depth == 0 && bytes.IndexByte([]byte(",[]\n\x1e"), c) >= 0:
			switch c {
			case '[':
				l.arrays++
			case ']':
				l.arrays = max(0, l.arrays-1)
			}
			if len(out.text) > 0 {
				return l.record(&out), nil
			}
			continue
		case len(out.text) == 0 && (c == ' ' || c == '\t' || c == '\r'):
			continue
		}
		out.addByte(c)
	}
}

func (l *lineReader) record(k *kept) Record {
	l.number++
	return Record{Value: k.text, Line: l.number, Cut: k.cut}
}
