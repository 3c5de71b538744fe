package event

import "strconv"

// internedTexts keeps the boxed values of short texts that were seen, so that fields with few
// different values (a country, a type) cost no allocation.
type internedTexts map[string]any

const (
	maxInternedTexts = 4096
	maxInternedBytes = 64
)

// text boxes a string.
func (texts internedTexts) text(b []byte) any {
	if len(b) > maxInternedBytes {
		return string(b)
	}
	if v, ok := texts[string(b)]; ok {
		return v
	}
	if len(texts) >= maxInternedTexts {
		clear(texts)
	}
	s := string(b)
	texts[s] = s
	return texts[s]
}

// number boxes a number in JSON's grammar: an integer without fraction and exponent as int64 if it
// fits, any other as float64; a number that is too large for that is infinite.
func number(b []byte) any {
	if n, ok := parseInteger(b); ok {
		return n
	}
	f, _ := strconv.ParseFloat(string(b), 64)
	return f
}

// columnAny returns what filters see of a column: a number if the text is a JSON number, else the
// string.
func (texts internedTexts) columnAny(b []byte) any {
	if len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') {
		if _, _, _, _, ok := splitNumber(b); ok {
			return number(b)
		}
	}
	return texts.text(b)
}

// jsonAny returns what filters see of a member; false if the record does not have the member.
func (texts internedTexts) jsonAny(v *jsonValue) (any, bool) {
	switch v.kind {
	case jsonAbsent:
		return nil, false
	case jsonNull:
		return nil, true
	case jsonTrue:
		return true, true
	case jsonFalse:
		return false, true
	case jsonNumber:
		return number(v.raw), true
	case jsonString:
		if v.escaped {
			whole, _ := appendUnescaped(nil, v.raw)
			return string(whole), true
		}
		return texts.text(v.raw), true
	}
	s := jsonScanner{b: v.raw}
	return texts.nestedAny(&s), true
}

// nestedAny builds an object or an array that the scanner has accepted.
func (texts internedTexts) nestedAny(s *jsonScanner) any {
	object := s.b[s.at] == '{'
	s.at++
	list, members := []any{}, map[string]any{}
	for {
		s.space()
		switch s.b[s.at] {
		case '}':
			s.at++
			return members
		case ']':
			s.at++
			return list
		case ',':
			s.at++
			s.space()
		}
		var name string
		if object {
			raw, escaped, _ := s.string()
			if escaped {
				raw, _ = appendUnescaped(nil, raw)
			}
			name = string(raw)
			s.space()
			s.at++
			s.space()
		}
		var item any
		if c := s.b[s.at]; c == '{' || c == '[' {
			item = texts.nestedAny(s)
		} else {
			v, _ := s.value(0)
			item, _ = texts.jsonAny(&v)
		}
		if object {
			members[name] = item
		} else {
			list = append(list, item)
		}
	}
}
