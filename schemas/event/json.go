package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// jsonNode is a member that is looked for, or the whole object.
type jsonNode struct {
	step
	numbers []int // the fields that it is, by number
	members []*jsonNode
}

// objects finds the members of JSON objects.
type objects struct {
	d     *Decoder
	tree  *jsonNode   // the members that are looked for
	found []jsonValue // scratch: by field number
}

func compileObjects(d *Decoder, _ *Format) (records, error) {
	paths, err := d.paths()
	if err != nil {
		return nil, err
	}
	names := d.filter.Names()
	o := &objects{d: d, tree: &jsonNode{}, found: make([]jsonValue, fieldCount+len(names))}
	for i, path := range paths {
		if path != nil {
			o.tree.plant(path, i)
		}
	}
	for i, name := range names {
		o.tree.plant([]step{member(name)}, fieldCount+i)
	}
	return o, nil
}

func (n *jsonNode) plant(path []step, number int) {
	if len(path) == 0 {
		n.numbers = append(n.numbers, number)
		return
	}
	for _, m := range n.members {
		if m.step == path[0] {
			m.plant(path[1:], number)
			return
		}
	}
	m := &jsonNode{step: path[0]}
	n.members = append(n.members, m)
	m.plant(path[1:], number)
}

// find finds the fields of one JSON object, matched by exact name. If a member comes twice,
// the last one counts, with all that is in it. A record that is not valid UTF-8 is undecodable:
// encoding/json would replace the bytes, and two users' ids would become one.
func (o *objects) find(record []byte) error {
	clear(o.found)
	d := o.d
	if !utf8.Valid(record) || !o.scanRecord(record) {
		return d.fail(ClassUndecodable, "")
	}
	for i := range fieldCount {
		d.raw[i] = nil
		if d.fields[i] == "" {
			continue
		}
		if class := d.decodeField(i, &o.found[i]); class != "" && !d.lacksUser(i, class) {
			return d.fail(class, fieldNames[i])
		}
	}
	return nil
}

// decodeField turns a field's value into the bytes of the event, or names the class of its fault.
func (d *Decoder) decodeField(i int, v *jsonValue) (class string) {
	switch v.kind {
	case jsonAbsent:
		return ClassMissingField
	case jsonNull:
		if v.raw == nil {
			return d.nullAbove(i)
		}
		return ClassNullField
	case jsonString:
		d.raw[i] = v.raw
		whole := true
		if v.escaped {
			d.unquote[i], whole = appendUnescaped(d.unquote[i][:0], v.raw)
			d.raw[i] = d.unquote[i]
		}
		if i == fieldValue {
			return d.decodeValueText()
		}
		if !whole {
			// Half a surrogate pair has no UTF-8: ids that differ only there would become one.
			return loneSurrogateClass(i)
		}
		return ""
	case jsonNumber:
		if i == fieldValue {
			var ok bool
			d.raw[i] = v.raw
			if d.value, ok = parseValue(v.raw, d.decimals); !ok {
				return ClassWrongType
			}
			return ""
		}
		if kindOf(i) == fieldTime {
			d.raw[i] = v.raw
			return ""
		}
		return d.decodeInteger(i, v.raw)
	case jsonTrue, jsonFalse:
		if kindOf(i) == fieldKey {
			d.raw[i] = v.raw
			return ""
		}
	}
	return ClassWrongType
}

func loneSurrogateClass(field int) string {
	switch kindOf(field) {
	case fieldKey:
		return ClassBadKey
	case fieldTime:
		return ClassBadTimestamp
	}
	return ClassUndecodable
}

// decodeInteger reads an integer without fraction or exponent as its decimal; −0 is 0.
func (d *Decoder) decodeInteger(i int, raw []byte) string {
	digits := raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if digitsAt(digits) != len(digits) {
		return ClassWrongType
	}
	if len(raw) == 2 && digits[0] == '0' {
		raw = digits
	}
	d.raw[i] = raw
	return ""
}

// scanRecord reads value, which must be one object with only space around it.
func (o *objects) scanRecord(value []byte) bool {
	s := jsonScanner{b: value}
	s.space()
	if len(value) == s.at || value[s.at] != '{' || !o.scanMembers(&s, o.tree, 1) {
		return false
	}
	s.space()
	return s.at == len(value)
}

// scanMembers reads an object, the depth-th around its contents, and keeps the members that node
// looks for.
func (o *objects) scanMembers(s *jsonScanner, node *jsonNode, depth int) bool {
	if depth > maxJSONDepth {
		return false
	}
	s.at++
	s.space()
	if s.byte('}') {
		return true
	}
	for {
		name, escaped, ok := s.string()
		if !ok {
			return false
		}
		s.space()
		if !s.byte(':') {
			return false
		}
		if escaped {
			o.d.row, _ = appendUnescaped(o.d.row[:0], name)
			name = o.d.row
		}
		if m := node.member(name); m == nil {
			_, ok = s.value(depth)
		} else {
			ok = o.scanMember(s, m, depth)
		}
		if !ok {
			return false
		}
		s.space()
		if s.byte('}') {
			return true
		}
		if !s.byte(',') {
			return false
		}
		s.space()
	}
}

// scanItems reads a list as scanMembers reads an object.
func (o *objects) scanItems(s *jsonScanner, node *jsonNode, depth int) bool {
	if depth > maxJSONDepth {
		return false
	}
	s.at++
	s.space()
	if s.byte(']') {
		return true
	}
	for item := 0; ; item++ {
		ok := false
		if m := node.itemOf(item); m == nil {
			_, ok = s.value(depth)
		} else {
			ok = o.scanMember(s, m, depth)
		}
		if !ok {
			return false
		}
		s.space()
		if s.byte(']') {
			return true
		}
		if !s.byte(',') {
			return false
		}
	}
}

func (n *jsonNode) member(name []byte) *jsonNode {
	for _, m := range n.members {
		if m.item < 0 && m.name == string(name) {
			return m
		}
	}
	return nil
}

func (n *jsonNode) itemOf(item int) *jsonNode {
	for _, m := range n.members {
		if m.item == item {
			return m
		}
	}
	return nil
}

// scanMember reads the value of a member that is looked for, or has members that are.
func (o *objects) scanMember(s *jsonScanner, m *jsonNode, depth int) bool {
	if len(m.members) == 0 {
		v, ok := s.value(depth)
		for _, number := range m.numbers {
			o.found[number] = v
		}
		return ok
	}
	s.space()
	start := s.at
	v, ok := jsonValue{kind: jsonNested}, false
	if c := s.peek(); c == '{' || c == '[' {
		m.begin(o.found, c == '[')
		if c == '{' {
			ok = o.scanMembers(s, m, depth+1)
		} else {
			ok = o.scanItems(s, m, depth+1)
		}
		v.raw = s.b[start:s.at]
	} else if v, ok = s.value(depth); ok {
		// A field below a value that has no parts is null if that is null, else of the wrong
		// type.
		below := jsonValue{kind: jsonNested}
		if v.kind == jsonNull {
			below.kind = jsonNull
		}
		m.spread(o.found, below)
	}
	for _, number := range m.numbers {
		o.found[number] = v
	}
	return ok
}

// begin sets every field below a value, an object or a list: until they are found, those in such a
// value are absent, and those in the other are of the wrong type.
func (n *jsonNode) begin(found []jsonValue, list bool) {
	for _, m := range n.members {
		v := jsonValue{}
		if (m.item >= 0) != list {
			v.kind = jsonNested
		}
		for _, number := range m.numbers {
			found[number] = v
		}
		m.spread(found, v)
	}
}

// spread sets every field below a member.
func (n *jsonNode) spread(found []jsonValue, v jsonValue) {
	for _, m := range n.members {
		for _, number := range m.numbers {
			found[number] = v
		}
		m.spread(found, v)
	}
}

func (o *objects) seen(i int) (v any, present bool) {
	return o.d.texts.jsonAny(&o.found[fieldCount+i])
}

func (o *objects) never(int, any) string { return "" }

func (o *objects) common() string { return "" }

func (o *objects) place(field int, _ string) string {
	return o.d.inUnit(field, fmt.Sprintf("path %q of %s", o.d.fields[field], o.d.encoding.Name))
}

// members needs no names: the filter's text has them.
func (o *objects) members(string) string { return "members of " + o.d.encoding.Name }

// Bounds of memberPaths.
const (
	maxPathDepth = 3
	maxPaths     = 64
)

// memberPaths returns the paths to the values in an object, and in its objects and the first
// items of its lists; nil for a record that is not an object.
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

// spreadObjects reports whether a text begins with an array of objects, with an object that goes
// over several lines, as programs that indent write it, with one after a record separator (RFC
// 7464), or with two that a comma or nothing separates.
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
