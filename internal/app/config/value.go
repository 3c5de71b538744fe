package config

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/secret"
)

// value reads what stands after a field's name.
func (doc *document) value(at string, f *field, node ast.Node, key position) {
	where := start(node, key)
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		doc.fail(where, at, "anchors, aliases and tags are not used here: write the value")
		return
	case *ast.NullNode:
		doc.fail(key, at, "it has no value; %sgive it %s", f.orLeaveOut(), article(f.kind))
		return
	}
	switch f.kind {
	case object:
		doc.nested(at, f, node, key)
	case objects:
		doc.elements(at, f, node, where)
	case list, numbers:
		doc.entries(at, f, node, where)
	default:
		if written, ok := doc.scalar(at, f, node, where); ok {
			doc.set(at, f, written, where)
		}
	}
}

// nested reads an object, or the switch that may stand for one.
func (doc *document) nested(at string, f *field, node ast.Node, key position) {
	if b, ok := node.(*ast.BoolNode); ok && f.plain {
		if b.Value {
			f.begin(doc.draft)
			doc.object(at, f.fields, nil, key)
		}
		return
	}
	f.begin(doc.draft)
	doc.object(at, f.fields, node, key)
}

// elements reads a list of objects.
func (doc *document) elements(at string, f *field, node ast.Node, where position) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		doc.fail(where, at, "a list is needed here, not %s: every entry begins with a dash", describe(node))
		return
	}
	if len(seq.Values) == 0 {
		doc.fail(where, at, "the list is empty: %sgive it an entry", f.orLeaveOut())
		return
	}
	for i, element := range seq.Values {
		doc.draft.beginMetric(i, len(seq.Values))
		here := start(element, where)
		full := at + strings.TrimPrefix(metricPath(i), "metrics")
		doc.positions[full], doc.valuePositions[full] = here, here
		if _, null := element.(*ast.NullNode); null {
			doc.fail(here, full, "the entry is empty")
			continue
		}
		doc.object(full, f.fields, element, here)
	}
}

// entries reads a list of texts or numbers.
func (doc *document) entries(at string, f *field, node ast.Node, where position) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok && f.single {
		if one, ok := doc.scalar(at, &field{kind: text}, node, where); ok {
			*f.place(doc.draft).(*[]string) = []string{one}
		}
		return
	}
	if !ok {
		doc.fail(where, at, "a list like [a, b] is needed here, not %s", describe(node))
		return
	}
	if len(seq.Values) == 0 {
		doc.fail(where, at, "the list is empty: %sgive it an entry", f.orLeaveOut())
		return
	}
	of := field{kind: text}
	if f.kind == numbers {
		of.kind = number
	}
	var out []string
	for i, element := range seq.Values {
		one, here := at+"["+strconv.Itoa(i)+"]", start(element, where)
		doc.positions[one], doc.valuePositions[one] = here, here
		if written, ok := doc.scalar(one, &of, element, here); ok {
			out = append(out, written)
		}
	}
	doc.setList(at, f, out, where)
}

// setList puts the entries of a list into the draft.
func (doc *document) setList(at string, f *field, entries []string, where position) {
	switch to := f.place(doc.draft).(type) {
	case *[]string:
		*to = entries
	case *[]float64:
		for i, written := range entries {
			*to = append(*to, 0)
			last := &(*to)[i]
			example, _, _ := strings.Cut(strings.Trim(f.example, "[]"), ",")
			one := field{kind: number, in: f.in, example: example, to: func(*draft) any { return last }}
			doc.set(at+"["+strconv.Itoa(i)+"]", &one, written, where)
		}
	}
}

// scalar returns the text of a value of the right type.
func (doc *document) scalar(at string, f *field, node ast.Node, where position) (string, bool) {
	wrong := func(hint string) (string, bool) {
		doc.fail(where, at, "%s is needed here, not %s%s", article(f.kind), describe(node), hint)
		return "", false
	}
	switch v := node.(type) {
	case *ast.StringNode:
		value, replaced, ok := doc.expand(at, v.Value, where)
		quoted := v.Token.Type == token.SingleQuoteType || v.Token.Type == token.DoubleQuoteType
		switch f.kind {
		case text, path:
			return value, ok
		case duration, number, integer:
			if !quoted || replaced {
				return value, ok
			}
			return wrong(": leave the quotes out")
		case boolean:
			if replaced {
				return value, ok
			}
		}
		return wrong("")
	case *ast.LiteralNode:
		if f.kind == text || f.kind == path {
			value, _, ok := doc.expand(at, v.Value.Value, where)
			return strings.TrimRight(value, "\n"), ok
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
			return wrong(": put a text with a colon into quotes")
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
func (doc *document) set(at string, f *field, written string, where position) {
	if len(f.oneOf) > 0 && !slices.Contains(f.oneOf, written) && !slices.Contains(f.begunWith, written) {
		hint := ""
		if s := spelling.Nearest(f.oneOf, written); s != "" {
			hint = "; did you mean " + s + "?"
		}
		doc.fail(where, at, "%s is not one of %s%s", clip(written), strings.Join(f.oneOf, ", "), hint)
		return
	}
	inside := func(v float64) bool {
		if f.in == nil || f.in.contain(v) {
			return true
		}
		doc.fail(where, at, "%s is out of range: it must be %s%s", written, f.in.text(f.kind), f.working())
		return false
	}
	switch to := f.place(doc.draft).(type) {
	case *string:
		if written == "" {
			doc.fail(where, at, "it is empty; %sgive it a value%s", f.orLeaveOut(), f.working())
			return
		}
		if f.kind == path && !filepath.IsAbs(written) {
			written = filepath.Join(doc.dir, written)
		}
		if f.kind == path {
			doc.files = append(doc.files, written)
		}
		*to = written
	case *secret.Of[string]:
		written = strings.TrimRight(written, "\r\n")
		if written == "" {
			doc.fail(where, at, "it is empty; %sgive it a value", f.orLeaveOut())
			return
		}
		*to = secret.New(written)
	case *bool:
		if *to = written == "true"; !*to && written != "false" {
			doc.fail(where, at, "%s is neither true nor false", clip(written))
		}
	case *float64:
		if v, ok := doc.float(at, written, where); ok && inside(v) {
			*to = v
		}
	case *int:
		if v, ok := doc.whole(at, written, where); ok && inside(float64(v)) {
			*to = int(v)
		}
	case *int64:
		if v, ok := doc.whole(at, written, where); ok && inside(float64(v)) {
			*to = v
		}
	case *time.Duration:
		v, err := ParseDuration(written)
		switch {
		case err != nil:
			doc.fail(where, at, "%q: %v", written, err)
		case inside(float64(v)):
			*to = v
		}
	}
}

func (doc *document) float(at, written string, where position) (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(written, "_", ""), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(written, "xXpP") {
		doc.fail(where, at, "%s is not a number, like 0.05 or 1e-6", clip(written))
		return 0, false
	}
	return v, true
}

func (doc *document) whole(at, written string, where position) (int64, bool) {
	plain := strings.ReplaceAll(written, "_", "")
	digits := strings.TrimPrefix(plain, "-")
	v, err := strconv.ParseInt(plain, 10, 64)
	if err != nil || len(digits) > 18 || len(digits) > 1 && digits[0] == '0' {
		hint := ", like 24"
		if f, err := strconv.ParseFloat(plain, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1e15 {
			hint = fmt.Sprintf(": write it out, as %.0f", f)
		}
		doc.fail(where, at, "%s is not a whole number of at most 18 digits%s", clip(written), hint)
		return 0, false
	}
	return v, true
}

// describe names the type of a node.
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
	if k == object {
		return "an object: fields below it, indented"
	}
	return "a " + string(k)
}
