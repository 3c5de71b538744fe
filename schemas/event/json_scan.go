package event

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonType is what kind of value a field has.
type jsonType byte

const (
	jsonAbsent jsonType = iota
	jsonString          // raw, between the quotes
	jsonNumber
	jsonTrue
	jsonFalse
	jsonNull
	jsonNested // object or array
)

// maxJSONDepth is encoding/json's own limit.
const maxJSONDepth = 10000

// jsonScanner reads one JSON text. Of the texts of valid UTF-8 it accepts exactly those that
// encoding/json accepts (fuzz and seeded tests compare the two), but it builds no values: an event
// takes a quarter of the time and no allocation.
type jsonScanner struct {
	b  []byte
	at int
}

// jsonValue is a field's value as it stands in the record.
type jsonValue struct {
	kind    jsonType
	raw     []byte
	escaped bool // a string with a backslash
}

func (s *jsonScanner) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// peek returns the next byte; 0 at the end.
func (s *jsonScanner) peek() byte {
	if s.at < len(s.b) {
		return s.b[s.at]
	}
	return 0
}

func (s *jsonScanner) byte(c byte) bool {
	if s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

// string reads a string and returns what is between its quotes.
func (s *jsonScanner) string() (raw []byte, escaped, ok bool) {
	if !s.byte('"') {
		return nil, false, false
	}
	start := s.at
	b := s.b
	for i := start; i < len(b); i++ {
		c := b[i]
		if c > '\\' || c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		if c == '"' {
			s.at = i + 1
			return b[start:i], escaped, true
		}
		if c != '\\' {
			return nil, false, false
		}
		escaped = true
		n := escapeLength(b[i:])
		if n == 0 {
			return nil, false, false
		}
		i += n - 1
	}
	return nil, false, false
}

// escapeLength returns the length of the escape at the start of b, 0 if there is no valid one.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && hexRune(b[2:6]) >= 0 {
			return 6
		}
	}
	return 0
}

func hexRune(b []byte) rune {
	var r rune
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// value reads any value, which stands in depth objects and arrays.
func (s *jsonScanner) value(depth int) (v jsonValue, ok bool) {
	s.space()
	if s.at >= len(s.b) {
		return v, false
	}
	start := s.at
	switch c := s.b[s.at]; {
	case c == '"':
		v.kind = jsonString
		v.raw, v.escaped, ok = s.string()
		return v, ok
	case c == '{' || c == '[':
		v.kind, ok = jsonNested, s.nested(depth+1)
	case c == 't':
		v.kind, ok = jsonTrue, s.literal("true")
	case c == 'f':
		v.kind, ok = jsonFalse, s.literal("false")
	case c == 'n':
		v.kind, ok = jsonNull, s.literal("null")
	default:
		v.kind, ok = jsonNumber, s.number()
	}
	v.raw = s.b[start:s.at]
	return v, ok
}

func (s *jsonScanner) literal(text string) bool {
	if !bytes.HasPrefix(s.b[s.at:], []byte(text)) {
		return false
	}
	s.at += len(text)
	return true
}

func (s *jsonScanner) number() bool {
	end := s.at
	if n := digitsAt(s.b[end:]); n > 0 && s.b[end] != '0' {
		// Most numbers are natural, and end at a comma or a brace.
		if end += n; end < len(s.b) && (s.b[end] == ',' || s.b[end] == '}') {
			s.at = end
			return true
		}
	}
	for end < len(s.b) {
		c := s.b[end]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		end++
	}
	_, _, _, _, ok := splitNumber(s.b[s.at:end])
	s.at = end
	return ok
}

// nested skips an object or an array that stands in depth−1 others.
func (s *jsonScanner) nested(depth int) bool {
	if depth > maxJSONDepth {
		return false
	}
	object := s.b[s.at] == '{'
	end := byte(']')
	if object {
		end = '}'
	}
	s.at++
	s.space()
	if s.byte(end) {
		return true
	}
	for {
		if object {
			s.space()
			if _, _, ok := s.string(); !ok {
				return false
			}
			s.space()
			if !s.byte(':') {
				return false
			}
		}
		if _, ok := s.value(depth); !ok {
			return false
		}
		s.space()
		if s.byte(end) {
			return true
		}
		if !s.byte(',') {
			return false
		}
	}
}

// appendUnescaped appends the contents of a string that the scanner has accepted. whole is false if
// it has half a surrogate pair, which becomes U+FFFD as with encoding/json.
func appendUnescaped(dst, raw []byte) (out []byte, whole bool) {
	whole = true
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			i++
			continue
		}
		c := raw[i+1]
		i += 2
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hexRune(raw[i : i+4])
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if len(raw) >= i+6 && raw[i] == '\\' && raw[i+1] == 'u' {
					low = hexRune(raw[i+2 : i+6])
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					whole = false
				} else {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
	return dst, whole
}
