package config

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/tollgate-dp/tollgate/pipeline/deployment"
	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
)

// value reads the value of a field.
func (doc *document) value(path string, f *settings.Field, node ast.Node, key position) {
	where := start(node, key)
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		doc.fail(where, path, "anchors, aliases and tags are not supported: write out the value")
		return
	case *ast.NullNode:
		doc.fail(key, path, "it has no value; %sgive it %s", f.OrLeaveOut(), kindText(f.Kind))
		return
	}
	switch f.Kind {
	case settings.Object:
		if b, ok := node.(*ast.BoolNode); ok && f.Switch {
			doc.setObject(path, f, b.Value, key)
			return
		}
		doc.begin(f)
		doc.object(path, f.Fields, node, key)
	case settings.Objects, settings.List, settings.Numbers:
		doc.entries(path, f, node, where)
	default:
		doc.scalar(path, f, node, where)
	}
}

// setObject reads true or false in place of an object. true stands for an object with all defaults,
// and false for an absent object.
func (doc *document) setObject(path string, f *settings.Field, on bool, key position) {
	if on {
		doc.begin(f)
		doc.object(path, f.Fields, nil, key)
	}
}

// entries reads a list.
func (doc *document) entries(path string, f *settings.Field, node ast.Node, where position) {
	seq, ok := node.(*ast.SequenceNode)
	switch {
	case !ok && f.Single:
		doc.scalar(path, f, node, where)
		return
	case !ok:
		doc.fail(where, path, "a list like [a, b] is needed here, not %s", describe(node))
		return
	case len(seq.Values) == 0:
		doc.fail(where, path, "the list is empty: %sgive it an entry", f.OrLeaveOut())
		return
	}
	if f.Kind == settings.Objects {
		doc.config.Metrics = make([]deployment.Metric, len(seq.Values))
	}
	for i, entry := range seq.Values {
		entryPath, here := element(path, i), start(entry, where)
		doc.places[entryPath] = place{here, here}
		_, null := entry.(*ast.NullNode)
		switch {
		case null:
			doc.fail(here, entryPath, "the entry is empty")
		case f.Kind == settings.Objects:
			doc.metric = i
			doc.object(entryPath, f.Fields, entry, here)
		default:
			doc.scalar(entryPath, f, entry, here)
		}
	}
}

// scalar reads a single value or an entry of a list.
func (doc *document) scalar(path string, f *settings.Field, node ast.Node, where position) {
	isText := slices.Contains([]settings.Kind{settings.Text, settings.File, settings.List}, f.Kind)
	hint := ""
	switch v := node.(type) {
	case *ast.StringNode:
		value, replaced, ok := doc.expand(path, v.Value, where)
		quoted := v.Token.Type == token.SingleQuoteType || v.Token.Type == token.DoubleQuoteType
		if isText || replaced || !quoted && f.Kind != settings.Boolean {
			if ok {
				doc.set(path, f, value, where)
			}
			return
		}
		if quoted {
			hint = ": leave the quotes out"
		}
	case *ast.LiteralNode:
		if isText {
			if value, _, ok := doc.expand(path, v.Value.Value, where); ok {
				doc.set(path, f, strings.TrimRight(value, "\n"), where)
			}
			return
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		if !isText && f.Kind != settings.Boolean {
			doc.set(path, f, node.GetToken().Value, where)
			return
		}
	case *ast.BoolNode:
		if f.Kind == settings.Boolean {
			doc.set(path, f, strconv.FormatBool(v.Value), where)
			return
		}
	}
	if isText {
		switch node.(type) {
		case *ast.MappingNode, *ast.MappingValueNode: // [a:1] within braces
			hint = ": put a value that contains a colon into quotes"
		case *ast.SequenceNode:
		default:
			hint = ": put it into quotes"
		}
	}
	kind := map[settings.Kind]settings.Kind{settings.List: settings.Text, settings.Numbers: settings.Number}[f.Kind]
	if kind == "" {
		kind = f.Kind
	}
	doc.fail(where, path, "%s is needed here, not %s%s", kindText(kind), describe(node), hint)
}

// set sets a field or, if the field is a list, appends an entry to it.
func (doc *document) set(path string, f *settings.Field, text string, where position) {
	if f.Kind == settings.File && text != "" {
		if !filepath.IsAbs(text) {
			text = filepath.Join(doc.dir, text)
		}
		doc.files = append(doc.files, text)
	}
	if f.Kind == settings.List && (f.Path == "" || f.Converted) {
		path, _, _ = strings.Cut(path, "[")
	} else if reason := f.Set(doc.field(f), text); reason != "" {
		doc.fail(where, path, "%s", reason)
		return
	}
	if f.Path == "" || f.Converted {
		doc.apart[path] = append(doc.apart[path], text)
	}
}

// describe names the type of a node.
func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "an object"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return kindText(settings.Text)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	}
	return "something else"
}

// kindText names a kind of field, with its article.
func kindText(k settings.Kind) string {
	switch k {
	case settings.Integer:
		return "a whole number"
	case settings.Duration:
		return "a duration like 1h or 30d"
	case settings.Boolean:
		return "true or false"
	case settings.File:
		return "a file name"
	case settings.Object:
		return "an object: indented fields below it"
	}
	return "a " + string(k)
}
