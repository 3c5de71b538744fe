package event

import (
	"slices"

	"github.com/twmb/avro"
	"github.com/twmb/avro/atype"
)

// filterValue returns nil, bool, int64, float64, string (for bytes, fixed and enum, too), []any or
// map[string]any; for a union, the value of its branch.
func (a *avroSource) filterValue(i int) (v any, present bool) {
	value := held(a.plan.wanted[fieldCount+i].place)
	if !value.IsValid() {
		return nil, true
	}
	return avroAny(value.Interface()), true
}

// neverEqual needs a local schema.
func (a *avroSource) neverEqual(i int, constant any) string {
	if a.bare == nil {
		return ""
	}
	if t := fieldOf(a.bare.root, a.d.filter.Names()[i]); !canEqual(t, constant) {
		return "the schema's type there is " + typeText(t)
	}
	return ""
}

// canEqual reports whether avroAny can return the constant for a value of type t.
func canEqual(t *avro.SchemaNode, constant any) (can bool) {
	switch t.Type {
	case atype.Union:
		return slices.ContainsFunc(t.Branches, func(b avro.SchemaNode) bool { return canEqual(&b, constant) })
	case atype.Null:
		return constant == nil
	case atype.Boolean:
		_, can = constant.(bool)
	case atype.Int, atype.Long, atype.Float, atype.Double:
		_, can = constant.(float64)
	case atype.Bytes, atype.String, atype.Fixed:
		_, can = constant.(string)
	case atype.Enum:
		text, _ := constant.(string)
		can = slices.Contains(t.Symbols, text)
	}
	return can
}

// avroAny returns a decoded value as filters see it.
func avroAny(v any) any {
	switch v := v.(type) {
	case int32:
		return int64(v)
	case float32:
		return float64(v)
	case avroSymbol:
		return string(v)
	case avroOpaque:
		return string(v)
	case []byte:
		return string(v)
	case [16]byte:
		return string(v[:])
	case avroMap:
		return converted(map[string]any(v), avroAny)
	}
	return converted(v, avroAny)
}
