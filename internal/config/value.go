package config

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// value reads what stands behind a field's name.
func (r *reader) value(at string, f *field, node ast.Node, key position) {
	where := start(node, key)
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		r.fail(where, at, "anchors, aliases and tags are not used here: write the value")
		return
	case *ast.NullNode:
		r.fail(key, at, "it has no value; leave the field out, or give it %s", f.kind)
		return
	}
	switch f.kind {
	case object:
		r.nested(at, f, node, key)
	case objects:
		r.elements(at, f, node, where)
	case list:
		r.texts(at, f, node, where)
	default:
		if written, ok := r.scalar(at, f, node, where); ok {
			r.set(at, f, written, where)
		}
	}
}

// nested reads an object, or the switch that may stand for one.
func (r *reader) nested(at string, f *field, node ast.Node, key position) {
	if b, ok := node.(*ast.BoolNode); ok && f.plain {
		if b.Value {
			f.begin(r.draft, 0, 1)
			r.object(at, f.fields, nil, key)
		}
		return
	}
	if f.begin != nil {
		f.begin(r.draft, 0, 1)
	}
	r.object(at, f.fields, node, key)
}

// elements reads a list of objects.
func (r *reader) elements(at string, f *field, node ast.Node, where position) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		r.fail(where, at, "%s stands where a list is needed: every entry begins with a dash", describe(node))
		return
	}
	if len(seq.Values) == 0 {
		r.fail(where, at, "the list is empty")
		return
	}
	for i, element := range seq.Values {
		f.begin(r.draft, i, len(seq.Values))
		here := start(element, where)
		full := at + strings.TrimPrefix(metricPath(i), "metrics")
		r.places[full], r.values[full] = here, here
		if _, null := element.(*ast.NullNode); null {
			r.fail(here, full, "the entry is empty")
			continue
		}
		r.object(full, f.fields, element, here)
	}
}

// texts reads a list of texts.
func (r *reader) texts(at string, f *field, node ast.Node, where position) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		r.fail(where, at, "%s stands where a list is needed, as in [a, b]", describe(node))
		return
	}
	if len(seq.Values) == 0 {
		r.fail(where, at, "the list is empty")
		return
	}
	var out []string
	for _, element := range seq.Values {
		if written, ok := r.scalar(at, &field{kind: text}, element, start(element, where)); ok {
			out = append(out, written)
		}
	}
	if to, ok := f.to(r.draft).(*[]string); ok {
		*to = out
	}
}

// scalar is the text of a value of the right type.
func (r *reader) scalar(at string, f *field, node ast.Node, where position) (string, bool) {
	wrong := func(hint string) (string, bool) {
		r.fail(where, at, "%s stands where %s is needed%s", describe(node), article(f.kind), hint)
		return "", false
	}
	switch v := node.(type) {
	case *ast.StringNode:
		quoted := v.Token.Type == token.SingleQuoteType || v.Token.Type == token.DoubleQuoteType
		switch f.kind {
		case text, path:
			return v.Value, true
		case duration, number, integer:
			if !quoted {
				return v.Value, true
			}
		}
		return wrong("")
	case *ast.LiteralNode:
		if f.kind == text || f.kind == path {
			return strings.TrimRight(v.Value.Value, "\n"), true
		}
		return wrong("")
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		switch f.kind {
		case text, path:
			return wrong(": put it into quotes")
		case boolean:
			return wrong("")
		}
		return node.GetToken().Value, true
	case *ast.MappingNode, *ast.MappingValueNode:
		if f.kind == text || f.kind == path { // [a:1] within braces
			return wrong(": put one with a colon into quotes")
		}
		return wrong("")
	case *ast.BoolNode:
		switch f.kind {
		case boolean:
			return strconv.FormatBool(v.Value), true
		case text, path:
			return wrong(": put it into quotes")
		}
		return wrong("")
	}
	return wrong("")
}

// set converts a value, checks it and puts it into the draft.
func (r *reader) set(at string, f *field, written string, where position) {
	if len(f.oneOf) > 0 && !slices.Contains(f.oneOf, written) {
		r.fail(where, at, "%s is none of %s", clip(written), strings.Join(f.oneOf, ", "))
		return
	}
	inside := func(v float64) bool {
		if f.in == nil || f.in.holds(v) {
			return true
		}
		r.fail(where, at, "%s is not %s", written, f.in.text(f.kind))
		return false
	}
	switch to := f.to(r.draft).(type) {
	case *string:
		if written == "" {
			r.fail(where, at, "it is empty; leave the field out, or say something")
			return
		}
		if f.kind == path && !filepath.IsAbs(written) {
			written = filepath.Join(r.dir, written)
		}
		*to = written
	case *bool:
		*to = written == "true"
	case *float64:
		if v, ok := r.float(at, written, where); ok && inside(v) {
			*to = v
		}
	case *int:
		if v, ok := r.whole(at, written, where); ok && inside(float64(v)) {
			*to = int(v)
		}
	case *int64:
		if v, ok := r.whole(at, written, where); ok && inside(float64(v)) {
			*to = v
		}
	case *time.Duration:
		v, err := ParseDuration(written)
		switch {
		case err != nil:
			r.fail(where, at, "%v", err)
		case inside(float64(v)):
			*to = v
		}
	}
}

func (r *reader) float(at, written string, where position) (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(written, "_", ""), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(written, "xXpP") {
		r.fail(where, at, "%s is not a number, like 0.05 or 1e-6", clip(written))
		return 0, false
	}
	return v, true
}

func (r *reader) whole(at, written string, where position) (int64, bool) {
	plain := strings.ReplaceAll(written, "_", "")
	digits := strings.TrimPrefix(plain, "-")
	v, err := strconv.ParseInt(plain, 10, 64)
	if err != nil || len(digits) > 18 || len(digits) > 1 && digits[0] == '0' {
		r.fail(where, at, "%s is not a whole number of at most 18 digits", clip(written))
		return 0, false
	}
	return v, true
}

// describe names what stands somewhere.
func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "an object"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "nothing"
	}
	return "something else"
}

func article(k kind) string {
	switch k {
	case integer:
		return "a whole number"
	case duration:
		return "a duration like 1h or 30d"
	case boolean:
		return "true or false"
	case path:
		return "the name of a file"
	}
	return "a " + string(k)
}
