package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// jsonNode is a member that is looked for, or the whole object.
type jsonNode struct {
	name    string
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
		o.tree.plant([]string{name}, fieldCount+i)
	}
	return o, nil
}

func (n *jsonNode) plant(path []string, number int) {
	if len(path) == 0 {
		n.numbers = append(n.numbers, number)
		return
	}
	for _, m := range n.members {
		if m.name == path[0] {
			m.plant(path[1:], number)
			return
		}
	}
	m := &jsonNode{name: path[0]}
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
		if class := d.take(i, &o.found[i]); class != "" {
			return d.fail(class, fieldNames[i])
		}
	}
	return nil
}

// take turns a field's value into the bytes that the event has, or names the class of its fault.
func (d *Decoder) take(i int, v *jsonValue) (class string) {
	switch v.kind {
	case jsonAbsent:
		return ClassMissingField
	case jsonNull:
		return ClassNullField
	case jsonString:
		if i == fieldValue {
			return ClassWrongType
		}
		d.raw[i] = v.raw
		if !v.escaped {
			return ""
		}
		var whole bool
		d.unquote[i], whole = appendUnescaped(d.unquote[i][:0], v.raw)
		d.raw[i] = d.unquote[i]
		if !whole {
			// Half a surrogate pair has no UTF-8: ids that differ only there would become one.
			return loneSurrogateClass(i)
		}
		return ""
	case jsonNumber:
		if i == fieldValue {
			var ok bool
			if d.value, ok = parseWhole(v.raw); !ok {
				return ClassWrongType
			}
			return ""
		}
		if i == fieldTime {
			if d.unit == "rfc3339" {
				return ClassWrongType
			}
			d.raw[i] = v.raw
			return ""
		}
		return d.takeInteger(i, v.raw)
	case jsonTrue, jsonFalse:
		if i == fieldKey {
			d.raw[i] = v.raw
			return ""
		}
	}
	return ClassWrongType
}

func loneSurrogateClass(field int) string {
	switch field {
	case fieldKey:
		return ClassBadKey
	case fieldTime:
		return ClassBadTimestamp
	}
	return ClassUndecodable
}

// takeInteger takes an integer without fraction or exponent as its decimal; −0 is 0.
func (d *Decoder) takeInteger(i int, raw []byte) string {
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

func (n *jsonNode) member(name []byte) *jsonNode {
	for _, m := range n.members {
		if m.name == string(name) {
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
	if s.at < len(s.b) && s.b[s.at] == '{' {
		m.spread(o.found, jsonValue{})
		ok = o.scanMembers(s, m, depth+1)
		v.raw = s.b[start:s.at]
	} else if v, ok = s.value(depth); ok {
		// A field below a value that is not an object is null if that is null, else of the wrong
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

// memberPaths returns the names of an object's members as paths; nil for a record that is not an
// object.
func memberPaths(record []byte) (paths []string) {
	var object map[string]json.RawMessage
	if json.Unmarshal(record, &object) != nil {
		return nil
	}
	for name := range object {
		paths = append(paths, strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(name))
	}
	return paths
}

func isObject(line []byte) bool { return line[0] == '{' && json.Valid(line) }

// insteadOfObjects knows what programs write as JSON that has no record in each line.
func insteadOfObjects(lines [][]byte) string {
	switch {
	case len(lines) > 0 && lines[0][0] == '[':
		return "an array of JSON: write one object in each line, for example with jq -c '.[]'"
	case len(lines) > 1 && string(lines[0]) == "{":
		return "an object of JSON that goes over several lines: write one object in each line, for example with jq -c ."
	}
	return ""
}
