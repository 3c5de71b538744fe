package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxBytes is the largest size of a file: keys by the thousand belong into a list_file.
const maxBytes = 1 << 20

// position is a line and a column of the file, both from 1; columns are characters.
type position struct{ line, column int }

// document is a file that is being read into a draft; it collects all errors.
type document struct {
	name           string
	dir            string // relative paths begin here
	lines          []string
	secrets        secrets
	positions      map[string]position // of every field that is there, by its path
	valuePositions map[string]position // of its value
	draft          *draft
	files          []string // that fields name
	errs           Errors
	environment    Environment
	overrides      map[string]*override // by the path of a field
}

// byteOrderMark stands at the beginning of what some editors write, and means nothing in UTF-8.
var byteOrderMark = []byte("\ufeff")

func newDocument(name, dir string, body []byte) *document {
	body = bytes.TrimPrefix(body, byteOrderMark)
	return &document{
		name: name, dir: dir, lines: strings.Split(string(body), "\n"), secrets: newSecrets(),
		positions: map[string]position{}, valuePositions: map[string]position{}, draft: &draft{},
	}
}

// fail notes an error.
func (doc *document) fail(at position, field, format string, args ...any) {
	doc.errs = append(doc.errs, doc.at(at, field, fmt.Sprintf(format, args...)))
}

// at returns an error with its position; secrets in it are hidden.
func (doc *document) at(at position, field, reason string) *Error {
	if o := doc.overrides[field]; o != nil {
		return &Error{File: "the environment variable " + o.variable, Field: field, Reason: doc.secrets.hide(reason)}
	}
	e := &Error{File: doc.name, Line: max(at.line, 1), Column: max(at.column, 1), Field: field, Reason: doc.secrets.hide(reason)}
	if e.Line <= len(doc.lines) {
		e.Text = excerpt(printable(doc.secrets.hideLine(strings.TrimRight(doc.lines[e.Line-1], "\r"))), e.Column)
	}
	return e
}

// maxShownLine is how many characters of a line are shown: a list can have thousands of keys.
const maxShownLine = 160

// excerpt returns the beginning of a line; "" where the column is not in it.
func excerpt(line string, column int) string {
	if utf8.RuneCountInString(line) <= maxShownLine {
		return line
	}
	if column > maxShownLine {
		return ""
	}
	return string([]rune(line)[:maxShownLine]) + "…"
}

// read parses the document.
func (doc *document) read(body []byte) {
	body = bytes.TrimPrefix(body, byteOrderMark)
	switch {
	case len(body) > maxBytes:
		doc.fail(position{}, "", "the file has more than %d bytes: long lists of keys go into a list_file", maxBytes)
		return
	case !utf8.Valid(body):
		doc.fail(doc.firstBad(), "", "this is not UTF-8")
		return
	}
	node, err := onlyDocument(body)
	var broken *yaml.SyntaxError
	var shape *shapeError
	switch {
	case errors.As(err, &broken):
		if where, open := doc.openQuote(); open {
			doc.fail(where, "", "this is not YAML: the quote that opens here is not closed in this line")
			return
		}
		at := positionOf(broken.GetToken())
		if where, name, found := doc.variable(at.line); found {
			doc.fail(where, "", "a variable within braces or brackets needs quotes: \"${%s}\"", name)
			return
		}
		hint := ""
		if strings.Contains(broken.GetMessage(), "'\t'") {
			hint = ": YAML indents with spaces, not with tabs"
		}
		doc.fail(at, "", "this is not YAML: %s%s", broken.GetMessage(), hint)
		return
	case errors.As(err, &shape):
		doc.fail(shape.at, "", "%s", shape.reason)
		return
	case err != nil:
		doc.fail(position{}, "", "this is not YAML: %v", err)
		return
	}
	switch node.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		doc.fail(position{}, "", "nothing is configured in this file. One to begin with, which validate takes; docs/configuration.md has every field:\n\n%s", Minimal())
		doc.errs[0].Text = ""
		return
	}
	doc.object("", specification(), node, position{1, 1})
	doc.leftOver()
}

// firstBad returns the first line that is not UTF-8.
func (doc *document) firstBad() position {
	for i, line := range doc.lines {
		if !utf8.ValidString(line) {
			return position{i + 1, 1}
		}
	}
	return position{}
}

// shapeError says that a file is YAML but not one document.
type shapeError struct {
	at     position
	reason string
}

func (e *shapeError) Error() string { return e.reason }

// onlyDocument parses YAML and returns the body of its one document; nil where that is
// empty. The parser is a library that has panicked on input from fuzzers before: a panic
// becomes an error.
func onlyDocument(body []byte) (node ast.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			node, err = nil, errors.New("the parser cannot read it")
		}
	}()
	file, err := parser.ParseBytes(body, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	for _, one := range file.Docs {
		switch {
		case one.Body == nil:
		case node != nil:
			return nil, &shapeError{at: start(one.Body, position{}), reason: "a second document begins here: a file has only one"}
		default:
			node = one.Body
		}
	}
	return node, nil
}

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, t.Position.Column}
}

// start returns where a node begins.
func start(n ast.Node, otherwise position) position {
	switch v := n.(type) {
	case *ast.MappingNode:
		if len(v.Values) > 0 && !v.IsFlowStyle {
			return positionOf(v.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return positionOf(v.Key.GetToken())
	case *ast.LiteralNode:
		return positionOf(v.Start)
	}
	if at := positionOf(n.GetToken()); at.line > 0 {
		return at
	}
	return otherwise
}

// entries returns the fields of an object; ok is false where the node is not an object.
func entries(n ast.Node) (fields []*ast.MappingValueNode, ok bool) {
	switch v := n.(type) {
	case *ast.MappingNode:
		return v.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}, true
	}
	return nil, false
}

// object reads an object's fields; a nil node is an object without fields.
func (doc *document) object(at string, fields []field, node ast.Node, parent position) {
	var written []*ast.MappingValueNode
	if node != nil {
		var ok bool
		if written, ok = entries(node); !ok {
			like := objectLike(fields)
			if at == "" {
				like = "" // a file is more than a line
			}
			doc.fail(start(node, parent), at, "an object is needed here, not %s%s; its fields are %s", describe(node), like, strings.Join(names(fields), ", "))
			return
		}
	}
	seen := map[string]int{}
	for _, entry := range written {
		doc.entry(at, fields, entry, seen)
	}
	for i := range fields {
		full := join(at, fields[i].name)
		if _, ok := seen[fields[i].name]; !ok && !doc.override(full, &fields[i], parent) {
			doc.missing(full, &fields[i], parent)
		}
	}
}

// entry reads one field that is there.
func (doc *document) entry(at string, fields []field, entry *ast.MappingValueNode, seen map[string]int) {
	key := entry.Key.GetToken()
	where := positionOf(key)
	if t := entry.Key.Type(); t != ast.StringType {
		doc.fail(where, at, "the name of a field is needed here as plain text, not %s", strings.ToLower(t.YAMLName()))
		return
	}
	name := key.Value
	f := find(fields, name)
	if f == nil {
		hint := "; the fields are " + strings.Join(names(fields), ", ")
		if s := meant(fields, name); s != "" {
			hint = "; did you mean " + s + "?"
			if _, there := seen[s]; !there {
				seen[s] = where.line // one error is enough
			}
		}
		doc.fail(where, at, "there is no field %s here%s", clip(name), hint)
		return
	}
	full := join(at, name)
	if line, again := seen[name]; again {
		doc.fail(where, full, "this field is given twice, first in line %d", line)
		return
	}
	seen[name] = where.line
	doc.positions[full] = where
	doc.valuePositions[full] = start(entry.Value, where)
	if doc.override(full, f, where) {
		return
	}
	doc.value(full, f, entry.Value, where)
}

// objectLike returns an object with the fields that are needed, or else with the first one that has
// an example, as the middle of a sentence; "" without examples.
func objectLike(fields []field) string {
	var needed []string
	first := ""
	for i := range fields {
		f := &fields[i]
		if f.example == "" {
			continue
		}
		one := f.name + ": " + f.example
		if first == "" {
			first = one
		}
		if f.needed {
			needed = append(needed, one)
		}
	}
	switch {
	case len(needed) > 0:
		return ", for example {" + strings.Join(needed, ", ") + "}"
	case first != "":
		return ", for example {" + first + "}"
	}
	return ""
}

// missing gives an absent field its default.
func (doc *document) missing(at string, f *field, parent position) {
	switch {
	case f.needed && (f.kind != object || len(f.fields) == 0 || !hasNeeded(f.fields)):
		hint := ""
		if f.example != "" {
			hint = fmt.Sprintf("; for example  %s: %s", f.name, f.example)
		}
		meaning, _, _ := strings.Cut(f.meaning, ". ") // its first sentence
		doc.fail(parent, at, "it is missing: %s%s", meaning, hint)
	case f.kind == object && !f.optional:
		doc.object(at, f.fields, nil, parent)
	case f.initial != "":
		doc.set(at, f, f.initial, parent)
	}
}

// hasNeeded reports whether an object has needed fields: reading it as an empty one then
// reports what is missing.
func hasNeeded(fields []field) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return f.needed })
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func names(fields []field) []string {
	var out []string
	for i := range fields {
		out = append(out, fields[i].name)
	}
	return out
}

// clip quotes a value of the file, shortened.
func clip(text string) string {
	if utf8.RuneCountInString(text) > 60 {
		text = string([]rune(text)[:59]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
