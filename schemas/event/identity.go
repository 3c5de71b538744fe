package event

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/formats/avro"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event/filter"
)

// Identity returns how the format decodes records. registry names the registry that schemas come
// from: a record has the id of its schema, and the registry says what that means. Errors are
// *FormatError.
func (f Format) Identity(registry string) (schemas.EventIdentity, error) {
	d, err := f.compile(nil)
	if err != nil {
		return schemas.EventIdentity{}, err
	}
	var id schemas.EventIdentity
	for i, to := range [fieldCount]*string{&id.User, &id.Key, &id.Time, &id.Value} {
		*to = d.identityOf(i, registry)
	}
	if f.Key == "" {
		id.Key = "no key"
	}
	for _, text := range f.Filters {
		id.Filters = append(id.Filters, d.identityOfFilter(text, registry))
	}
	id.Records = fmt.Sprintf("at most %d bytes", d.max)
	switch {
	case d.columns > 0:
		id.Records = fmt.Sprintf("%d columns, %s", d.columns, id.Records)
	case d.avro != nil && d.avro.bare != nil:
		var l avroLayout
		l.whole(d.avro.bare.typ, true)
		id.Records = fmt.Sprintf("%s, %s", l.digest(), id.Records)
	}
	return id, nil
}

// identityOf returns how one of the fields of every event is found and read.
func (d *Decoder) identityOf(field int, registry string) string {
	name := d.fields[field]
	if name == "" {
		return ""
	}
	text := ""
	switch {
	case d.columns > 0:
		text = d.columnOf(field)
	case d.avro == nil:
		text = fmt.Sprintf("path %q of %s", name, d.format)
	case d.avro.bare == nil:
		text = fmt.Sprintf("path %q of avro by the registry %q", name, registry)
	default:
		// The path, and the unit of a time, are part of the layout.
		return d.avro.bare.layoutUpTo(func(n *avroNode) bool { return slices.Contains(n.numbers, field) }, field == fieldTime)
	}
	if field == fieldTime {
		text += fmt.Sprintf(" in %q", d.unit)
	}
	return text
}

// identityOfFilter returns how the fields that a filter names are found.
func (d *Decoder) identityOfFilter(text, registry string) string {
	switch {
	case d.avro == nil && d.columns == 0:
		return "members of " + d.format // by their names, which the filter's text has
	case d.avro != nil && d.avro.bare == nil:
		return fmt.Sprintf("fields of avro by the registry %q", registry)
	}
	names, _ := filter.Fields(text) // compiled before
	var all []string
	for _, name := range names {
		i := slices.Index(d.filter.Names(), name)
		found := ""
		if d.columns > 0 {
			found = d.columnOf(fieldCount + i)
		} else {
			found = d.avro.bare.layoutUpTo(func(n *avroNode) bool { return slices.Contains(n.filters, i) }, false)
		}
		all = append(all, fmt.Sprintf("%q in %s", name, found))
	}
	return strings.Join(all, ", ")
}

func (d *Decoder) columnOf(number int) string {
	at := slices.IndexFunc(d.targets, func(numbers []int) bool { return slices.Contains(numbers, number) })
	return fmt.Sprintf("column %d of %s", at+1, d.format)
}

// avroLayout writes the parts of a writer schema that decide how bytes are read: neither
// documentation nor defaults, aliases and the names of types.
type avroLayout struct {
	text  strings.Builder
	named map[avroRecordUse]int
}

// avroRecordUse is a record that was written: a schema may name it again, and within itself.
type avroRecordUse struct {
	typ    *avro.Type
	values bool
}

func (l *avroLayout) digest() string {
	sum := sha256.Sum256([]byte(l.text.String()))
	return "avro layout " + hex.EncodeToString(sum[:])
}

// layoutUpTo returns the digest of the layout of a record up to the field that is looked for. What
// stands after the field does not move it, and what stands in another branch of a union is absent
// when the field is present.
func (n *avroNode) layoutUpTo(is func(*avroNode) bool, unit bool) string {
	var l avroLayout
	l.upTo(n, is, unit)
	return l.digest()
}

func (l *avroLayout) upTo(n *avroNode, is func(*avroNode) bool, unit bool) {
	switch {
	case is(n):
		l.text.WriteByte('@')
		l.whole(n.typ, true)
		if unit {
			l.text.WriteString(" in " + n.unit)
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

// contains reports whether the field that is looked for stands in a node, which may be nil.
func (n *avroNode) contains(is func(*avroNode) bool) bool {
	return n != nil && (is(n) || slices.ContainsFunc(n.members, func(m *avroNode) bool { return m.contains(is) }))
}

// whole writes a type: what must be known to skip a value or, with values, also to understand it.
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
