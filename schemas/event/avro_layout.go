package event

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/avro"
)

func (a *avroSource) common() string {
	if a.bare == nil {
		return ""
	}
	var l avroLayout
	l.whole(a.bare.typ, true)
	return l.digest()
}

// place returns the layout up to the field, and the unit of a time. With a registry it returns the
// path instead.
func (a *avroSource) place(field int, registry string) string {
	switch filter := field - fieldCount; {
	case a.bare == nil:
		return a.d.inUnit(field, fmt.Sprintf("path %q%s%q", a.d.fields[field], byRegistry, registry))
	case filter >= 0:
		return a.bare.layoutUpTo(func(n *avroNode) bool { return slices.Contains(n.filters, filter) }, "", false)
	}
	return a.bare.layoutUpTo(func(n *avroNode) bool { return slices.Contains(n.numbers, field) }, a.d.textTimes(),
		field == fieldTime)
}

func (a *avroSource) members(registry string) string {
	if a.bare != nil {
		return ""
	}
	return fmt.Sprintf("fields%s%q", byRegistry, registry)
}

// byRegistry separates a field from the name of the registry.
const byRegistry = " of " + Avro + " by the registry "

// OtherRegistry reports whether two identities of a field differ at most in the registry's name.
func OtherRegistry(was, is string) bool {
	field, _, registry := strings.Cut(was, byRegistry)
	now, _, still := strings.Cut(is, byRegistry)
	return registry && still && field == now
}

// avroLayout describes the parts of a writer schema that determine how bytes are read, without
// documentation, defaults, aliases and type names.
type avroLayout struct {
	text  strings.Builder
	texts string // layout and zone of times that are texts
	named map[avroRecordUse]int
}

// avroRecordUse is a described record; a schema may name it again, even within itself.
type avroRecordUse struct {
	typ    *avro.Type
	values bool
}

func (l *avroLayout) digest() string {
	sum := sha256.Sum256([]byte(l.text.String()))
	return "avro layout " + hex.EncodeToString(sum[:])
}

// layoutUpTo returns the digest of a record's layout up to a field. Later fields and other branches
// of a union do not affect the field's place.
func (n *avroNode) layoutUpTo(is func(*avroNode) bool, texts string, unit bool) string {
	l := avroLayout{texts: texts}
	l.upTo(n, is, unit)
	return l.digest()
}

func (l *avroLayout) upTo(n *avroNode, is func(*avroNode) bool, unit bool) {
	switch {
	case is(n):
		l.text.WriteByte('@')
		l.whole(n.typ, true)
		if unit {
			l.text.WriteString(" in " + n.unit + l.texts)
		}
	case n.typ.Kind == avro.Union:
		l.text.WriteString("union(")
		for _, m := range n.members {
			if m.contains(is) {
				l.upTo(m, is, unit)
			} else {
				l.text.WriteByte('-')
			}
			l.text.WriteByte(',')
		}
		l.text.WriteByte(')')
	default:
		l.text.WriteString("record{")
		for i, m := range n.members {
			if m.contains(is) {
				l.upTo(m, is, unit)
				return
			}
			l.whole(n.typ.Fields[i].Type, false)
			l.text.WriteByte(',')
		}
	}
}

// contains reports whether the node, which may be nil, contains the field.
func (n *avroNode) contains(is func(*avroNode) bool) bool {
	return n != nil && (is(n) || slices.ContainsFunc(n.members, func(m *avroNode) bool { return m.contains(is) }))
}

// whole describes a type: enough to skip a value or, with values, to interpret it.
func (l *avroLayout) whole(t *avro.Type, values bool) {
	kind := t.Kind
	if kind == avro.String && !values {
		kind = avro.Bytes
	}
	l.text.WriteString(kind.String())
	if values && t.Logical != "" {
		l.text.WriteString(":" + t.Logical)
	}
	parts := t.Branches
	switch {
	case t.Kind == avro.Fixed:
		fmt.Fprintf(&l.text, "(%d)", t.Size)
	case t.Kind == avro.Enum && values:
		fmt.Fprintf(&l.text, "(%q)", t.Symbols)
	case t.Kind == avro.Enum:
		fmt.Fprintf(&l.text, "(%d)", len(t.Symbols))
	case t.Items != nil:
		parts = []*avro.Type{t.Items}
	}
	if t.Kind == avro.Record {
		l.record(t, values)
		return
	}
	if len(parts) == 0 {
		return
	}
	l.text.WriteByte('(')
	for _, p := range parts {
		l.whole(p, values)
		l.text.WriteByte(',')
	}
	l.text.WriteByte(')')
}

func (l *avroLayout) record(t *avro.Type, values bool) {
	use := avroRecordUse{t, values}
	if number, again := l.named[use]; again {
		fmt.Fprintf(&l.text, "#%d", number)
		return
	}
	if l.named == nil {
		l.named = make(map[avroRecordUse]int)
	}
	l.named[use] = len(l.named)
	l.text.WriteByte('{')
	for _, f := range t.Fields {
		if values {
			fmt.Fprintf(&l.text, "%q ", f.Name)
		}
		l.whole(f.Type, values)
		l.text.WriteByte(',')
	}
	l.text.WriteByte('}')
}
