package csvrow

import "bytes"

// Ending says what ends a field or a row.
type Ending uint8

// The endings.
const (
	Comma     Ending = iota // the separator: another field follows, which may be empty
	End                     // the end of the text
	Open                    // nothing yet: a quoted field continues on the next line
	Malformed               // a quote in a forbidden place
)

// shortField is the number of bytes up to which one loop is faster than a separate search for each
// kind of byte.
const shortField = 32

// Next reads the first field of text. It returns the field unchanged or, if the field is quoted,
// the text between the quotes; if escaped, AppendUnescaped must decode that text. rest is the text
// after the separator. A line break is part of a quoted field, and makes any other field malformed.
// So the caller must remove the line break that ends the row.
func Next(text []byte, separator byte) (field, rest []byte, escaped bool, e Ending) {
	if len(text) > 0 && text[0] == '"' {
		return readQuoted(text[1:], separator)
	}
	for i, c := range text[:min(len(text), shortField)] {
		switch c {
		case separator:
			return text[:i], text[i+1:], false, Comma
		case '"', '\n':
			return nil, nil, false, Malformed
		}
	}
	field, e = text, End
	if i := bytes.IndexByte(text, separator); i >= 0 {
		field, rest, e = text[:i], text[i+1:], Comma
	}
	if bytes.IndexByte(field, '"') >= 0 || bytes.IndexByte(field, '\n') >= 0 {
		return nil, nil, false, Malformed
	}
	return field, rest, false, e
}

// readQuoted reads the rest of a quoted field.
func readQuoted(text []byte, separator byte) (field, rest []byte, escaped bool, e Ending) {
	for n := 0; ; n += 2 {
		i := bytes.IndexByte(text[n:], '"')
		if i < 0 {
			return nil, nil, false, Open
		}
		n += i
		if n+1 < len(text) {
			switch text[n+1] {
			case '"':
				escaped = true
				continue
			case separator:
				rest, e = text[n+2:], Comma
			default:
				return nil, nil, false, Malformed
			}
		} else {
			e = End
		}
		field = text[:n]
		return field, rest, escaped || bytes.IndexByte(field, '\r') >= 0, e
	}
}

// Scan reads fields to the end of the row, or of the text, and returns End, Open or Malformed.
// inside means that the text begins within a quoted field that the previous line left open.
func Scan(text []byte, separator byte, inside bool) Ending {
	e := Comma
	if inside {
		_, text, _, e = readQuoted(text, separator)
	}
	for e == Comma {
		_, text, _, e = Next(text, separator)
	}
	return e
}

// AppendUnescaped appends the decoded text of a quoted field to dst: two quotes become one, and
// "\r\n" becomes "\n".
func AppendUnescaped(dst, field []byte) []byte {
	for i := 0; i < len(field); i++ {
		c := field[i]
		switch {
		case c == '"':
			i++ // skip the second quote
		case c == '\r' && i+1 < len(field) && field[i+1] == '\n':
			continue
		}
		dst = append(dst, c)
	}
	return dst
}
