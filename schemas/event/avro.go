package event

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"github.com/twmb/avro"

	"github.com/tollgate-dp/tollgate/schemas"
)

// avroSource reads Avro records by their writer schemas.
type avroSource struct {
	d    *Decoder
	bare *avroPlan // nil: records begin with a schema's id

	plans map[uint32]*avroPlan // by schema id
	last  uint32               // schema id of plan
	plan  *avroPlan            // of the last record whose schema fits; nil before the first
}

// Plans of schemas by which no record can be read.
var (
	unknownPlan = &avroPlan{fault: ClassUnknownSchema}
	unfitPlan   = &avroPlan{fault: ClassUnfitSchema}
)

// maxUnknownSchemas limits the unknown ids that are remembered: broken records can have any id.
const maxUnknownSchemas = 1 << 14

// compileAvro compiles the local schema; without one it only checks the paths.
func compileAvro(d *Decoder, f *Format) (records, error) {
	a := &avroSource{d: d, plans: make(map[uint32]*avroPlan)}
	var err error
	if f.Schema == "" {
		_, err = d.paths()
	} else {
		a.bare, err = d.planAvro(f.Schema)
		a.plan = a.bare
	}
	return a, err
}

// body sets the plan of a record's schema, and returns the record without the schema's id.
func (a *avroSource) body(value []byte) ([]byte, error) {
	if a.bare != nil {
		return value, nil
	}
	if len(value) < schemas.RegistryBytes || value[0] != 0 {
		return nil, a.d.fail(ClassUndecodable, "")
	}
	id, body := binary.BigEndian.Uint32(value[1:]), value[schemas.RegistryBytes:]
	if a.plan == nil || id != a.last {
		p, err := a.planOf(id)
		if err != nil {
			return nil, err
		}
		a.last, a.plan = id, p
	}
	return body, nil
}

// planOf returns the plan of a schema in the registry. A producer can name any registered schema,
// so a schema without the fields makes its records dead letters. The schema of an id never changes.
func (a *avroSource) planOf(id uint32) (*avroPlan, error) {
	d, p := a.d, a.plans[id]
	if p == nil {
		text, err := d.schemas.Schema(d.ctx, id)
		if err == nil {
			p, err = d.planAvro(text)
		}
		var bad *FormatError
		switch {
		case errors.Is(err, ErrUnknownSchema):
			if p = unknownPlan; len(a.plans) >= maxUnknownSchemas {
				maps.DeleteFunc(a.plans, func(_ uint32, p *avroPlan) bool { return p == unknownPlan })
			}
		case errors.Is(err, ErrUnfitSchema), errors.As(err, &bad):
			p = unfitPlan
			d.onUnfit(id, err)
		case err != nil:
			return nil, fmt.Errorf("reading events of schema %d: %w", id, err)
		}
		a.plans[id] = p
	}
	if p.fault != "" {
		return nil, d.fail(p.fault, "")
	}
	return p, nil
}

// find implements records. A record with bytes left over was written with another schema and is
// undecodable.
func (a *avroSource) find(record []byte) error {
	d := a.d
	body, err := a.body(record)
	if err != nil {
		return err
	}
	if !a.plan.whole(body) {
		return d.fail(ClassUndecodable, "")
	}
	d.timed = false
	d.raw[fieldUser] = nil // only a user may be missing
	for i, field := range a.plan.wanted[:fieldCount] {
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
func (p *avroPlan) whole(body []byte) bool {
	for _, s := range p.slots {
		s.place.Set(s.fresh)
	}
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
	if text := field.text; text != nil {
		// The text shares the record's memory. Nothing writes to it before the next call.
		a.d.raw[number] = unsafe.Slice(unsafe.StringData(*text), len(*text))
		return ""
	}
	if n := field.number; n != nil && number == fieldTime {
		a.d.timed, a.d.millis = true, millisOf(*n, a.plan.unit)
		return ""
	}
	for _, record := range field.above {
		if record.IsNil() {
			return a.d.nullAbove(number)
		}
	}
	v := field.place
	for _, s := range field.path[len(field.index):] {
		v = held(v)
		if !v.IsValid() {
			return a.d.nullAbove(number)
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
	case v.Kind() == reflect.String && (field == fieldKey || v.Type() == reflect.TypeFor[string]()):
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
