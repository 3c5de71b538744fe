package event

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/twmb/avro"
	"github.com/twmb/avro/atype"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
)

// avroPlan decodes the wanted fields of records of one writer schema and skips the others.
type avroPlan struct {
	fault   string // class of all records of the schema; "" if it fits
	schema  *avro.Schema
	root    *avro.SchemaNode
	wanted  []*avroField // by field number, then by field of the filters; nil: not in the format
	unit    string       // of the time
	decoded any          // pointer to the Go struct into which records are decoded
	slots   []avroSlot   // to be set before each record
}

// avroSlot is a place in the Go struct that the library may change to nil or, in an any, add to.
type avroSlot struct{ place, fresh reflect.Value }

// avroField is a field to find in records.
type avroField struct {
	path   []step
	index  []int           // by step, down to an any: the number of the field in its Go struct
	above  []reflect.Value // pointers to the records that contain it; nil for null
	place  reflect.Value   // where the path's steps with an index lead
	text   *string         // the value, if it is always a string
	number *int64          // the value, if it is always an integer
}

// planAvro compiles the reading of records of a schema. Errors are *FormatError.
func (d *Decoder) planAvro(text string) (*avroPlan, error) {
	p := &avroPlan{wanted: make([]*avroField, fieldCount)}
	var err error
	if p.schema, p.root, err = parseAvro(text); err != nil {
		return nil, badFormat("schema", "%v", err)
	}
	paths, err := d.paths()
	if err != nil {
		return nil, err
	}
	for i, path := range paths {
		if path == nil {
			continue
		}
		if err := d.checkPlace(p.root, path, i); err != nil {
			return nil, badFormat(fieldNames[i], "field %q: %v", d.fields[i], err)
		}
		p.wanted[i] = &avroField{path: path}
	}
	for _, name := range d.filter.Names() {
		if fieldOf(p.root, name) == nil {
			return nil, badFormat(d.firstUse(name), "%s", lacks(p.root, name))
		}
		p.wanted = append(p.wanted, &avroField{path: []step{member(name)}})
	}
	for _, t := range leaves(p.root, paths[fieldTime]) {
		unit, err := timeUnit(t, d.unit)
		if err == nil && p.unit != "" && unit != p.unit {
			return nil, badFormat("time", "field %q: the schema has it in %s and in %s", d.fields[fieldTime], p.unit,
				unit)
		}
		if err == nil {
			p.unit = unit
		}
	}
	present := slices.DeleteFunc(slices.Clone(p.wanted), func(f *avroField) bool { return f == nil })
	record := reflect.New(goType(p.root, present, 0))
	p.decoded = record.Interface()
	for _, f := range present {
		p.locate(f, record.Elem())
	}
	if !slices.ContainsFunc(p.slots, func(s avroSlot) bool { return s.place.Kind() == reflect.Interface }) {
		if plain, err := avro.Parse(p.schema.String()); err == nil {
			p.schema = plain // custom types, which only an any needs, make the library slower
		}
	}
	return p, nil
}

// locate finds the place of a field in the Go struct of a record. It allocates the memory of
// pointers, so that decoding need not.
func (p *avroPlan) locate(f *avroField, record reflect.Value) {
	f.place = record
	for _, n := range f.index {
		if f.place.Kind() == reflect.Pointer {
			f.above = append(f.above, f.place)
		}
		f.place = held(f.place).Field(n)
		switch t := f.place.Type(); {
		case t.Kind() == reflect.Interface:
			p.slots = append(p.slots, avroSlot{f.place, reflect.Zero(t)})
		case t.Kind() == reflect.Pointer && f.place.IsNil():
			fresh := reflect.New(t.Elem())
			f.place.Set(fresh)
			p.slots = append(p.slots, avroSlot{f.place, fresh})
		}
	}
	if len(f.above) == 0 {
		f.text, _ = f.place.Addr().Interface().(*string)
		f.number, _ = f.place.Addr().Interface().(*int64)
	}
}

// fieldOf returns the type of a record's field, or nil.
func fieldOf(record *avro.SchemaNode, name string) *avro.SchemaNode {
	for i := range record.Fields {
		if record.Fields[i].Name == name {
			return &record.Fields[i].Type
		}
	}
	return nil
}

// mostListed limits the fields that an error lists.
const mostListed = 20

// lacks returns the reason that a record has no such field, with a list of its fields.
func lacks(record *avro.SchemaNode, name string) string {
	text := fmt.Sprintf("the schema's %s has no field %q", typeText(record), name)
	var names []string
	for _, f := range record.Fields {
		names = append(names, f.Name)
	}
	if meant := spelling.Nearest(names, name); meant != "" {
		text += fmt.Sprintf(" (did you mean %q?)", meant)
	}
	more := ""
	if len(names) > mostListed {
		names, more = names[:mostListed], " and more"
	}
	if len(names) > 0 {
		text += "; it has " + strings.Join(names, ", ") + more
	}
	return text
}

// leaves returns the types of values at a path: several if it leads through unions.
func leaves(n *avro.SchemaNode, path []step) (all []*avro.SchemaNode) {
	switch {
	case n.Type == atype.Union:
		for i := range n.Branches {
			all = append(all, leaves(&n.Branches[i], path)...)
		}
	case len(path) == 0:
		return []*avro.SchemaNode{n}
	case n.Type == atype.Record:
		if field := fieldOf(n, path[0].name); field != nil {
			return leaves(field, path[1:])
		}
	}
	return all
}

// goType returns the type into which the library decodes a value of n that contains the wanted
// fields. It has only those fields of records; where a union leaves open what a value is, it is
// any.
func goType(n *avro.SchemaNode, wanted []*avroField, depth int) reflect.Type {
	whole := slices.ContainsFunc(wanted, func(f *avroField) bool { return len(f.path) == depth })
	switch n.Type {
	case atype.Record:
		if !whole {
			return goStruct(n, wanted, depth)
		}
	case atype.Union:
		null := slices.IndexFunc(n.Branches, func(b avro.SchemaNode) bool { return b.Type == atype.Null })
		if len(n.Branches) == 2 && null >= 0 {
			if t := goType(&n.Branches[1-null], wanted, depth); t != reflect.TypeFor[any]() {
				return reflect.PointerTo(t)
			}
		}
	case atype.String:
		return reflect.TypeFor[string]()
	case atype.Int, atype.Long:
		return reflect.TypeFor[int64]()
	case atype.Double:
		return reflect.TypeFor[float64]()
	}
	return reflect.TypeFor[any]()
}

func goStruct(n *avro.SchemaNode, wanted []*avroField, depth int) reflect.Type {
	var parts []reflect.StructField
	for i := range n.Fields {
		var below []*avroField
		for _, f := range wanted {
			if f.path[depth] == member(n.Fields[i].Name) {
				f.index = append(f.index, len(parts))
				below = append(below, f)
			}
		}
		if below != nil {
			parts = append(parts, reflect.StructField{Name: fmt.Sprintf("F%d", i),
				Type: goType(&n.Fields[i].Type, below, depth+1),
				Tag:  reflect.StructTag(fmt.Sprintf("avro:%q", n.Fields[i].Name))})
		}
	}
	return reflect.StructOf(parts)
}

// checkPlace returns nil if a value that the path leads to can be the field, else the reason that
// none can.
func (d *Decoder) checkPlace(n *avro.SchemaNode, path []step, number int) (reason error) {
	switch {
	case n.Type == atype.Union:
		for i := range n.Branches {
			err := d.checkPlace(&n.Branches[i], path, number)
			if err == nil {
				return nil
			}
			if reason == nil || !errors.Is(err, errAlwaysNull) {
				reason = err
			}
		}
		return reason
	case n.Type == atype.Null:
		return errAlwaysNull
	case n.Type == atype.Record && len(path) == 0:
		return fmt.Errorf("the schema has a %s there, which has fields of its own", typeText(n))
	case n.Type == atype.Record && path[0].item >= 0:
		return fmt.Errorf("the schema has a %s there, and an item of a list is asked for", typeText(n))
	case n.Type == atype.Record:
		field := fieldOf(n, path[0].name)
		if field == nil {
			return errors.New(lacks(n, path[0].name))
		}
		return d.checkPlace(field, path[1:], number)
	case len(path) > 0:
		return fmt.Errorf("the schema has no %v within a value of type %s", path[0], typeText(n))
	}
	return d.checkLeaf(n, number)
}

var errAlwaysNull = errors.New("it is always null")

// checkLeaf returns the reason that a value cannot be the field, or nil.
func (d *Decoder) checkLeaf(t *avro.SchemaNode, number int) (err error) {
	if number == fieldTime {
		_, err = timeUnit(t, d.unit)
		return err
	}
	return d.checkType(t, number)
}

// checkType returns the reason that a type cannot be a user, a key, a further part of a time or a
// value, or nil.
func (d *Decoder) checkType(t *avro.SchemaNode, number int) error {
	if t.LogicalType == "decimal" || t.LogicalType == "duration" {
		return fmt.Errorf("the schema's type there is %s, which cannot be a %s", typeText(t), fieldNames[number])
	}
	may := map[int][]string{
		fieldUser:  {atype.String, atype.Bytes, atype.Int, atype.Long, atype.Fixed},
		fieldKey:   {atype.String, atype.Int, atype.Long, atype.Boolean, atype.Enum},
		fieldTime:  {atype.String},
		fieldValue: {atype.Int, atype.Long},
	}[mainField(number)]
	if number == fieldValue && d.decimals > 0 {
		may = append(may, atype.Float, atype.Double)
	}
	if slices.Contains(may, t.Type) {
		return nil
	}
	err := fmt.Errorf("the schema's type there is %s; the type of a %s must be one of %s", typeText(t),
		fieldNames[number], strings.Join(may, ", "))
	if number == fieldValue && (t.Type == atype.Float || t.Type == atype.Double) {
		err = fmt.Errorf("%w; for a float or a double, set how many decimals to keep (--decimals, or events.decimals)",
			err)
	}
	return err
}

var errNoUnit = errors.New("it is a number without a timestamp type: set the time unit to s, ms, us or ns " +
	"(--time-unit, or events.time_unit)")

// timeUnit returns the unit of a time of the type: "ms", "us", "ns", "s" or "rfc3339".
func timeUnit(t *avro.SchemaNode, unit string) (string, error) {
	logical, known := map[string]string{"": "", atype.TimestampMillis: "ms", atype.TimestampMicros: "us",
		atype.TimestampNanos: "ns"}[t.LogicalType]
	texts := unit == "rfc3339" || unit == TimeText
	switch {
	case strings.HasPrefix(t.LogicalType, "local-timestamp-"):
		return "", fmt.Errorf("it is a %s, a time of no known zone: which moment it is cannot be told; write "+
			"timestamp-millis or timestamp-micros", t.LogicalType)
	case logical != "" && unit != logical && unit != "":
		return "", fmt.Errorf("it is a %s, but the time unit is %q: leave the time unit empty", t.LogicalType, unit)
	case logical != "":
		return logical, nil
	case !known, !slices.Contains([]string{atype.String, atype.Int, atype.Long, atype.Double}, t.Type):
		return "", fmt.Errorf("its type is %s; a time is timestamp-millis, timestamp-micros, a long or double with a "+
			"time unit, or a string of RFC 3339", typeText(t))
	case t.Type == atype.String && !texts:
		return "", errors.New("it is a string: set the time unit to rfc3339 or text (--time-unit, or " +
			"events.time_unit)")
	case t.Type != atype.String && unit == "":
		return "", errNoUnit
	case t.Type != atype.String && texts:
		return "", fmt.Errorf("it is a %s, but the time unit is of texts: set the time unit to s, ms, us or ns",
			typeText(t))
	}
	return unit, nil
}
