package event

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/twmb/avro"

	"github.com/tollgate-dp/tollgate/schemas"
)

// avroSource reads Avro records by their writer schemas.
type avroSource struct {
	d    *Decoder
	bare *avroPlan // nil: records begin with a schema's id

	plans   map[uint32]*avroPlan
	unknown map[uint32]struct{}
	unfit   map[uint32]struct{} // at most as many as the registry has schemas
	last    uint32              // schema id of the last record
	newest  *avroPlan           // its plan

	plan *avroPlan // of the record that was decoded last
}

// maxUnknownSchemas limits the unknown ids that are remembered: broken records can have any id.
const maxUnknownSchemas = 1 << 14

// compileAvro compiles the local schema; without one it only checks the paths.
func compileAvro(d *Decoder, f *Format) (records, error) {
	a := &avroSource{d: d, plans: make(map[uint32]*avroPlan), unknown: make(map[uint32]struct{}),
		unfit: make(map[uint32]struct{})}
	var err error
	if f.Schema == "" {
		_, err = d.paths()
	} else {
		a.bare, err = d.planAvro(f.Schema)
	}
	return a, err
}

// planOf returns the plan of a record's schema, and the record without the schema's id.
func (a *avroSource) planOf(value []byte) (*avroPlan, []byte, error) {
	if a.bare != nil {
		return a.bare, value, nil
	}
	if len(value) < schemas.RegistryBytes || value[0] != 0 {
		return nil, nil, a.d.fail(ClassUndecodable, "")
	}
	id := binary.BigEndian.Uint32(value[1:schemas.RegistryBytes])
	if a.newest != nil && id == a.last {
		return a.newest, value[schemas.RegistryBytes:], nil
	}
	p := a.plans[id]
	if p == nil {
		if _, ok := a.unknown[id]; ok {
			return nil, nil, a.d.fail(ClassUnknownSchema, "")
		}
		if _, ok := a.unfit[id]; ok {
			return nil, nil, a.d.fail(ClassUnfitSchema, "")
		}
		var err error
		if p, err = a.fetchPlan(id); err != nil {
			return nil, nil, err
		}
	}
	a.last, a.newest = id, p
	return p, value[schemas.RegistryBytes:], nil
}

// fetchPlan gets a schema from the registry and compiles it. A producer can name any registered
// schema, so a schema without the fields makes its records dead letters. The schema of an id never
// changes.
func (a *avroSource) fetchPlan(id uint32) (*avroPlan, error) {
	d := a.d
	text, err := d.schemas.Schema(d.ctx, id)
	switch {
	case errors.Is(err, ErrUnknownSchema):
		if len(a.unknown) >= maxUnknownSchemas {
			clear(a.unknown)
		}
		a.unknown[id] = struct{}{}
		return nil, d.fail(ClassUnknownSchema, "")
	case errors.Is(err, ErrUnfitSchema):
		return nil, a.failUnfit(id, err)
	case err != nil:
		return nil, fmt.Errorf("reading events of schema %d: %w", id, err)
	}
	p, err := d.planAvro(text)
	if err != nil {
		return nil, a.failUnfit(id, err)
	}
	a.plans[id] = p
	return p, nil
}

func (a *avroSource) failUnfit(id uint32, reason error) error {
	d := a.d
	a.unfit[id] = struct{}{}
	if d.onUnfit != nil {
		d.onUnfit(id, reason)
	}
	return d.fail(ClassUnfitSchema, "")
}

// find implements records. A record with bytes left over was written with another schema and is
// undecodable.
func (a *avroSource) find(record []byte) error {
	d := a.d
	p, body, err := a.planOf(record)
	if err != nil {
		return err
	}
	d.timed = false
	clear(d.raw)
	if !a.whole(p, body) {
		return d.fail(ClassUndecodable, "")
	}
	for i, field := range p.wanted[:fieldCount] {
		if field == nil {
			continue
		}
		if class := a.decodeField(i, field); class != "" && !d.lacksUser(i, class) {
			return d.fail(class, fieldNames[i])
		}
	}
	return nil
}

var avroOptions = []avro.Opt{avro.SkipUnknown(), avro.AliasInput()}

// whole decodes a record and reports whether it takes all of body.
func (a *avroSource) whole(p *avroPlan, body []byte) bool {
	a.plan = p
	p.record.SetZero() // else the library adds to the last record's values
	rest, err := p.schema.Decode(body, p.decoded, avroOptions...)
	return err == nil && len(rest) == 0
}

// held returns the value in pointers and interfaces; it is not valid if that is null.
func held(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// decodeField sets the bytes or the number of a field, or returns the class of its fault.
func (a *avroSource) decodeField(number int, field *avroField) (class string) {
	v := a.plan.record
	for i, s := range field.path {
		v = held(v)
		if !v.IsValid() {
			return a.d.nullAbove(number)
		}
		if v.Kind() == reflect.Struct {
			v = v.Field(field.index[i])
			continue
		}
		record, ok := v.Interface().(map[string]any)
		if !ok || s.item >= 0 {
			return ClassWrongType
		}
		part, ok := record[s.name]
		if !ok {
			return ClassMissingField
		}
		v = reflect.ValueOf(part)
	}
	v = held(v)
	ok := false
	switch {
	case !v.IsValid():
		return ClassNullField
	case number == fieldTime:
		ok = a.d.decodeAvroTime(v, a.plan.unit)
	case number == fieldValue:
		ok = a.d.decodeAvroValue(v)
	default:
		ok = a.d.decodeAvroText(v, number)
	}
	if !ok {
		return ClassWrongType
	}
	return ""
}

// decodeAvroValue reads a value. A float has the value of its shortest decimal text.
func (d *Decoder) decodeAvroValue(v reflect.Value) (ok bool) {
	switch {
	case v.CanInt():
		d.value, ok = inUnits(v.Int(), d.decimals)
	case v.CanFloat() && d.decimals > 0:
		text := strconv.AppendFloat(d.unquote[fieldValue][:0], v.Float(), 'e', -1, v.Type().Bits())
		d.unquote[fieldValue] = text
		d.value, ok = parseValue(text, d.decimals)
	}
	return ok
}

// decodeAvroText reads a user, a key, or a further part of a time.
func (d *Decoder) decodeAvroText(v reflect.Value, number int) bool {
	field, text := mainField(number), d.unquote[number][:0]
	switch {
	case v.Type() == reflect.TypeFor[string]():
		text = append(text, v.String()...)
	case v.Type() == reflect.TypeFor[avroSymbol]() && field == fieldKey:
		text = append(text, v.String()...)
	case v.CanInt() && field != fieldTime:
		text = strconv.AppendInt(text, v.Int(), 10)
	case v.Kind() == reflect.Bool && field == fieldKey:
		text = strconv.AppendBool(text, v.Bool())
	case v.Type() == reflect.TypeFor[[]byte]() && field == fieldUser:
		text = append(text, v.Bytes()...)
	case v.Type() == reflect.TypeFor[[16]byte]() && field == fieldUser:
		uuid := v.Interface().([16]byte) // the same user as by its text
		text = hex.AppendEncode(text, uuid[:])
		for _, dash := range [...]int{8, 13, 18, 23} {
			text = slices.Insert(text, dash, '-')
		}
	default:
		return false
	}
	d.unquote[number], d.raw[number] = text, text
	return true
}

// noTime represents a time out of range.
const noTime = math.MaxInt64

// decodeAvroTime reads a time: a text is parsed later, a number is converted now. Without a
// configured unit, only a long has one, by its logical type.
func (d *Decoder) decodeAvroTime(v reflect.Value, unit string) bool {
	texts := unit == "rfc3339" || unit == TimeText
	d.timed = !texts
	switch {
	case texts:
		return d.decodeAvroText(v, fieldTime)
	case v.Kind() == reflect.Int64, v.Kind() == reflect.Int32 && d.unit != "":
		d.millis = millisOf(v.Int(), unit)
	case v.Kind() == reflect.Float64 && d.unit != "":
		d.millis = millisOfFloat(v.Float(), unit)
	default:
		return false
	}
	return true
}

// millisOf returns v units in milliseconds, rounded down, or noTime far out of range.
func millisOf(v int64, unit string) int64 {
	switch unit {
	case "s":
		if v < minMillis || v > maxMillis {
			return noTime
		}
		return v * 1000
	case "us":
		return floorOf(v, 1e3)
	case "ns":
		return floorOf(v, 1e6)
	}
	return v
}

// floorOf returns ⌊v/n⌋ for n > 0.
func floorOf(v, n int64) int64 {
	if v%n < 0 {
		return v/n - 1
	}
	return v / n
}

// millisOfFloat rounds to the nearest microsecond, then down to milliseconds: the double nearest to
// 1700000000.123 s lies below it.
func millisOfFloat(v float64, unit string) int64 {
	switch unit {
	case "s":
		v *= 1e6
	case "ms":
		v *= 1e3
	case "ns":
		v /= 1e3
	}
	v = math.Round(v)
	if !(v >= minMillis*1000 && v <= maxMillis*1000+999) {
		return noTime
	}
	return millisOf(int64(v), "us")
}
