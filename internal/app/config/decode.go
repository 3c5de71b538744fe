package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
)

// maxBytes is the maximum size of a configuration file. Thousands of keys belong in a list_file.
const maxBytes = 1 << 20

// position is a line and a column of the file, both from 1. Columns count characters.
type position struct{ line, column int }

// place holds the positions of a field's name and of its value.
type place struct{ key, value position }

// document reads a file into a configuration. It collects all errors.
type document struct {
	name    string
	dir     string // directory of relative paths
	lines   []string
	secrets secrets
	places  map[string]place // positions of the present fields, by path
	config  deployment.Config
	metric  int                 // index of the metric that is being read
	apart   map[string][]string // by path: values that must be converted before they are put into config
	files   []string            // names of the files that fields name
	errs    Errors

	environment Environment
	overrides   map[string]*override // by path
}

// byteOrderMark is the prefix that some editors write; it has no meaning in UTF-8.
var byteOrderMark = []byte("\ufeff")

func newDocument(name, dir string, body []byte) *document {
	return &document{
		name: name, dir: dir, lines: strings.Split(string(body), "\n"), secrets: newSecrets(),
		places: map[string]place{}, apart: map[string][]string{},
	}
}

// text returns the only value of a field in apart, or "" if the file does not set the field.
func (doc *document) text(path string) string {
	if all := doc.apart[path]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// fail records an error.
func (doc *document) fail(pos position, field, format string, args ...any) {
	doc.errs = append(doc.errs, doc.newError(pos, field, fmt.Sprintf(format, args...)))
}

// failAt records an error in the value of a field.
func (doc *document) failAt(field, format string, args ...any) {
	doc.fail(doc.place(field).value, field, format, args...)
}

// newError returns an error that shows its position but no secrets.
func (doc *document) newError(pos position, field, reason string) *Error {
	if o := doc.overrides[field]; o != nil {
		return &Error{File: "the environment variable " + o.variable, Field: field, Reason: doc.secrets.hide(reason)}
	}
	e := &Error{File: doc.name, Line: max(pos.line, 1), Column: max(pos.column, 1), Field: field,
		Reason: doc.secrets.hide(reason)}
	if e.Line <= len(doc.lines) {
		e.Text = excerpt(printable(doc.secrets.hideLine(strings.TrimRight(doc.lines[e.Line-1], "\r"))), e.Column)
	}
	return e
}

// place returns the place of a field, or of the closest object that contains it.
func (doc *document) place(path string) place {
	for path != "" {
		if p, ok := doc.places[path]; ok {
			return p
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			break
		}
		path = path[:cut]
	}
	return place{position{1, 1}, position{1, 1}}
}

// read parses the document.
func (doc *document) read(body []byte) {
	switch {
	case len(body) > maxBytes:
		doc.fail(position{}, "", "the file has more than %d bytes: put long lists of keys into a list_file", maxBytes)
		return
	case !utf8.Valid(body):
		doc.fail(position{line: 1 + slices.IndexFunc(doc.lines, func(line string) bool {
			return !utf8.ValidString(line)
		})}, "", "this is not UTF-8")
		return
	}
	node, err := doc.parse(body)
	if err != nil {
		doc.fail(position{}, "", "this is not YAML: %v", err)
	}
	if len(doc.errs) > 0 {
		return
	}
	switch node.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		doc.fail(position{}, "", "this file configures nothing. Here is a valid file to start with; "+
			"docs/configuration.md lists every field:\n\n%s", Minimal())
		doc.errs[0].Text = ""
		return
	}
	doc.object("", settings.Table(), node, position{1, 1})
	doc.refuseUnused()
}

// parse returns the body of the only document in a file, or nil if it is empty. The parser has
// panicked on fuzzed input before, so parse turns a panic into an error.
func (doc *document) parse(body []byte) (node ast.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			node, err = nil, errors.New("the parser cannot read it")
		}
	}()
	file, err := parser.ParseBytes(body, 0, parser.AllowDuplicateMapKey())
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
		doc.failSyntax(syntax)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, part := range file.Docs {
		switch {
		case part.Body == nil:
		case node != nil:
			doc.fail(start(part.Body, position{}), "", "a second document begins here: a file can have only one")
		default:
			node = part.Body
		}
	}
	return node, nil
}

// openQuote matches a line with a quote that is not closed on the same line. The parser would
// report the next quote, which may be many lines below.
var openQuote = regexp.MustCompile(`^([^"'#]*[\s:[{,])["'][^"']*$`)

// failSyntax records a syntax error of the parser.
func (doc *document) failSyntax(err *yaml.SyntaxError) {
	for i, line := range doc.lines {
		if m := openQuote.FindStringSubmatch(line); m != nil {
			doc.fail(position{i + 1, utf8.RuneCountInString(m[1]) + 1}, "",
				"this is not YAML: the quote that opens here is not closed on this line")
			return
		}
	}
	pos := positionOf(err.GetToken())
	if where, name, found := doc.variable(pos.line); found {
		doc.fail(where, "", "a variable within braces or brackets needs quotes: \"${%s}\"", name)
		return
	}
	hint := ""
	if strings.Contains(err.GetMessage(), "'\t'") {
		hint = ": YAML indents with spaces, not with tabs"
	}
	doc.fail(pos, "", "this is not YAML: %s%s", err.GetMessage(), hint)
}

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, t.Position.Column}
}

// start returns the position of a node, or fallback if the node has no position.
func start(n ast.Node, fallback position) position {
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
	if pos := positionOf(n.GetToken()); pos.line > 0 {
		return pos
	}
	return fallback
}

// object reads the fields of an object; a nil node is an empty object.
func (doc *document) object(path string, fields []settings.Field, node ast.Node, parent position) {
	var entries []*ast.MappingValueNode
	switch v := node.(type) {
	case nil:
	case *ast.MappingNode:
		entries = v.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{v}
	default:
		_, names := settings.Meant(fields, "")
		doc.fail(start(node, parent), path, "an object is needed here, not %s%s", describe(node), names)
		return
	}
	seen := map[string]int{}
	for _, entry := range entries {
		doc.entry(path, fields, entry, seen)
	}
	for i := range fields {
		if _, present := seen[fields[i].Name]; !present {
			doc.absent(join(path, fields[i].Name), &fields[i], parent)
		}
	}
}

// entry reads a field that is present.
func (doc *document) entry(path string, fields []settings.Field, entry *ast.MappingValueNode, seen map[string]int) {
	key := entry.Key.GetToken()
	where, name := positionOf(key), key.Value
	if t := entry.Key.Type(); t != ast.StringType {
		doc.fail(where, path, "the name of a field is needed here as plain text, not %s", strings.ToLower(t.YAMLName()))
		return
	}
	f := settings.Find(fields, name)
	if f == nil {
		meant, hint := settings.Meant(fields, name)
		if _, present := seen[meant]; !present {
			seen[meant] = where.line // do not report the meant field as missing
		}
		doc.fail(where, path, "there is no field %s here%s", settings.Quote(name), hint)
		return
	}
	full := join(path, name)
	if line, repeated := seen[name]; repeated {
		doc.fail(where, full, "this field is given twice, first on line %d", line)
		return
	}
	seen[name] = where.line
	doc.places[full] = place{where, start(entry.Value, where)}
	if !doc.override(full, f, where) {
		doc.value(full, f, entry.Value, where)
	}
}

// absent handles a field that is not present.
func (doc *document) absent(path string, f *settings.Field, parent position) {
	switch {
	case doc.override(path, f, parent):
	case f.Kind == settings.Object && !f.Optional && (!f.Required || hasNeeded(f.Fields)):
		doc.object(path, f.Fields, nil, parent) // reports the required fields as missing
	case f.Required:
		doc.fail(parent, path, "%s", f.Missing())
	}
}

func hasNeeded(fields []settings.Field) bool {
	return slices.ContainsFunc(fields, func(f settings.Field) bool { return f.Required })
}

// begin prepares the field for an object that is present. If the field is not a pointer, begin sets
// the defaults of the object's fields: an object without any value would count as absent.
func (doc *document) begin(f *settings.Field) {
	if !f.Optional {
		return
	}
	if v := doc.field(f); v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return
	}
	for i := range f.Fields {
		f.Fields[i].Set(doc.field(&f.Fields[i]), f.Fields[i].Default)
	}
}

// field returns the field of the configuration that f describes, or a new string if it has none.
func (doc *document) field(f *settings.Field) reflect.Value {
	if f.Path == "" || f.Converted {
		return reflect.New(reflect.TypeFor[string]()).Elem()
	}
	v, _ := settings.Value(reflect.ValueOf(&doc.config).Elem(), f.Path, doc.metric)
	return v
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
