package event

import (
	"encoding/binary"
	"math"
)

// any is what filters see of field i: null, bool, int64, float64, string (also of an enum; bytes and fixed as they are),
// []any and map[string]any; of a union the value of its branch.
func (a *avroSource) any(i int, texts internedTexts) (any, bool) {
	a.spans.open(a.values[i].b)
	return a.spans.any(a.values[i].typ, texts), true
}

// any builds a value that skip has accepted.
func (r *avroReader) any(t *avroType, texts internedTexts) any {
	switch t.kind {
	case avroBoolean:
		r.at++
		return r.b[r.at-1] == 1
	case avroInt, avroLong:
		n, _ := r.integer(t.kind)
		return n
	case avroFloat:
		r.at += 4
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(r.b[r.at-4:])))
	case avroDouble:
		r.at += 8
		return math.Float64frombits(binary.LittleEndian.Uint64(r.b[r.at-8:]))
	case avroBytes, avroString:
		b, _ := r.bytes()
		return texts.text(b)
	case avroFixed:
		r.at += t.size
		return texts.text(r.b[r.at-t.size : r.at])
	case avroEnum:
		i, _ := r.index(len(t.symbols))
		return texts.text(t.symbols[i])
	case avroUnion:
		i, _ := r.index(len(t.branches))
		return r.any(t.branches[i], texts)
	case avroArray:
		return r.list(t, texts)
	case avroMap:
		return r.pairs(t, texts)
	case avroRecord:
		m := make(map[string]any, len(t.fields))
		for _, f := range t.fields {
			m[f.name] = r.any(f.typ, texts)
		}
		return m
	}
	return nil
}

func (r *avroReader) list(t *avroType, texts internedTexts) any {
	list := []any{}
	for n, _ := r.block(); n != 0; n, _ = r.block() {
		for range n {
			list = append(list, r.any(t.items, texts))
		}
	}
	return list
}

func (r *avroReader) pairs(t *avroType, texts internedTexts) any {
	m := make(map[string]any)
	for n, _ := r.block(); n != 0; n, _ = r.block() {
		for range n {
			key, _ := r.bytes()
			m[string(key)] = r.any(t.items, texts)
		}
	}
	return m
}
