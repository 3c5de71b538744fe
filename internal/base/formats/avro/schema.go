package avro

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Kind is a type of the Avro specification.
type Kind uint8

const (
	Null Kind = iota
	Boolean
	Int
	Long
	Float
	Double
	Bytes
	String
	Fixed
	Enum
	Array
	Map
	Union
	Record
)

var kindNames = [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum",
	"array", "map", "union", "record"}

// String returns the name that the specification has for the kind.
func (k Kind) String() string { return kindNames[k] }

// Type is a type of a writer schema. Types may contain themselves.
type Type struct {
	Kind     Kind
	Logical  string // the logical type; "" without one, or with one that does not fit the type
	Claimed  string // the logical type in the schema, whether it fits or not
	Name     string // name of a record, enum or fixed
	Size     int    // fixed
	Symbols  [][]byte
	Fields   []Field
	Items    *Type // items of an array, values of a map
	Branches []*Type
	Empty    bool // whether values have no bytes
}

// Field is a field of a record.
type Field struct {
	Name string
	Type *Type
}

// String names the type for people.
func (t *Type) String() string {
	text := t.Kind.String()
	if t.Name != "" {
		text += " " + t.Name
	}
	if t.Logical != "" {
		text += " (" + t.Logical + ")"
	}
	return text
}

// Bounds of a schema.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 200
)

// Parse parses a schema, which must be a record's. It is as strict as decoding requires: names,
// defaults, aliases and documentation are not validated, and a logical type that does not fit is
// ignored, as the specification demands.
func Parse(text string) (*Type, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("the schema has %d bytes; the limit is %d", len(text), maxSchemaBytes)
	}
	var v any
	text = strings.TrimPrefix(text, "\uFEFF")
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		where := ""
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			where = fmt.Sprintf(", in line %d", 1+strings.Count(text[:syntax.Offset], "\n"))
		}
		return nil, fmt.Errorf("the schema is not JSON%s: %w", where, err)
	}
	p := schemaParser{named: make(map[string]*Type)}
	t, err := p.parse(v, "", 0)
	if err != nil {
		return nil, err
	}
	if t.Kind != Record {
		return nil, fmt.Errorf("the schema is of type %s: an event must be a record", t)
	}
	p.findEmpty()
	return t, nil
}

type schemaParser struct {
	named   map[string]*Type // by full name
	records []*Type          // innermost first
}

func (p *schemaParser) parse(v any, namespace string, depth int) (*Type, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("the schema is nested more than %d deep", maxSchemaDepth)
	}
	switch v := v.(type) {
	case string:
		return p.lookUp(v, namespace)
	case []any:
		return p.union(v, namespace, depth)
	case map[string]any:
		return p.object(v, namespace, depth)
	}
	return nil, errors.New("a type in the schema is neither a name nor an object nor a list")
}

func (p *schemaParser) lookUp(name, namespace string) (*Type, error) {
	for kind := Null; kind <= String; kind++ {
		if name == kind.String() {
			return &Type{Kind: kind, Empty: kind == Null}, nil
		}
	}
	if !strings.Contains(name, ".") && namespace != "" {
		if t := p.named[namespace+"."+name]; t != nil {
			return t, nil
		}
	}
	if t := p.named[name]; t != nil {
		return t, nil
	}
	switch name {
	case "record", "enum", "fixed", "array", "map":
		return nil, fmt.Errorf("the schema has a field whose type is only %q: write {\"type\": %q, …} in its place",
			name, name)
	}
	return nil, fmt.Errorf("the schema names type %q, which is not defined before it", name)
}

func (p *schemaParser) union(list []any, namespace string, depth int) (*Type, error) {
	if len(list) == 0 {
		return nil, errors.New("the schema has a union of no types")
	}
	t := &Type{Kind: Union}
	for _, v := range list {
		b, err := p.parse(v, namespace, depth+1)
		if err != nil {
			return nil, err
		}
		if b.Kind == Union {
			return nil, errors.New("the schema has a union directly within a union")
		}
		t.Branches = append(t.Branches, b)
	}
	return t, nil
}

func (p *schemaParser) object(o map[string]any, namespace string, depth int) (t *Type, err error) {
	kind, isName := o["type"].(string)
	if !isName {
		return p.parse(o["type"], namespace, depth+1)
	}
	switch kind {
	case "record":
		return p.record(o, namespace, depth)
	case "enum":
		return p.enum(o, namespace)
	case "fixed":
		t, err = p.fixed(o, namespace)
	case "array":
		t = &Type{Kind: Array}
		t.Items, err = p.parse(o["items"], namespace, depth+1)
	case "map":
		t = &Type{Kind: Map}
		t.Items, err = p.parse(o["values"], namespace, depth+1)
	default:
		if t, err = p.lookUp(kind, namespace); err == nil && t.Name != "" {
			return t, nil // a type defined elsewhere keeps its logical type
		}
	}
	if err != nil {
		return nil, err
	}
	t.Claimed, _ = o["logicalType"].(string)
	if t.fits(t.Claimed) {
		t.Logical = t.Claimed
	}
	return t, nil
}

// fits reports whether a logical type can annotate the type.
func (t *Type) fits(logical string) bool {
	switch logical {
	case "decimal":
		return t.Kind == Bytes || t.Kind == Fixed
	case "uuid":
		return t.Kind == String || t.Kind == Fixed && t.Size == 16
	case "date", "time-millis":
		return t.Kind == Int
	case "time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos",
		"local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos":
		return t.Kind == Long
	case "duration":
		return t.Kind == Fixed && t.Size == 12
	}
	return false
}

// define registers a named type and returns the namespace for its contents.
func (p *schemaParser) define(t *Type, o map[string]any, namespace string) (string, error) {
	name, _ := o["name"].(string)
	if name == "" {
		return "", fmt.Errorf("the schema has a type %s without a name", t.Kind.String())
	}
	t.Name = name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		namespace = name[:i]
	} else {
		if named, ok := o["namespace"].(string); ok {
			namespace = named
		}
		if namespace != "" {
			t.Name = namespace + "." + name
		}
	}
	p.named[t.Name] = t
	return namespace, nil
}

func (p *schemaParser) record(o map[string]any, namespace string, depth int) (*Type, error) {
	t := &Type{Kind: Record}
	namespace, err := p.define(t, o, namespace)
	if err != nil {
		return nil, err
	}
	fields, ok := o["fields"].([]any)
	if !ok {
		return nil, fmt.Errorf("the schema has a record %s without a list of fields", t.Name)
	}
	seen := make(map[string]bool)
	for i, v := range fields {
		f, ok := v.(map[string]any)
		name, isText := f["name"].(string)
		if !ok || !isText || name == "" {
			return nil, fmt.Errorf("the schema's record %s has a field without a name, number %d", t.Name, i+1)
		}
		if seen[name] {
			return nil, fmt.Errorf("the schema's record %s has two fields %s", t.Name, name)
		}
		seen[name] = true
		typ, err := p.parse(f["type"], namespace, depth+1)
		if err != nil {
			return nil, err
		}
		t.Fields = append(t.Fields, Field{Name: name, Type: typ})
	}
	p.records = append(p.records, t)
	return t, nil
}

func (p *schemaParser) enum(o map[string]any, namespace string) (*Type, error) {
	t := &Type{Kind: Enum}
	if _, err := p.define(t, o, namespace); err != nil {
		return nil, err
	}
	symbols, _ := o["symbols"].([]any)
	for _, v := range symbols {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("the schema's enum %s has a symbol that is not a string", t.Name)
		}
		t.Symbols = append(t.Symbols, []byte(s))
	}
	if len(t.Symbols) == 0 {
		return nil, fmt.Errorf("the schema's enum %s has no symbols", t.Name)
	}
	return t, nil
}

func (p *schemaParser) fixed(o map[string]any, namespace string) (*Type, error) {
	t := &Type{Kind: Fixed}
	if _, err := p.define(t, o, namespace); err != nil {
		return nil, err
	}
	size, ok := o["size"].(float64)
	if t.Size = int(size); !ok || size != float64(t.Size) || size < 1 || size > 1<<30 {
		return nil, fmt.Errorf("the schema's fixed %s has no size between 1 and %d", t.Name, 1<<30)
	}
	return t, nil
}

// findEmpty marks the records whose values have no bytes: those with only empty fields. A record is
// listed after the other records that it contains; a record that contains only itself has no values
// at all.
func (p *schemaParser) findEmpty() {
	for _, t := range p.records {
		t.Empty = true
		for _, f := range t.Fields {
			t.Empty = t.Empty && f.Type.Empty && f.Type != t
		}
	}
}
