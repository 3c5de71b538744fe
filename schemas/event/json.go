package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// jsonNode is a member to find, or the whole object.
type jsonNode struct {
	step
	members []*jsonNode
	value   jsonValue // in the last record
}

// jsonValue is a value of the record. The kind is the first byte of the text, or a constant below.
type jsonValue struct {
	kind byte
	text []byte
}

// Kinds of values that have no text.
const (
	jsonAbsent     = 0
	jsonBelowNull  = 'N' // a part of null
	jsonBelowOther = 'O' // a part of a value without such a part
)

// objects finds the members of JSON objects.
type objects struct {
	d      *Decoder
	tree   *jsonNode   // members to find
	fields []*jsonNode // by field number
}

func compileObjects(d *Decoder, _ *Format) (records, error) {
	paths, err := d.paths()
	if err != nil {
		return nil, err
	}
	o := &objects{d: d, tree: &jsonNode{}}
	for _, path := range paths {
		o.fields = append(o.fields, o.tree.plant(path))
	}
	for _, name := range d.filter.Names() {
		o.fields = append(o.fields, o.tree.plant([]step{member(name)}))
	}
	return o, nil
}

// plant adds the node of a path to the tree and returns it.
func (n *jsonNode) plant(path []step) *jsonNode {
	if len(path) == 0 {
		return n
	}
	for _, m := range n.members {
		if m.step == path[0] {
			return m.plant(path[1:])
		}
	}
	m := &jsonNode{step: path[0]}
	n.members = append(n.members, m)
	return m.plant(path[1:])
}

// find implements records. Names match exactly; of equal members, the last one counts. A record
// that is not valid UTF-8 is undecodable: encoding/json would replace the bytes and might merge two
// users' ids.
func (o *objects) find(record []byte) error {
	d := o.d
	object := bytes.Trim(record, jsonSpace)
	if !utf8.Valid(record) || !validJSON(object) || object[0] != '{' {
		return d.fail(ClassUndecodable, "")
	}
	o.tree.value = jsonValue{kind: '{', text: object}
	o.tree.find()
	for i := range fieldCount {
		d.raw[i] = nil
		if d.fields[i] == "" {
			continue
		}
		if class := d.decodeField(i, &o.fields[i].value); class != "" && !d.lacksUser(i, class) {
			return d.fail(class, fieldNames[i])
		}
	}
	return nil
}

const (
	maxJSONDepth = 10000 // depth up to which encoding/json reads objects and lists
	jsonSpace    = " \t\r\n"
)

// validJSON reports whether encoding/json accepts a text of valid UTF-8. gjson has no depth limit:
// encoding/json checks a text that is long enough to exceed it.
func validJSON(text []byte) bool {
	if len(text) > maxJSONDepth {
		return json.Valid(text)
	}
	return gjson.ValidBytes(text)
}

// find finds the members in n's value.
func (n *jsonNode) find() {
	for _, m := range n.members {
		m.value = n.below(m.step)
	}
	if n.value.kind == '{' || n.value.kind == '[' {
		index := -1
		eachMember(n.value.text, func(name, value []byte) {
			index++
			if bytes.IndexByte(name, '\\') >= 0 {
				name = unescaped(name)
			}
			for _, m := range n.members {
				if name == nil && m.item == index || name != nil && m.item < 0 && m.name == string(name) {
					m.value = jsonValue{kind: value[0], text: value}
					return
				}
			}
		})
	}
	for _, m := range n.members {
		if len(m.members) > 0 {
			m.find()
		}
	}
}

// below returns the value of a part that n does not have.
func (n *jsonNode) below(s step) jsonValue {
	switch kind := n.value.kind; {
	case kind == 'n' || kind == jsonBelowNull:
		return jsonValue{kind: jsonBelowNull}
	case kind == jsonAbsent, kind == '{' && s.item < 0, kind == '[' && s.item >= 0:
		return jsonValue{}
	}
	return jsonValue{kind: jsonBelowOther}
}

// eachMember calls visit with the members of a valid object, with the raw names between the quotes,
// or with the items of a valid list, whose names are nil.
func eachMember(b []byte, visit func(name, value []byte)) {
	object := b[0] == '{'
	for i := 1; ; {
		for b[i] == ',' || b[i] <= ' ' {
			i++
		}
		if b[i] == '}' || b[i] == ']' {
			return
		}
		var name []byte
		if object {
			n := stringLength(b[i:])
			name = b[i+1 : i+n-1]
			for i += n; b[i] == ':' || b[i] <= ' '; {
				i++
			}
		}
		n := valueLength(b[i:])
		visit(name, b[i:i+n])
		i += n
	}
}

// valueLength returns the length of the valid value at the beginning of b, the rest of an object or
// a list.
func valueLength(b []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch c := b[i]; {
		case c == '"':
			i += stringLength(b[i:]) - 1
			if depth == 0 {
				return i + 1
			}
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']' || c <= ' '):
			return i
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// stringLength returns the length of the valid string at the beginning of b, with its quotes.
func stringLength(b []byte) int {
	for i := 1; ; i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
}

// unescaped returns the contents of a valid string; half a surrogate pair becomes U+FFFD as with
// encoding/json.
func unescaped(text []byte) []byte {
	return []byte(gjson.Parse(`"` + string(text) + `"`).Str)
}

// wholeString matches the text of a valid string that has no half of a surrogate pair.
var wholeString = regexp.MustCompile(`^(?:[^\\]|\\[^u]|\\u[^dD]|\\u[dD](?:[0-7]|[89abAB]..\\u[dD][c-fC-F]))*$`)

// decodeField sets the bytes of a field from its value, or returns the class of its fault.
func (d *Decoder) decodeField(i int, v *jsonValue) (class string) {
	switch v.kind {
	case jsonAbsent:
		return ClassMissingField
	case jsonBelowNull:
		return d.nullAbove(i)
	case 'n':
		return ClassNullField
	case '"':
		text := v.text[1 : len(v.text)-1]
		d.raw[i] = text
		escaped := bytes.IndexByte(text, '\\') >= 0
		if escaped {
			d.unquote[i] = append(d.unquote[i][:0], unescaped(text)...)
			d.raw[i] = d.unquote[i]
		}
		if i == fieldValue {
			return d.decodeValueText()
		}
		if escaped && !wholeString.Match(text) {
			// Half a surrogate pair has no UTF-8 form: ids that differ only there would merge.
			return map[int]string{fieldUser: ClassUndecodable, fieldKey: ClassBadKey,
				fieldTime: ClassBadTimestamp}[mainField(i)]
		}
		return ""
	case 't', 'f':
		if mainField(i) == fieldKey {
			d.raw[i] = v.text
			return ""
		}
	case '{', '[', jsonBelowOther:
	default:
		d.raw[i] = v.text
		switch mainField(i) {
		case fieldTime:
			return ""
		case fieldValue:
			var ok bool
			if d.value, ok = parseValue(v.text, d.decimals); ok {
				return ""
			}
		default:
			return d.decodeInteger(i)
		}
	}
	return ClassWrongType
}

// decodeInteger reads an integer without fraction or exponent; −0 is 0.
func (d *Decoder) decodeInteger(i int) string {
	raw := d.raw[i]
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if digitsAt(digits) != len(digits) {
		return ClassWrongType
	}
	if string(raw) == "-0" {
		d.raw[i] = digits
	}
	return ""
}

func (o *objects) filterValue(i int) (v any, present bool) {
	return o.d.texts.jsonAny(&o.fields[fieldCount+i].value)
}

func (o *objects) neverEqual(int, any) string { return "" }

func (o *objects) common() string { return "" }

func (o *objects) place(field int, _ string) string {
	return o.d.inUnit(field, fmt.Sprintf("path %q of %s", o.d.fields[field], o.d.encoding.Name))
}

// members needs no names: they are in the filter's text.
func (o *objects) members(string) string { return "members of " + o.d.encoding.Name }

// Limits of memberPaths.
const (
	maxPathDepth = 3
	maxPaths     = 64
)

// memberPaths returns the paths to the values in an object, including those in its objects and in
// the first items of its lists; nil if the record is not an object.
func memberPaths(record []byte) (paths []string) {
	var object map[string]json.RawMessage
	if json.Unmarshal(record, &object) != nil {
		return nil
	}
	var below func(path string, value json.RawMessage, depth int)
	members := func(prefix string, object map[string]json.RawMessage, depth int) {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			below(prefix+pathName.Replace(name), object[name], depth)
		}
	}
	below = func(path string, value json.RawMessage, depth int) {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case len(paths) == maxPaths:
		case depth < maxPathDepth && value[0] == '{' && json.Unmarshal(value, &object) == nil:
			members(path+".", object, depth+1)
		case depth < maxPathDepth && value[0] == '[' && json.Unmarshal(value, &list) == nil:
			if len(list) > 0 {
				below(path+"[0]", list[0], depth+1)
			}
		default:
			paths = append(paths, path)
		}
	}
	members("", object, 1)
	return paths
}

func isObject(line []byte) bool { return line[0] == '{' && json.Valid(line) }

// spreadObjects reports whether a text begins with an array of objects, an indented object, an
// object after a record separator (RFC 7464), or two objects separated by a comma or nothing.
func spreadObjects(head []byte) bool {
	const space = " \t\r\n"
	head = bytes.TrimLeft(head, space)
	if rest, array := bytes.CutPrefix(head, []byte("[")); array {
		rest = bytes.TrimLeft(rest, space)
		return len(rest) == 0 || rest[0] == '{' || rest[0] == ']'
	}
	if rest, separated := bytes.CutPrefix(head, []byte("\x1e")); separated {
		return bytes.HasPrefix(bytes.TrimLeft(rest, space), []byte("{"))
	}
	if !bytes.HasPrefix(head, []byte("{")) {
		return false
	}
	if first, _, whole := bytes.Cut(head, []byte("\n")); whole && string(bytes.TrimRight(first, space)) == "{" {
		return true
	}
	var object json.RawMessage
	d := json.NewDecoder(bytes.NewReader(head))
	if d.Decode(&object) != nil {
		return false
	}
	rest := bytes.TrimLeft(head[d.InputOffset():], " \t\r")
	return bytes.HasPrefix(rest, []byte("{")) || bytes.HasPrefix(bytes.TrimLeft(rest, space), []byte(","))
}
