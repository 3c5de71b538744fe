package csvrow

import "bytes"

// Ending describes the end of a field or row.
type Ending uint8

// The endings.
const (
	Comma     Ending = iota // with the separator: another field follows, which may be empty
	End                     // with the text
	Open                    // not in this text: a quoted field continues on the next line
	Malformed               // with a quote in a forbidden place
)

// shortField is the length up to which one loop over the bytes is faster than a separate search for
// each kind of byte.
const shortField = 32

// Next reads the first field of text. It returns the field unchanged or, if it is quoted, the text
// between the quotes; if escaped, AppendUnescaped must decode that text. rest is the text after the
// separator. A line break is part of a quoted field and makes any other field malformed: the caller
// removes the one that ends the row.
func Next(text []byte, separator byte) (field, rest []byte, escaped bool, e Ending) {
	if len(text) > 0 && text[0] == '"' {
		return resume(text[1:], separator)
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

// resume continues within a quoted field.
func resume(text []byte, separator byte) (field, rest []byte, escaped bool, e Ending) {
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

// Scan reads fields to the end of the row, or of the text, and returns End, Open or Malformed. If
// inside is set, the text begins within a quoted field that the previous line left open.
func Scan(text []byte, separator byte, inside bool) Ending {
	e := Comma
	if inside {
		_, text, _, e = resume(text, separator)
	}
	for e == Comma {
		_, text, _, e = Next(text, separator)
	}
	return e
}

// AppendUnescaped appends the decoded text of a quoted field: two quotes become one, "\r\n" becomes
// "\n".
func AppendUnescaped(dst, field []byte) []byte {
	for i := 0; i < len(field); i++ {
		c := field[i]
		switch {
		case c == '"':
			i++ // the second one
		case c == '\r' && i+1 < len(field) && field[i+1] == '\n':
			continue
		}
		dst = append(dst, c)
	}
	return dst
}
