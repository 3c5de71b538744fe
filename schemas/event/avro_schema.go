package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// avroKind is a type of the Avro specification.
type avroKind uint8

const (
	avroNull avroKind = iota
	avroBoolean
	avroInt
	avroLong
	avroFloat
	avroDouble
	avroBytes
	avroString
	avroFixed
	avroEnum
	avroArray
	avroMap
	avroUnion
	avroRecord
)

var avroKindNames = [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum",
	"array", "map", "union", "record"}

// avroType is a type of a writer schema. Types may contain themselves.
type avroType struct {
	kind     avroKind
	logical  string // "" where there is none, or one that does not fit the type
	name     string // of a record, enum or fixed
	size     int    // fixed
	symbols  [][]byte
	fields   []avroField
	items    *avroType // of an array, values of a map
	branches []*avroType
	empty    bool // values have no bytes
}

type avroField struct {
	name string
	typ  *avroType
}

// String names the type for people.
func (t *avroType) String() string {
	text := avroKindNames[t.kind]
	if t.name != "" {
		text += " " + t.name
	}
	if t.logical != "" {
		text += " (" + t.logical + ")"
	}
	return text
}

// Bounds of a schema.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 200
)

// parseAvroSchema reads a schema. It is as strict as decoding needs: names, defaults, aliases and documentation are not
// looked at, and a logical type that does not fit is none, as the specification says.
func parseAvroSchema(text string) (*avroType, error) {
	if len(text) > maxSchemaBytes {
		return nil, fmt.Errorf("the schema has %d bytes; the limit is %d", len(text), maxSchemaBytes)
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	p := schemaParser{named: make(map[string]*avroType)}
	t, err := p.parse(v, "", 0)
	if err != nil {
		return nil, err
	}
	if t.kind != avroRecord {
		return nil, fmt.Errorf("the schema is of type %s: an event must be a record", t)
	}
	p.findEmpty()
	return t, nil
}

type schemaParser struct {
	named   map[string]*avroType // by full name
	records []*avroType          // innermost first
}

func (p *schemaParser) parse(v any, namespace string, depth int) (*avroType, error) {
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

func (p *schemaParser) lookUp(name, namespace string) (*avroType, error) {
	for kind := avroNull; kind <= avroString; kind++ {
		if name == avroKindNames[kind] {
			return &avroType{kind: kind, empty: kind == avroNull}, nil
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
	return nil, fmt.Errorf("the schema names type %q, which is not defined before it", name)
}

func (p *schemaParser) union(list []any, namespace string, depth int) (*avroType, error) {
	if len(list) == 0 {
		return nil, errors.New("the schema has a union of no types")
	}
	t := &avroType{kind: avroUnion}
	for _, v := range list {
		b, err := p.parse(v, namespace, depth+1)
		if err != nil {
			return nil, err
		}
		if b.kind == avroUnion {
			return nil, errors.New("the schema has a union directly within a union")
		}
		t.branches = append(t.branches, b)
	}
	return t, nil
}

func (p *schemaParser) object(o map[string]any, namespace string, depth int) (t *avroType, err error) {
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
		t = &avroType{kind: avroArray}
		t.items, err = p.parse(o["items"], namespace, depth+1)
	case "map":
		t = &avroType{kind: avroMap}
		t.items, err = p.parse(o["values"], namespace, depth+1)
	default:
		if t, err = p.lookUp(kind, namespace); err == nil && t.name != "" {
			return t, nil // a type defined elsewhere keeps its logical type
		}
	}
	if err != nil {
		return nil, err
	}
	if logical, ok := o["logicalType"].(string); ok && t.fits(logical) {
		t.logical = logical
	}
	return t, nil
}

// fits reports whether a logical type can annotate the type.
func (t *avroType) fits(logical string) bool {
	switch logical {
	case "decimal":
		return t.kind == avroBytes || t.kind == avroFixed
	case "uuid":
		return t.kind == avroString || t.kind == avroFixed && t.size == 16
	case "date", "time-millis":
		return t.kind == avroInt
	case "time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos",
		"local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos":
		return t.kind == avroLong
	case "duration":
		return t.kind == avroFixed && t.size == 12
	}
	return false
}

// define registers a named type and returns the namespace for what is in it.
func (p *schemaParser) define(t *avroType, o map[string]any, namespace string) (string, error) {
	name, _ := o["name"].(string)
	if name == "" {
		return "", fmt.Errorf("the schema has a type %s without a name", avroKindNames[t.kind])
	}
	t.name = name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		namespace = name[:i]
	} else {
		if own, ok := o["namespace"].(string); ok {
			namespace = own
		}
		if namespace != "" {
			t.name = namespace + "." + name
		}
	}
	p.named[t.name] = t
	return namespace, nil
}

func (p *schemaParser) record(o map[string]any, namespace string, depth int) (*avroType, error) {
	t := &avroType{kind: avroRecord}
	namespace, err := p.define(t, o, namespace)
	if err != nil {
		return nil, err
	}
	fields, ok := o["fields"].([]any)
	if !ok {
		return nil, fmt.Errorf("the schema has a record %s without a list of fields", t.name)
	}
	seen := make(map[string]bool)
	for i, v := range fields {
		f, ok := v.(map[string]any)
		name, isText := f["name"].(string)
		if !ok || !isText || name == "" {
			return nil, fmt.Errorf("the schema's record %s has a field without a name, number %d", t.name, i+1)
		}
		if seen[name] {
			return nil, fmt.Errorf("the schema's record %s has two fields %s", t.name, name)
		}
		seen[name] = true
		typ, err := p.parse(f["type"], namespace, depth+1)
		if err != nil {
			return nil, err
		}
		t.fields = append(t.fields, avroField{name: name, typ: typ})
	}
	p.records = append(p.records, t)
	return t, nil
}

func (p *schemaParser) enum(o map[string]any, namespace string) (*avroType, error) {
	t := &avroType{kind: avroEnum}
	if _, err := p.define(t, o, namespace); err != nil {
		return nil, err
	}
	symbols, _ := o["symbols"].([]any)
	for _, v := range symbols {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("the schema's enum %s has a symbol that is no string", t.name)
		}
		t.symbols = append(t.symbols, []byte(s))
	}
	if len(t.symbols) == 0 {
		return nil, fmt.Errorf("the schema's enum %s has no symbols", t.name)
	}
	return t, nil
}

func (p *schemaParser) fixed(o map[string]any, namespace string) (*avroType, error) {
	t := &avroType{kind: avroFixed}
	if _, err := p.define(t, o, namespace); err != nil {
		return nil, err
	}
	size, ok := o["size"].(float64)
	if t.size = int(size); !ok || size != float64(t.size) || size < 1 || size > 1<<30 {
		return nil, fmt.Errorf("the schema's fixed %s has no size between 1 and %d", t.name, 1<<30)
	}
	return t, nil
}

// findEmpty marks the records whose values have no bytes: those of empty fields only. A record stands behind those that
// it contains, but for itself, and what contains itself and nothing else has no values at all.
func (p *schemaParser) findEmpty() {
	for _, t := range p.records {
		t.empty = true
		for _, f := range t.fields {
			t.empty = t.empty && f.typ.empty && f.typ != t
		}
	}
}
