package eventfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/base/formats/avro"
)

// SchemaMismatch is a difference between a file's schema and a topic's.
type SchemaMismatch struct {
	Path        string // path of the value, as in "user.id"; "" for the record itself
	File, Topic string // types in each
}

// Error names the field and both types; it has nothing of the data.
func (e *SchemaMismatch) Error() string {
	at := "the record"
	if e.Path != "" {
		at = "field " + e.Path
	}
	if e.File == e.Topic {
		return fmt.Sprintf("the file was written with another schema than the topic's: %s has other fields, branches, "+
			"symbols or another size", at)
	}
	return fmt.Sprintf("the file was written with another schema than the topic's: %s is %s in the file, %s on the "+
		"topic", at, e.File, e.Topic)
}

// MatchSchemas checks that the records of a file can go on a topic whose readers decode every
// record with the topic's schema: they decode as with the file's own schema, and mean the same. The
// names of records, documentation, defaults and aliases do not matter; the topic may have a long
// for an int, bytes for a string, and more branches or symbols after those of the file. Errors:
// *SchemaMismatch, or the error of a schema that cannot be read.
func MatchSchemas(file, topic string) error {
	a, err := parseSchema(file)
	if err != nil {
		return fmt.Errorf("comparing the schema of the file: %w", err)
	}
	b, err := parseSchema(topic)
	if err != nil {
		return fmt.Errorf("comparing the schema of the topic: %w", err)
	}
	m := matcher{seen: map[[2]*avro.Type]bool{}}
	if bad := m.match(a, b, ""); bad != nil {
		return bad
	}
	return nil
}

// parseSchema reads the schema of a record.
func parseSchema(text string) (*avro.Type, error) {
	t, err := avro.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading schema: %w", err)
	}
	return t, nil
}

// timeOf returns the logical type of a long if it is a point in time, also one that decoding does
// not know; else "".
func timeOf(t *avro.Type) string {
	if t.Kind == avro.Long && strings.Contains(t.Claimed, "timestamp-") {
		return t.Claimed
	}
	return ""
}

// members returns the types of fields, items or branches.
func members(t *avro.Type) []*avro.Type {
	switch t.Kind {
	case avro.Record:
		types := make([]*avro.Type, len(t.Fields))
		for i, f := range t.Fields {
			types[i] = f.Type
		}
		return types
	case avro.Array, avro.Map:
		return []*avro.Type{t.Items}
	}
	return t.Branches
}

// names returns the names of a record's fields, or an enum's symbols.
func names(t *avro.Type) []string {
	var all []string
	for _, f := range t.Fields {
		all = append(all, f.Name)
	}
	for _, symbol := range t.Symbols {
		all = append(all, string(symbol))
	}
	return all
}

// describe returns what the type is, without the types in it.
func describe(t *avro.Type) string {
	if at := timeOf(t); at != "" {
		return t.Kind.String() + " (" + at + ")"
	}
	return t.Kind.String()
}

// matcher compares two types. seen has those whose comparison was begun: types that contain
// themselves end there.
type matcher struct{ seen map[[2]*avro.Type]bool }

func (m matcher) match(file, topic *avro.Type, path string) *SchemaMismatch {
	types := [2]*avro.Type{file, topic}
	if m.seen[types] {
		return nil
	}
	m.seen[types] = true
	if !readAs(file, topic) {
		return &SchemaMismatch{Path: path, File: describe(file), Topic: describe(topic)}
	}
	of := members(topic)
	for i, member := range members(file) {
		if bad := m.match(member, of[i], below(file, path, i)); bad != nil {
			return bad
		}
	}
	return nil
}

// readAs reports whether values of a file are decoded correctly by a topic's type, apart from the
// values in them.
func readAs(file, topic *avro.Type) bool {
	switch {
	case timeOf(file) != timeOf(topic):
		return false
	case file.Kind == avro.Int && topic.Kind == avro.Long, file.Kind == avro.String && topic.Kind == avro.Bytes:
		return true
	case file.Kind != topic.Kind:
		return false
	}
	switch file.Kind {
	case avro.Record:
		return slices.Equal(names(file), names(topic))
	case avro.Enum:
		return len(file.Symbols) <= len(topic.Symbols) && slices.Equal(names(file), names(topic)[:len(file.Symbols)])
	case avro.Union:
		return len(file.Branches) <= len(topic.Branches)
	}
	return file.Size == topic.Size
}

// below returns the path of a member of t: fields have names, branches have the path of the union.
func below(t *avro.Type, path string, i int) string {
	switch t.Kind {
	case avro.Record:
		if path == "" {
			return t.Fields[i].Name
		}
		return path + "." + t.Fields[i].Name
	case avro.Union:
		return path
	}
	return path + "[]"
}
