package event

import "unicode/utf8"

// jsonNode is a member that is looked for, or the whole object.
type jsonNode struct {
	name    string
	numbers []int // the fields that it is, by number
	members []*jsonNode
}

// plantTree makes the tree of the members that are looked for.
func (d *Decoder) plantTree() error {
	paths, err := d.paths()
	if err != nil {
		return err
	}
	d.tree = &jsonNode{}
	for i, path := range paths {
		if path != nil {
			d.tree.plant(path, i)
		}
	}
	for i, name := range d.filter.Names() {
		d.tree.plant([]string{name}, fieldCount+i)
	}
	d.found = make([]jsonValue, fieldCount+len(d.filter.Names()))
	return nil
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

// decodeJSON finds the fields of one JSON object, matched by exact name. If a member comes twice,
// the last one counts, with all that is in it. A record that is not valid UTF-8 is undecodable:
// encoding/json would replace the bytes, and two users' ids would become one.
func (d *Decoder) decodeJSON(value []byte) error {
	clear(d.found)
	if !utf8.Valid(value) || !d.scanRecord(value) {
		return d.fail(ClassUndecodable, "")
	}
	for i := range fieldCount {
		d.raw[i] = nil
		if d.fields[i] == "" {
			continue
		}
		if class := d.take(i, &d.found[i]); class != "" {
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
func (d *Decoder) scanRecord(value []byte) bool {
	s := jsonScanner{b: value}
	s.space()
	if len(value) == s.at || value[s.at] != '{' || !d.scanMembers(&s, d.tree, 1) {
		return false
	}
	s.space()
	return s.at == len(value)
}

// scanMembers reads an object, the depth-th around its contents, and keeps the members that node
// looks for.
func (d *Decoder) scanMembers(s *jsonScanner, node *jsonNode, depth int) bool {
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
			d.row, _ = appendUnescaped(d.row[:0], name)
			name = d.row
		}
		if m := node.member(name); m == nil {
			_, ok = s.value(depth)
		} else {
			ok = d.scanMember(s, m, depth)
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
func (d *Decoder) scanMember(s *jsonScanner, m *jsonNode, depth int) bool {
	if len(m.members) == 0 {
		v, ok := s.value(depth)
		for _, number := range m.numbers {
			d.found[number] = v
		}
		return ok
	}
	s.space()
	start := s.at
	v, ok := jsonValue{kind: jsonNested}, false
	if s.at < len(s.b) && s.b[s.at] == '{' {
		m.spread(d.found, jsonValue{})
		ok = d.scanMembers(s, m, depth+1)
		v.raw = s.b[start:s.at]
	} else if v, ok = s.value(depth); ok {
		// A field below a value that is not an object is null if that is null, else of the wrong
		// type.
		below := jsonValue{kind: jsonNested}
		if v.kind == jsonNull {
			below.kind = jsonNull
		}
		m.spread(d.found, below)
	}
	for _, number := range m.numbers {
		d.found[number] = v
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
