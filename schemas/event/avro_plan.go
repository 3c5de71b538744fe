package event

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/base/formats/avro"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
)

// avroNode is a part of a writer schema that contains a field of the format. Parts without a node
// are skipped.
type avroNode struct {
	typ     *avro.Type
	numbers []int       // numbers of the event's fields with this value
	filters []int       // numbers of the filters' fields with this value
	unit    string      // unit of the event's time, if this is one
	lost    []avroLoss  // fields missing from a record with this part
	members []*avroNode // by field of a record or branch of a union; nil: skipped
}

// avroLoss is a field whose path leads through null, or through a value that is not a record.
type avroLoss struct {
	number int
	class  string
}

// avroTarget is a field to find below a type.
type avroTarget struct {
	number int
	path   []step
}

// planner finds the fields of the format in a writer schema.
type planner struct {
	d        *Decoder
	unit     string
	decimals int
	found    [fieldCount]bool
	why      [fieldCount]string // first reason that a field cannot be found
}

// planAvro compiles the reading of records of a schema. Errors are *FormatError.
func (d *Decoder) planAvro(schema string) (*avroNode, error) {
	root, err := avro.Parse(schema)
	if err != nil {
		return nil, badFormat("schema", "%v", err)
	}
	paths, err := d.paths()
	if err != nil {
		return nil, err
	}
	var targets []avroTarget
	for i, path := range paths {
		if path != nil {
			targets = append(targets, avroTarget{number: i, path: path})
		}
	}
	p := planner{d: d, unit: d.unit, decimals: d.decimals}
	node := p.build(root, targets)
	for i, text := range d.fields {
		if text != "" && !p.found[i] {
			return nil, badFormat(fieldNames[i], "field %q: %s", text, p.why[i])
		}
	}
	return node, d.planFilters(node)
}

// mostListed limits the fields that an error lists.
const mostListed = 20

// lacks returns the reason that a record has no such field, with a list of its fields.
func lacks(record *avro.Type, name string) string {
	text := fmt.Sprintf("the schema's %s has no field %q", record, name)
	var names []string
	for _, f := range record.Fields {
		names = append(names, f.Name)
	}
	if meant := spelling.Nearest(names, name); meant != "" {
		text += fmt.Sprintf(" (did you mean %q?)", meant)
	}
	for i, f := range record.Fields {
		switch {
		case i == mostListed:
			return text + " and more"
		case i == 0:
			text += "; it has "
		default:
			text += ", "
		}
		text += f.Name
	}
	return text
}

// planFilters adds the fields of the filters to the plan.
func (d *Decoder) planFilters(root *avroNode) error {
	for i, name := range d.filter.Names() {
		index := -1
		for j, f := range root.typ.Fields {
			if f.Name == name {
				index = j
			}
		}
		if index < 0 {
			return badFormat(d.firstUse(name), "%s", lacks(root.typ, name))
		}
		if root.members[index] == nil {
			root.members[index] = &avroNode{typ: root.typ.Fields[index].Type}
		}
		root.members[index].filters = append(root.members[index].filters, i)
	}
	return nil
}

func (p *planner) noteLoss(n *avroNode, number int, class, why string) {
	n.lost = append(n.lost, avroLoss{number, class})
	if p.why[number] == "" || class != ClassNullField && class != ClassSkipped {
		p.why[number] = why
	}
}

func (p *planner) build(t *avro.Type, targets []avroTarget) *avroNode {
	n := &avroNode{typ: t}
	switch t.Kind {
	case avro.Union:
		for _, b := range t.Branches {
			n.members = append(n.members, p.build(b, targets))
		}
		return n
	case avro.Record:
		p.buildRecord(n, targets)
		return n
	}
	for _, w := range targets {
		switch {
		case t.Kind == avro.Null:
			class := ClassNullField
			if len(w.path) > 0 {
				class = p.d.nullAbove(w.number)
			}
			p.noteLoss(n, w.number, class, "it is always null")
		case len(w.path) > 0:
			p.noteLoss(n, w.number, ClassWrongType, fmt.Sprintf("the schema has no %v within a value of type %s",
				w.path[0], t))
		default:
			p.leaf(n, w.number)
		}
	}
	return n
}

func (p *planner) buildRecord(n *avroNode, targets []avroTarget) {
	n.members = make([]*avroNode, len(n.typ.Fields))
	below := make(map[string][]avroTarget)
	for _, w := range targets {
		if len(w.path) == 0 {
			p.noteLoss(n, w.number, ClassWrongType, fmt.Sprintf("the schema has a %s there, which has fields of "+
				"its own", n.typ))
			continue
		}
		if w.path[0].item >= 0 {
			p.noteLoss(n, w.number, ClassWrongType, fmt.Sprintf("the schema has a %s there, and an item of a list is "+
				"asked for", n.typ))
			continue
		}
		below[w.path[0].name] = append(below[w.path[0].name], avroTarget{number: w.number, path: w.path[1:]})
	}
	for i, f := range n.typ.Fields {
		if below[f.Name] != nil {
			n.members[i] = p.build(f.Type, below[f.Name])
			delete(below, f.Name)
		}
	}
	for _, w := range targets {
		if len(w.path) > 0 && w.path[0].item < 0 && below[w.path[0].name] != nil {
			p.noteLoss(n, w.number, ClassMissingField, lacks(n.typ, w.path[0].name))
		}
	}
}

// leaf notes that a value is a field if its type is possible.
func (p *planner) leaf(n *avroNode, number int) {
	var err error
	switch number {
	case fieldTime:
		n.unit, err = timeUnit(n.typ, p.unit)
	default:
		err = p.checkType(n.typ, number)
	}
	if err != nil {
		p.noteLoss(n, number, ClassWrongType, err.Error())
		return
	}
	n.numbers = append(n.numbers, number)
	p.found[number] = true
}

// checkType returns the reason that a type cannot be a user, a key, a further part of a time or a
// value, or nil.
func (p *planner) checkType(t *avro.Type, number int) error {
	if t.Logical == "decimal" || t.Logical == "duration" {
		return fmt.Errorf("the schema's type there is %s, which cannot be a %s", t, fieldNames[number])
	}
	may := map[int][]avro.Kind{
		fieldUser:  {avro.String, avro.Bytes, avro.Int, avro.Long, avro.Fixed},
		fieldKey:   {avro.String, avro.Int, avro.Long, avro.Boolean, avro.Enum},
		fieldTime:  {avro.String},
		fieldValue: {avro.Int, avro.Long},
	}[mainField(number)]
	if number == fieldValue && p.decimals > 0 {
		may = append(may, avro.Float, avro.Double)
	}
	names := ""
	for _, k := range may {
		if k == t.Kind {
			return nil
		}
		names += ", " + k.String()
	}
	err := fmt.Errorf("the schema's type there is %s; the type of a %s must be one of%s", t, fieldNames[number],
		names[1:])
	if number == fieldValue && (t.Kind == avro.Float || t.Kind == avro.Double) {
		err = fmt.Errorf("%w; for a float or a double, set how many decimals to keep (--decimals, or events.decimals)",
			err)
	}
	return err
}

var errNoUnit = errors.New("it is a number without a timestamp type: set the time unit to s, ms, us or ns " +
	"(--time-unit, or events.time_unit)")

// timeUnit returns the unit of a time of the type: "ms", "us", "ns", "s" or "rfc3339".
func timeUnit(t *avro.Type, unit string) (string, error) {
	logical := ""
	switch t.Logical {
	case "":
	case "timestamp-millis":
		logical = "ms"
	case "timestamp-micros":
		logical = "us"
	case "timestamp-nanos":
		logical = "ns"
	case "local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos":
		return "", fmt.Errorf("it is a %s, a time of no known zone: which moment it is cannot be told; write "+
			"timestamp-millis or timestamp-micros", t.Logical)
	default:
		return "", fmt.Errorf("its type is %s; a time is timestamp-millis, timestamp-micros, a long or double with a "+
			"time unit, or a string of RFC 3339", t)
	}
	switch {
	case logical != "" && (unit == logical || unit == ""):
		return logical, nil
	case logical != "":
		return "", fmt.Errorf("it is a %s, but the time unit is %q: leave the time unit empty", t.Logical, unit)
	}
	switch t.Kind {
	case avro.String:
		if unit != "rfc3339" && unit != TimeText {
			return "", fmt.Errorf("it is a string: set the time unit to rfc3339 or text (--time-unit, or " +
				"events.time_unit)")
		}
		return unit, nil
	case avro.Int, avro.Long, avro.Double:
		if unit == "" {
			return "", errNoUnit
		}
		if unit == "rfc3339" || unit == TimeText {
			return "", fmt.Errorf("it is a %s, but the time unit is of texts: set the time unit to s, ms, us or ns", t)
		}
		return unit, nil
	}
	return "", fmt.Errorf("its type is %s; a time is timestamp-millis, timestamp-micros, a long or double with a time "+
		"unit, or a string of RFC 3339", t)
}
