package event

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/formats/avro"
)

// filterValue returns nil, bool, int64, float64, string (for bytes, fixed and enum, too), []any or
// map[string]any; for a union, the value of its branch.
func (a *avroSource) filterValue(i int) (v any, present bool) {
	a.spans.Open(a.values[i].b)
	return a.d.texts.avroAny(&a.spans, a.values[i].typ), true
}

// neverEqual needs a local schema.
func (a *avroSource) neverEqual(i int, constant any) string {
	if a.bare == nil {
		return ""
	}
	member := slices.IndexFunc(a.bare.members, func(m *avroNode) bool {
		return m != nil && slices.Contains(m.filters, i)
	})
	if t := a.bare.members[member].typ; !canEqual(t, constant) {
		return "the schema's type there is " + t.String()
	}
	return ""
}

// canEqual reports whether avroAny can return the constant for a value of type t.
func canEqual(t *avro.Type, constant any) (can bool) {
	switch t.Kind {
	case avro.Union:
		return slices.ContainsFunc(t.Branches, func(b *avro.Type) bool { return canEqual(b, constant) })
	case avro.Null:
		return constant == nil
	case avro.Boolean:
		_, can = constant.(bool)
	case avro.Int, avro.Long, avro.Float, avro.Double:
		_, can = constant.(float64)
	case avro.Bytes, avro.String, avro.Fixed:
		_, can = constant.(string)
	case avro.Enum:
		text, _ := constant.(string)
		can = slices.ContainsFunc(t.Symbols, func(s []byte) bool { return string(s) == text })
	}
	return can
}

// avroAny builds a value that avro.Reader.Skip has accepted.
func (texts internedTexts) avroAny(r *avro.Reader, t *avro.Type) any {
	switch t.Kind {
	case avro.Boolean:
		r.At++
		return r.Buf[r.At-1] == 1
	case avro.Int, avro.Long:
		n, _ := r.Integer(t.Kind)
		return n
	case avro.Float:
		r.At += 4
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(r.Buf[r.At-4:])))
	case avro.Double:
		r.At += 8
		return math.Float64frombits(binary.LittleEndian.Uint64(r.Buf[r.At-8:]))
	case avro.Bytes, avro.String:
		b, _ := r.Bytes()
		return texts.text(b)
	case avro.Fixed:
		r.At += t.Size
		return texts.text(r.Buf[r.At-t.Size : r.At])
	case avro.Enum:
		i, _ := r.Index(len(t.Symbols))
		return texts.text(t.Symbols[i])
	case avro.Union:
		i, _ := r.Index(len(t.Branches))
		return texts.avroAny(r, t.Branches[i])
	case avro.Array:
		list := []any{}
		for n, _ := r.Block(); n != 0; n, _ = r.Block() {
			for range n {
				list = append(list, texts.avroAny(r, t.Items))
			}
		}
		return list
	case avro.Map:
		m := make(map[string]any)
		for n, _ := r.Block(); n != 0; n, _ = r.Block() {
			for range n {
				key, _ := r.Bytes()
				m[string(key)] = texts.avroAny(r, t.Items)
			}
		}
		return m
	case avro.Record:
		m := make(map[string]any, len(t.Fields))
		for _, f := range t.Fields {
			m[f.Name] = texts.avroAny(r, f.Type)
		}
		return m
	}
	return nil
}
