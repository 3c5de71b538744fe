package event

import (
	"bytes"
	"strconv"

	"github.com/tidwall/gjson"
)

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
	case 'n', 't', 'f', '{', '[':
	case '"':
		if text := v.text[1 : len(v.text)-1]; bytes.IndexByte(text, '\\') < 0 {
			return texts.text(text), true
		}
	default:
		return number(v.text), true
	}
	return anyOf(gjson.ParseBytes(v.text)), true
}

func anyOf(v gjson.Result) any {
	switch v.Type {
	case gjson.Null:
		return nil
	case gjson.True, gjson.False:
		return v.Type == gjson.True
	case gjson.Number:
		return number([]byte(v.Raw))
	case gjson.String:
		return v.Str
	}
	list, members := []any{}, map[string]any{}
	v.ForEach(func(name, part gjson.Result) bool {
		if v.IsArray() {
			list = append(list, anyOf(part))
		} else {
			members[name.Str] = anyOf(part)
		}
		return true
	})
	if v.IsArray() {
		return list
	}
	return members
}
