package config

import (
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

// maxBytes bounds a file: keys by the thousand belong into a list_file.
const maxBytes = 1 << 20

// position is where something stands in the file; columns are characters.
type position struct{ line, column int }

// reader turns one document into a draft, and keeps every error on the way.
type reader struct {
	name    string
	dir     string // relative paths begin here
	lines   []string
	secrets secrets
	places  map[string]position // of every field that is there, by its path
	values  map[string]position // of its value
	draft   *draft
	errs    Errors
}

func newReader(name, dir string, body []byte) *reader {
	return &reader{
		name: name, dir: dir, lines: strings.Split(string(body), "\n"), secrets: newSecrets(),
		places: map[string]position{}, values: map[string]position{}, draft: &draft{},
	}
}

// fail notes an error.
func (r *reader) fail(at position, field, format string, args ...any) {
	e := &Error{File: r.name, Line: max(at.line, 1), Column: max(at.column, 1), Field: field, Reason: r.secrets.hide(fmt.Sprintf(format, args...))}
	if e.Line <= len(r.lines) {
		e.Text = printable(r.secrets.hide(strings.TrimRight(r.lines[e.Line-1], "\r")))
	}
	r.errs = append(r.errs, e)
}

// read parses the document.
func (r *reader) read(body []byte) {
	switch {
	case len(body) > maxBytes:
		r.fail(position{}, "", "the file has more than %d bytes: long lists of keys go into a list_file", maxBytes)
		return
	case !utf8.Valid(body):
		r.fail(r.firstBad(), "", "this is not UTF-8")
		return
	}
	node, err := document(body)
	var broken *yaml.SyntaxError
	var shape *shapeError
	switch {
	case errors.As(err, &broken):
		r.fail(placeOf(broken.GetToken()), "", "this is not YAML: %s", broken.GetMessage())
		return
	case errors.As(err, &shape):
		r.fail(shape.at, "", "%s", shape.reason)
		return
	case err != nil:
		r.fail(position{}, "", "this is not YAML: %v", err)
		return
	}
	r.object("", specification(), node, position{1, 1})
}

// firstBad is the first line that is not UTF-8.
func (r *reader) firstBad() position {
	for i, line := range r.lines {
		if !utf8.ValidString(line) {
			return position{i + 1, 1}
		}
	}
	return position{}
}

// shapeError is a file that is YAML but not one document.
type shapeError struct {
	at     position
	reason string
}

func (e *shapeError) Error() string { return e.reason }

// document parses YAML to the body of its one document; nil for an empty one.
// The parser is somebody else's and has panicked on input from fuzzers before:
// that is an error like others.
func document(body []byte) (node ast.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			node, err = nil, errors.New("the parser cannot read it")
		}
	}()
	file, err := parser.ParseBytes(body, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case node != nil:
			return nil, &shapeError{at: start(doc.Body, position{}), reason: "a second document begins here: a file holds one"}
		default:
			node = doc.Body
		}
	}
	return node, nil
}

func placeOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, t.Position.Column}
}

// start is where a node begins.
func start(n ast.Node, otherwise position) position {
	switch v := n.(type) {
	case *ast.MappingNode:
		if len(v.Values) > 0 && !v.IsFlowStyle {
			return placeOf(v.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return placeOf(v.Key.GetToken())
	case *ast.LiteralNode:
		return placeOf(v.Start)
	}
	if at := placeOf(n.GetToken()); at.line > 0 {
		return at
	}
	return otherwise
}

// entries lists the pairs of an object; ok is false where it is none.
func entries(n ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	switch v := n.(type) {
	case *ast.MappingNode:
		return v.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}, true
	}
	return nil, false
}

// object reads an object's fields; node nil is one without any.
func (r *reader) object(at string, fields []field, node ast.Node, place position) {
	var pairs []*ast.MappingValueNode
	if node != nil {
		var ok bool
		if pairs, ok = entries(node); !ok {
			r.fail(start(node, place), at, "%s stands where an object with fields is needed: %s", describe(node), names(fields))
			return
		}
	}
	seen := map[string]int{}
	for _, pair := range pairs {
		r.pair(at, fields, pair, seen)
	}
	for i := range fields {
		if _, ok := seen[fields[i].name]; !ok {
			r.missing(join(at, fields[i].name), &fields[i], place)
		}
	}
}

// pair reads one field that is there.
func (r *reader) pair(at string, fields []field, pair *ast.MappingValueNode, seen map[string]int) {
	key := pair.Key.GetToken()
	where := placeOf(key)
	if t := pair.Key.Type(); t != ast.StringType {
		r.fail(where, at, "a field's name stands here as plain text, not %s", strings.ToLower(t.YAMLName()))
		return
	}
	name := key.Value
	f := find(fields, name)
	if f == nil {
		hint := ": there are " + names(fields)
		if s := suggest(fields, name); s != "" {
			hint = "; did you mean " + s + "?"
			if _, there := seen[s]; !there {
				seen[s] = where.line // one error is enough
			}
		}
		r.fail(where, at, "there is no field %s here%s", clip(name), hint)
		return
	}
	full := join(at, name)
	if line, again := seen[name]; again {
		r.fail(where, full, "this stands here twice, first in line %d", line)
		return
	}
	seen[name] = where.line
	r.places[full] = where
	r.values[full] = start(pair.Value, where)
	r.value(full, f, pair.Value, where)
}

// missing gives an absent field its default.
func (r *reader) missing(at string, f *field, parent position) {
	switch {
	case f.needed && (f.kind != object || len(f.fields) == 0 || !hasNeeded(f.fields)):
		r.fail(parent, at, "it is missing: %s", f.meaning)
	case f.kind == object && f.begin == nil:
		r.object(at, f.fields, nil, parent)
	case f.initial != "":
		r.set(at, f, f.initial, parent)
	}
}

// hasNeeded says whether reading an absent object complains by itself.
func hasNeeded(fields []field) bool {
	return slices.ContainsFunc(fields, func(f field) bool { return f.needed })
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func names(fields []field) string {
	var out []string
	for i := range fields {
		out = append(out, fields[i].name)
	}
	return strings.Join(out, ", ")
}

// clip quotes what somebody wrote, shortened.
func clip(text string) string {
	if utf8.RuneCountInString(text) > 60 {
		text = string([]rune(text)[:59]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
