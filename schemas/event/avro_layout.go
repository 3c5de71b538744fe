package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/avro"
	"github.com/twmb/avro/atype"
)

func (a *avroSource) common() string {
	if a.bare == nil {
		return ""
	}
	return wholeLayout(a.bare.root)
}

// wholeLayout describes all parts of a schema.
func wholeLayout(root *avro.SchemaNode) string {
	var l avroLayout
	l.whole(root, true)
	return l.digest()
}

// SameSchema reports whether two writer schemas are the same except for documentation, defaults and
// aliases.
func SameSchema(a, b string) (bool, error) {
	first, root, err := parseAvro(a)
	if err != nil {
		return false, err
	}
	second, other, err := parseAvro(b)
	return err == nil && bytes.Equal(first.Canonical(), second.Canonical()) &&
		wholeLayout(root) == wholeLayout(other), err
}

// place returns the layout up to the field, and the unit of a time. With a registry it returns the
// path instead. Later fields and other branches of a union do not affect the field's place.
func (a *avroSource) place(field int, registry string) string {
	if a.bare == nil {
		return a.d.inUnit(field, fmt.Sprintf("path %q%s%q", a.d.fields[field], byRegistry, registry))
	}
	l := avroLayout{d: a.d, field: field}
	if field == fieldTime {
		l.unit = " in " + a.bare.unit + a.d.textTimes()
	}
	l.upTo(a.bare.root, a.bare.wanted[field].path)
	return l.digest()
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
	d     *Decoder
	field int    // number of the field up to which the layout goes
	unit  string // of a time, with layout and zone of texts
	text  strings.Builder
	named map[avroRecordUse]int
}

// avroRecordUse is a described record; a schema may name it again, even within itself.
type avroRecordUse struct {
	name   string
	values bool
}

func (l *avroLayout) digest() string {
	sum := sha256.Sum256([]byte(l.text.String()))
	return "avro layout " + hex.EncodeToString(sum[:])
}

func (l *avroLayout) upTo(n *avro.SchemaNode, path []step) {
	switch {
	case len(path) == 0 && (l.field >= fieldCount || n.Type != atype.Union):
		l.text.WriteByte('@')
		l.whole(n, true)
		l.text.WriteString(l.unit)
	case n.Type == atype.Union:
		l.text.WriteString("union(")
		for i := range n.Branches {
			if l.contains(&n.Branches[i], path) {
				l.upTo(&n.Branches[i], path)
			} else {
				l.text.WriteByte('-')
			}
			l.text.WriteByte(',')
		}
		l.text.WriteByte(')')
	default:
		l.text.WriteString("record{")
		for i := range n.Fields {
			if n.Fields[i].Name == path[0].name {
				l.upTo(&n.Fields[i].Type, path[1:])
				return
			}
			l.whole(&n.Fields[i].Type, false)
			l.text.WriteByte(',')
		}
	}
}

// contains reports whether a value of the type may contain the field.
func (l *avroLayout) contains(n *avro.SchemaNode, path []step) bool {
	return slices.ContainsFunc(leaves(n, path), func(t *avro.SchemaNode) bool {
		return l.d.checkLeaf(t, l.field) == nil
	})
}

// whole describes a type: enough to skip a value or, with values, to interpret it.
func (l *avroLayout) whole(t *avro.SchemaNode, values bool) {
	kind := t.Type
	if kind == atype.String && !values {
		kind = atype.Bytes
	}
	l.text.WriteString(kind)
	if values && t.LogicalType != "" {
		l.text.WriteString(":" + t.LogicalType)
	}
	var parts []*avro.SchemaNode
	switch {
	case t.Type == atype.Fixed:
		fmt.Fprintf(&l.text, "(%d)", t.Size)
	case t.Type == atype.Enum && values:
		fmt.Fprintf(&l.text, "(%q)", t.Symbols)
	case t.Type == atype.Enum:
		fmt.Fprintf(&l.text, "(%d)", len(t.Symbols))
	case t.Type == atype.Array:
		parts = append(parts, t.Items)
	case t.Type == atype.Map:
		parts = append(parts, t.Values)
	}
	for i := range t.Branches {
		parts = append(parts, &t.Branches[i])
	}
	if t.Type == atype.Record {
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

func (l *avroLayout) record(t *avro.SchemaNode, values bool) {
	use := avroRecordUse{t.Name, values}
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
		l.whole(&f.Type, values)
		l.text.WriteByte(',')
	}
	l.text.WriteByte('}')
}
