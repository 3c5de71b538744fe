package input

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// SchemaMismatch says where the schema of a file and that of a topic part.
type SchemaMismatch struct {
	Path        string // of the value, as in "user.id"; "" for the record itself
	File, Topic string // what each has there
}

// Error names the place and both sides; it has nothing of the data.
func (e *SchemaMismatch) Error() string {
	at := "the record"
	if e.Path != "" {
		at = "field " + e.Path
	}
	return fmt.Sprintf("the file was written with another schema than the topic's: %s is %s in the file, %s on the topic", at, e.File, e.Topic)
}

// MatchSchemas refuses records of a file for a topic whose readers take every
// record to be written with the topic's schema: where it would be taken apart
// otherwise, or mean something else. The names of records, documentation,
// defaults and aliases do not matter; nor does an int for a long, a string for
// bytes, or a branch or symbol that only the topic has, behind those of both.
// Errors: *SchemaMismatch, or that of a schema that cannot be read.
func MatchSchemas(file, topic string) error {
	a, err := parseSchema(file)
	if err != nil {
		return fmt.Errorf("the schema of the file: %w", err)
	}
	b, err := parseSchema(topic)
	if err != nil {
		return fmt.Errorf("the schema of the topic: %w", err)
	}
	m := matcher{seen: map[[2]*schemaNode]bool{}}
	if bad := m.match(a, b, ""); bad != nil {
		return bad
	}
	return nil
}

// schemaNode is a type of a schema, as far as it decides about bytes and
// meaning. Types may contain themselves.
type schemaNode struct {
	kind    string
	time    string // the logical type, where it is one of points in time
	size    int
	names   []string      // of a record's fields, or an enum's symbols
	members []*schemaNode // fields' types, items, branches
}

// parseSchema reads a schema that package schemas takes.
func parseSchema(text string) (*schemaNode, error) {
	if _, err := event.NewAvroLengths(text); err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, err
	}
	return schemaNames{}.parse(v, ""), nil
}

// schemaNames are the types with names, by full name.
type schemaNames map[string]*schemaNode

func (s schemaNames) parse(v any, namespace string) *schemaNode {
	switch v := v.(type) {
	case []any:
		n := &schemaNode{kind: "union"}
		for _, branch := range v {
			n.members = append(n.members, s.parse(branch, namespace))
		}
		return n
	case map[string]any:
		return s.object(v, namespace)
	case string:
		return s.lookUp(v, namespace)
	}
	return &schemaNode{kind: fmt.Sprint(v)}
}

var primitives = []string{"null", "boolean", "int", "long", "float", "double", "bytes", "string"}

func (s schemaNames) lookUp(name, namespace string) *schemaNode {
	if !slices.Contains(primitives, name) {
		for _, full := range []string{fullName(name, namespace), name} {
			if n := s[full]; n != nil {
				return n
			}
		}
	}
	return &schemaNode{kind: name}
}

func (s schemaNames) object(o map[string]any, namespace string) *schemaNode {
	kind, ok := o["type"].(string)
	if !ok {
		return s.parse(o["type"], namespace)
	}
	n := &schemaNode{kind: kind}
	switch kind {
	case "record", "enum", "fixed":
		if own, ok := o["namespace"].(string); ok {
			namespace = own
		}
		name, _ := o["name"].(string)
		full := fullName(name, namespace)
		s[full] = n
		if i := strings.LastIndexByte(full, '.'); i >= 0 {
			namespace = full[:i]
		}
		s.define(n, o, namespace)
	case "array":
		n.members = []*schemaNode{s.parse(o["items"], namespace)}
	case "map":
		n.members = []*schemaNode{s.parse(o["values"], namespace)}
	default:
		if named := s.lookUp(kind, namespace); named.kind != kind {
			return named // a type that is defined elsewhere
		}
		if logical, _ := o["logicalType"].(string); kind == "long" && strings.Contains(logical, "timestamp-") {
			n.time = logical
		}
	}
	return n
}

// define takes what stands in the definition of a type with a name.
func (s schemaNames) define(n *schemaNode, o map[string]any, namespace string) {
	fields, _ := o["fields"].([]any)
	for _, v := range fields {
		field, _ := v.(map[string]any)
		name, _ := field["name"].(string)
		n.names = append(n.names, name)
		n.members = append(n.members, s.parse(field["type"], namespace))
	}
	symbols, _ := o["symbols"].([]any)
	for _, v := range symbols {
		symbol, _ := v.(string)
		n.names = append(n.names, symbol)
	}
	size, _ := o["size"].(float64)
	n.size = int(size)
}

func fullName(name, namespace string) string {
	if strings.Contains(name, ".") || namespace == "" {
		return name
	}
	return namespace + "." + name
}

// String describes the type without what is in it.
func (n *schemaNode) String() string {
	switch {
	case n.kind == "record":
		return fmt.Sprintf("a record of the fields %s", strings.Join(n.names, ", "))
	case n.kind == "enum":
		return fmt.Sprintf("an enum of %s", strings.Join(n.names, ", "))
	case n.kind == "union":
		kinds := make([]string, len(n.members))
		for i, m := range n.members {
			kinds[i] = m.kind
		}
		return fmt.Sprintf("a union of %s", strings.Join(kinds, ", "))
	case n.kind == "fixed":
		return fmt.Sprintf("fixed of %d bytes", n.size)
	case n.time != "":
		return n.kind + " (" + n.time + ")"
	}
	return n.kind
}

// matcher holds the pairs that were begun: types that contain themselves end there.
type matcher struct{ seen map[[2]*schemaNode]bool }

func (m matcher) match(file, topic *schemaNode, path string) *SchemaMismatch {
	pair := [2]*schemaNode{file, topic}
	if m.seen[pair] {
		return nil
	}
	m.seen[pair] = true
	if !file.readAs(topic) {
		return &SchemaMismatch{Path: path, File: file.String(), Topic: topic.String()}
	}
	for i, member := range file.members {
		if bad := m.match(member, topic.members[i], file.below(path, i)); bad != nil {
			return bad
		}
	}
	return nil
}

// readAs reports whether values of a file are read right by a topic's type, as
// far as they themselves are concerned, not what is in them.
func (n *schemaNode) readAs(topic *schemaNode) bool {
	switch {
	case n.time != topic.time:
		return false
	case n.kind == "int" && topic.kind == "long", n.kind == "string" && topic.kind == "bytes":
		return true
	case n.kind != topic.kind:
		return false
	case n.kind == "record":
		return slices.Equal(n.names, topic.names)
	case n.kind == "enum":
		return len(n.names) <= len(topic.names) && slices.Equal(n.names, topic.names[:len(n.names)])
	case n.kind == "union":
		return len(n.members) <= len(topic.members)
	}
	return n.size == topic.size
}

// below is the path of a member: fields have names, branches are where the union is.
func (n *schemaNode) below(path string, i int) string {
	switch n.kind {
	case "record":
		if path == "" {
			return n.names[i]
		}
		return path + "." + n.names[i]
	case "union":
		return path
	}
	return path + "[]"
}
