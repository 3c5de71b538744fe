package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// jsonNode is an object member or list item to find, or the whole object.
type jsonNode struct {
	step
	parent  *jsonNode // nil for the whole object
	members []*jsonNode
	value   gjson.Result // in the current record; it does not exist if the record lacks the member
}

// objects finds the fields of records that are JSON objects.
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
		o.fields = append(o.fields, o.tree.add(path))
	}
	for _, name := range d.filter.Names() {
		o.fields = append(o.fields, o.tree.add([]step{member(name)}))
	}
	return o, nil
}

// add returns the node at a path below n. It adds the missing nodes to the tree.
func (n *jsonNode) add(path []step) *jsonNode {
	if len(path) == 0 {
		return n
	}
	for _, m := range n.members {
		if m.step == path[0] {
			return m.add(path[1:])
		}
	}
	m := &jsonNode{step: path[0], parent: n}
	n.members = append(n.members, m)
	return m.add(path[1:])
}

// find implements records. Names must match exactly. If a member is repeated, its last value is
// used. A record that is not valid UTF-8 is undecodable: replacing the invalid bytes, as
// encoding/json does, could merge the ids of two users.
func (o *objects) find(record []byte) error {
	d := o.d
	if !utf8.Valid(record) || !validJSON(record) {
		return d.fail(ClassUndecodable, "")
	}
	// The values share the record's memory, which nothing changes before the next call.
	o.tree.value = gjson.Parse(unsafe.String(unsafe.SliceData(record), len(record)))
	if !o.tree.value.IsObject() {
		return d.fail(ClassUndecodable, "")
	}
	o.tree.find()
	for i := range fieldCount {
		d.raw[i] = nil
		if d.fields[i] == "" {
			continue
		}
		if class := d.decodeField(i, o.fields[i], record); class != "" && !d.lacksUser(i, class) {
			return d.fail(class, fieldNames[i])
		}
	}
	return nil
}

const maxJSONDepth = 10000 // maximum nesting of objects and lists in encoding/json

// validJSON reports whether encoding/json accepts text, which must be valid UTF-8. gjson is faster
// but has no depth limit, so encoding/json checks a text that is long enough to exceed the limit.
func validJSON(text []byte) bool {
	if len(text) > maxJSONDepth {
		return json.Valid(text)
	}
	return gjson.ValidBytes(text)
}

// find finds the values of all nodes below n in n's value.
func (n *jsonNode) find() {
	for _, m := range n.members {
		m.value = gjson.Result{}
	}
	if n.value.Type == gjson.JSON {
		n.value.ForEach(func(name, value gjson.Result) bool {
			part := member(name.Str)
			if name.Type == gjson.Number {
				part = step{item: int(name.Num)}
			}
			for _, m := range n.members {
				if m.step == part {
					m.value = value
				}
			}
			return true
		})
	}
	for _, m := range n.members {
		if len(m.members) > 0 {
			m.find()
		}
	}
}

// absentClass returns the class of a record in which n, part of a field's path, is absent.
func (d *Decoder) absentClass(field int, n *jsonNode) (class string) {
	switch parent := n.parent.value; {
	case !parent.Exists():
		return d.absentClass(field, n.parent)
	case parent.Type == gjson.Null:
		return d.nullAbove(field)
	case parent.IsObject() && n.item < 0, parent.IsArray() && n.item >= 0:
		return ClassMissingField
	}
	return ClassWrongType
}

// pairedSurrogates matches the text of a valid string in which every surrogate is part of a pair.
var pairedSurrogates = regexp.MustCompile(`^(?:[^\\]|\\[^u]|\\u[^dD]|\\u[dD](?:[0-7]|[89abAB]..\\u[dD][c-fC-F]))*$`)

// decodeField sets d.raw, or d.value, of field i from its node n, or returns the class of a fault.
func (d *Decoder) decodeField(i int, n *jsonNode, record []byte) (class string) {
	v := &n.value
	text := record[v.Index:][:len(v.Raw)]
	switch v.Type {
	case gjson.Null:
		if !v.Exists() {
			return d.absentClass(i, n)
		}
		return ClassNullField
	case gjson.String:
		text = text[1 : len(text)-1]
		d.raw[i] = text
		escaped := len(v.Str) < len(text)
		if escaped {
			d.unquote[i] = append(d.unquote[i][:0], v.Str...)
			d.raw[i] = d.unquote[i]
		}
		if i == fieldValue {
			return d.decodeValueText()
		}
		if escaped && !pairedSurrogates.Match(text) {
			// A single surrogate has no UTF-8 form, so ids could become equal.
			return map[int]string{fieldUser: ClassUndecodable, fieldKey: ClassBadKey,
				fieldTime: ClassBadTimestamp}[mainField(i)]
		}
		return ""
	case gjson.True, gjson.False:
		if mainField(i) == fieldKey {
			d.raw[i] = text
			return ""
		}
	case gjson.Number:
		d.raw[i] = text
		switch mainField(i) {
		case fieldTime:
			return ""
		case fieldValue:
			var ok bool
			if d.value, ok = parseValue(text, d.decimals); ok {
				return ""
			}
		default:
			return d.decodeInteger(i)
		}
	case gjson.JSON:
	}
	return ClassWrongType
}

// decodeInteger checks that field i is an integer without fraction or exponent. It changes −0 to 0.
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
	return o.d.texts.jsonAny(o.fields[fieldCount+i].value)
}

func (o *objects) neverEqual(int, any) string { return "" }

func (o *objects) common() string { return "" }

func (o *objects) place(field int, _ string) string {
	return o.d.inUnit(field, fmt.Sprintf("path %q of %s", o.d.fields[field], o.d.encoding.Name))
}

// members implements records. It does not list names because the filter's text contains them.
func (o *objects) members(string) string { return "members of " + o.d.encoding.Name }

// Limits of memberPaths.
const (
	maxPathDepth = 3
	maxPaths     = 64
)

// memberPaths returns the paths of the values in an object, including the values in nested objects
// and in the first items of lists. It returns nil if the record is not an object.
func memberPaths(record []byte) (paths []string) {
	object := gjson.ParseBytes(record)
	if !object.IsObject() || !validJSON(record) {
		return nil
	}
	var collect func(path string, value gjson.Result, depth int)
	members := func(prefix string, object map[string]gjson.Result, depth int) {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			collect(prefix+pathName.Replace(name), object[name], depth)
		}
	}
	collect = func(path string, value gjson.Result, depth int) {
		switch {
		case len(paths) == maxPaths:
		case depth < maxPathDepth && value.IsObject():
			members(path+".", value.Map(), depth+1)
		case depth < maxPathDepth && value.IsArray():
			for item := range value.Values() {
				collect(path+"[0]", item, depth+1)
				break
			}
		default:
			paths = append(paths, path)
		}
	}
	members("", object.Map(), 1)
	return paths
}

func isObject(line []byte) bool { return line[0] == '{' && json.Valid(line) }

// spreadObjects reports whether a file begins with an array of objects, an indented object, an
// object after a record separator (RFC 7464), or two objects with a comma or nothing between them.
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
	if first, _, found := bytes.Cut(head, []byte("\n")); found && string(bytes.TrimRight(first, space)) == "{" {
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
