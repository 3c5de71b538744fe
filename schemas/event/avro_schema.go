package event

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/avro"
	"github.com/twmb/avro/atype"
)

// avroSymbol, avroMap and avroOpaque are decoded values whose types would otherwise look like a
// string, a record, and bytes.
type (
	avroSymbol string         // of an enum
	avroMap    map[string]any // not a record
	avroOpaque []byte         // a decimal or a duration
)

// avroTypes make the library return times as their numbers, and mark the types above.
var avroTypes = []avro.SchemaOpt{
	decodedAs(avro.CustomType{AvroType: atype.Enum}, func(s string) any { return avroSymbol(s) }),
	decodedAs(avro.CustomType{AvroType: atype.Map}, func(m map[string]any) any { return avroMap(m) }),
	decodedAs(avro.CustomType{LogicalType: atype.Decimal}, func(b []byte) any { return avroOpaque(b) }),
	decodedAs(avro.CustomType{LogicalType: atype.Duration}, func(b []byte) any { return avroOpaque(b) }),
	avro.CustomType{LogicalType: atype.BigDecimal}, avro.CustomType{LogicalType: atype.Date},
	avro.CustomType{LogicalType: atype.TimeMillis}, avro.CustomType{LogicalType: atype.TimeMicros},
	avro.CustomType{LogicalType: atype.TimestampMillis}, avro.CustomType{LogicalType: atype.TimestampMicros},
	avro.CustomType{LogicalType: atype.TimestampNanos}, avro.CustomType{LogicalType: atype.LocalTimestampMillis},
	avro.CustomType{LogicalType: atype.LocalTimestampMicros}, avro.CustomType{LogicalType: atype.LocalTimestampNanos},
}

// decodedAs completes a type whose values are converted if they are a T.
func decodedAs[T any](t avro.CustomType, convert func(T) any) avro.CustomType {
	t.Decode = func(v any, _ *avro.SchemaNode) (any, error) {
		if raw, ok := v.(T); ok {
			return convert(raw), nil
		}
		return nil, avro.ErrSkipCustomType
	}
	return t
}

// parseAvro parses a writer schema, which must be a record's. In the graph at root, names of types
// are full names, each reference has become the type that it names, and logical types that do not
// fit are absent.
func parseAvro(text string) (schema *avro.Schema, root *avro.SchemaNode, err error) {
	schema, err = avro.Parse(strings.TrimPrefix(text, "\uFEFF"), avroTypes...)
	if err != nil {
		return nil, nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	root = schema.Root()
	if root.Type != atype.Record {
		return nil, nil, fmt.Errorf("the schema is of type %s: an event must be a record", typeText(root))
	}
	l := avroLinker{named: make(map[string]*avro.SchemaNode), empty: make(map[string]bool)}
	l.link(root, "")
	if slices.ContainsFunc(l.items, l.isEmpty) {
		return nil, nil, errors.New("the schema has an array whose items have no bytes")
	}
	return schema, root, nil
}

// avroLinker resolves the names in a schema.
type avroLinker struct {
	named map[string]*avro.SchemaNode // by full name
	items []*avro.SchemaNode          // of arrays
	empty map[string]bool             // records by full name: whether isEmpty
}

func (l *avroLinker) link(n *avro.SchemaNode, namespace string) {
	if !fits(n) {
		n.LogicalType = ""
	}
	switch n.Type {
	case atype.Record, atype.Enum, atype.Fixed:
		if !strings.Contains(n.Name, ".") && n.Namespace != "" {
			n.Name = n.Namespace + "." + n.Name
		}
		namespace = n.Name[:max(strings.LastIndexByte(n.Name, '.'), 0)]
		l.named[n.Name] = n
		for i := range n.Fields {
			l.link(&n.Fields[i].Type, namespace)
		}
	case atype.Union:
		for i := range n.Branches {
			l.link(&n.Branches[i], namespace)
		}
	case atype.Array:
		l.link(n.Items, namespace)
		l.items = append(l.items, n.Items)
	case atype.Map:
		l.link(n.Values, namespace)
	default:
		if t := cmp.Or(l.named[namespace+"."+n.Type], l.named[n.Type]); t != nil {
			*n = *t
		}
	}
}

// isEmpty reports whether values of a type have no bytes. A record that contains itself has no
// values at all.
func (l *avroLinker) isEmpty(n *avro.SchemaNode) bool {
	switch n.Type {
	case atype.Null:
		return true
	case atype.Fixed:
		return n.Size == 0
	case atype.Record:
		if _, known := l.empty[n.Name]; !known {
			l.empty[n.Name] = false
			l.empty[n.Name] = !slices.ContainsFunc(n.Fields, func(f avro.SchemaField) bool {
				return !l.isEmpty(&f.Type)
			})
		}
		return l.empty[n.Name]
	}
	return false
}

// fits reports whether the logical type can annotate the type.
func fits(n *avro.SchemaNode) bool {
	switch n.LogicalType {
	case atype.Decimal:
		return n.Type == atype.Bytes || n.Type == atype.Fixed
	case atype.UUID:
		return n.Type == atype.String || n.Type == atype.Fixed && n.Size == 16
	case atype.Date, atype.TimeMillis:
		return n.Type == atype.Int
	case atype.TimeMicros, atype.TimestampMillis, atype.TimestampMicros, atype.TimestampNanos,
		atype.LocalTimestampMillis, atype.LocalTimestampMicros, atype.LocalTimestampNanos:
		return n.Type == atype.Long
	case atype.Duration:
		return n.Type == atype.Fixed && n.Size == 12
	}
	return false
}

// typeText names the type for people.
func typeText(n *avro.SchemaNode) string {
	text := n.Type
	if n.Name != "" {
		text += " " + n.Name
	}
	if n.LogicalType != "" {
		text += " (" + n.LogicalType + ")"
	}
	return text
}
