package event

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// internedTexts keeps short strings as any, so fields with few values (a country) need no
// allocation.
type internedTexts map[string]any

const (
	maxInternedTexts = 4096
	maxInternedBytes = 64
)

// text returns b as a string, converted to any.
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

// number returns a number in JSON's grammar: as int64 if it has no fraction or exponent and fits,
// and otherwise as float64, which is infinite if the number is too large.
func number(b []byte) any {
	if n, ok := parseInteger(b); ok {
		return n
	}
	f, _ := strconv.ParseFloat(string(b), 64)
	return f
}

// columnAny returns a column's value for filters: a number if it is a JSON number, else a string.
func (texts internedTexts) columnAny(b []byte) any {
	if len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') {
		if _, _, _, _, ok := splitNumber(b); ok {
			return number(b)
		}
	}
	return texts.text(b)
}

// jsonAny returns a member's value for filters, and whether the record has the member.
func (texts internedTexts) jsonAny(v gjson.Result) (any, bool) {
	switch v.Type {
	case gjson.String:
		return texts.text([]byte(v.Str)), true
	case gjson.Number:
		return number([]byte(v.Raw)), true
	case gjson.Null:
		return nil, v.Exists()
	case gjson.True, gjson.False:
		return v.Bool(), true
	}
	// gjson would scan the contents again at every level, so its time would not be linear.
	var value any
	d := json.NewDecoder(strings.NewReader(v.Raw))
	d.UseNumber()
	_ = d.Decode(&value) // the text is valid
	return convertNumbers(value), true
}

// convertNumbers replaces every json.Number in v by the result of number.
func convertNumbers(v any) any {
	if n, ok := v.(json.Number); ok {
		return number([]byte(n))
	}
	return converted(v, convertNumbers)
}

// converted converts the parts of a list or a map in place.
func converted(v any, convert func(any) any) any {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			v[i] = convert(item)
		}
	case map[string]any:
		for name, member := range v {
			v[name] = convert(member)
		}
	}
	return v
}
