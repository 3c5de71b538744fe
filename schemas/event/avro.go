package event

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/tollgate-dp/tollgate/internal/base/formats/avro"
	"github.com/tollgate-dp/tollgate/schemas"
)

// avroSource reads Avro records by their writer schemas.
type avroSource struct {
	d    *Decoder
	bare *avroNode // nil: records begin with a schema's id

	plans   map[uint32]*avroNode
	unknown map[uint32]struct{}
	unfit   map[uint32]struct{} // at most as many as the registry has schemas
	last    uint32              // schema id of the last record
	newest  *avroNode           // its plan

	r      avro.Reader
	class  [fieldCount]string // by missing field: the class of its fault
	values []avroSpan         // by field of the filters
	spans  avro.Reader        // reads values
}

// avroSpan is an encoded value.
type avroSpan struct {
	typ *avro.Type
	b   []byte
}

// maxUnknownSchemas limits the unknown ids that are remembered: broken records can have any id.
const maxUnknownSchemas = 1 << 14

// compileAvro compiles the local schema; without one it only checks the paths.
func compileAvro(d *Decoder, f *Format) (records, error) {
	a := &avroSource{d: d, values: make([]avroSpan, len(d.filter.Names())),
		plans: make(map[uint32]*avroNode), unknown: make(map[uint32]struct{}), unfit: make(map[uint32]struct{})}
	var err error
	if f.Schema == "" {
		_, err = d.paths()
	} else {
		a.bare, err = d.planAvro(f.Schema)
	}
	return a, err
}

// plan returns the plan of a record's schema, and the record without the schema's id.
func (a *avroSource) plan(value []byte) (*avroNode, []byte, error) {
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
func (a *avroSource) fetchPlan(id uint32) (*avroNode, error) {
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
	p, body, err := a.plan(record)
	if err != nil {
		return err
	}
	d.timed = false
	clear(d.raw)
	if !a.whole(p, body) {
		return d.fail(ClassUndecodable, "")
	}
	for i, class := range a.class {
		if class != "" && !d.lacksUser(i, class) {
			return d.fail(class, fieldNames[i])
		}
	}
	return nil
}

// whole reads a record and reports whether it takes all of body.
func (a *avroSource) whole(p *avroNode, body []byte) bool {
	a.r.Open(body)
	return a.project(&a.r, p, 0) && a.r.At == len(body)
}

// project reads a value that contains a field of the format.
func (a *avroSource) project(r *avro.Reader, n *avroNode, depth int) bool {
	start := r.At
	for _, l := range n.lost {
		a.class[l.number] = l.class
	}
	ok := true
	switch {
	case n.typ.Kind == avro.Union && n.members != nil:
		var i int
		if i, ok = r.Index(len(n.members)); ok {
			ok = a.project(r, n.members[i], depth+1)
		}
	case n.typ.Kind == avro.Record && n.members != nil:
		for i, m := range n.members {
			if m == nil {
				ok = r.Skip(n.typ.Fields[i].Type, depth+1)
			} else {
				ok = a.project(r, m, depth+1)
			}
			if !ok {
				return false
			}
		}
	case len(n.numbers) > 0:
		ok = a.decodeFields(r, n)
	default:
		ok = r.Skip(n.typ, depth)
	}
	if ok {
		for _, i := range n.filters {
			a.values[i] = avroSpan{n.typ, r.Buf[start:r.At]}
		}
	}
	return ok
}

// decodeFields reads a value that one or more fields of the format name.
func (a *avroSource) decodeFields(r *avro.Reader, n *avroNode) bool {
	start := r.At
	for _, number := range n.numbers {
		r.At = start
		a.class[number] = ""
		var ok bool
		switch number {
		case fieldTime:
			ok = a.d.decodeAvroTime(r, n)
		case fieldValue:
			a.class[number], ok = a.d.decodeAvroValue(r, n.typ.Kind)
		default:
			ok = a.d.decodeAvroText(r, n.typ, number)
		}
		if !ok {
			return false
		}
	}
	return true
}

// decodeAvroValue reads a value. A float has the value of its shortest decimal text.
func (d *Decoder) decodeAvroValue(r *avro.Reader, kind avro.Kind) (class string, ok bool) {
	fits := true
	switch kind {
	case avro.Int, avro.Long:
		var n int64
		if n, ok = r.Integer(kind); ok {
			d.value, fits = inUnits(n, d.decimals)
		}
	case avro.Float, avro.Double:
		size := 8
		if kind == avro.Float {
			size = 4
		}
		if ok = r.Jump(size); ok {
			d.value, fits = d.roundFloat(r.Buf[r.At-size : r.At])
		}
	}
	if !fits {
		return ClassWrongType, ok
	}
	return "", ok
}

// roundFloat rounds a float or a double.
func (d *Decoder) roundFloat(b []byte) (int64, bool) {
	v, bits := 0., 8*len(b)
	if bits == 32 {
		v = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	} else {
		v = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	d.unquote[fieldValue] = strconv.AppendFloat(d.unquote[fieldValue][:0], v, 'e', -1, bits)
	return parseValue(d.unquote[fieldValue], d.decimals)
}

// decodeAvroText reads a user or a key.
func (d *Decoder) decodeAvroText(r *avro.Reader, t *avro.Type, number int) (ok bool) {
	text := d.unquote[number][:0]
	switch t.Kind {
	case avro.String, avro.Bytes:
		d.raw[number], ok = r.Bytes()
		return ok
	case avro.Int, avro.Long:
		n, ok := r.Integer(t.Kind)
		text = strconv.AppendInt(text, n, 10)
		d.unquote[number], d.raw[number] = text, text
		return ok
	case avro.Boolean:
		if !r.Skip(t, 0) {
			return false
		}
		text = strconv.AppendBool(text, r.Buf[r.At-1] == 1)
		d.unquote[number], d.raw[number] = text, text
		return true
	case avro.Enum:
		i, ok := r.Index(len(t.Symbols))
		if ok {
			d.raw[number] = t.Symbols[i]
		}
		return ok
	}
	start := r.At
	if !r.Jump(t.Size) {
		return false
	}
	d.raw[number] = r.Buf[start:r.At]
	if t.Logical == "uuid" {
		text = appendUUID(text, d.raw[number])
		d.unquote[number], d.raw[number] = text, text
	}
	return true
}

// appendUUID appends the text form of a UUID of 16 bytes: a user is the same in either form.
func appendUUID(dst, b []byte) []byte {
	for i, part := range [...][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:16]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}

// noTime represents a time out of range.
const noTime = math.MaxInt64

// decodeAvroTime reads a time: a text is parsed later, a number is converted now.
func (d *Decoder) decodeAvroTime(r *avro.Reader, n *avroNode) (ok bool) {
	switch n.typ.Kind {
	case avro.String:
		d.timed = false
		d.raw[fieldTime], ok = r.Bytes()
		return ok
	case avro.Double:
		if !r.Jump(8) {
			return false
		}
		d.timed, d.millis = true, millisOfFloat(math.Float64frombits(binary.LittleEndian.Uint64(r.Buf[r.At-8:])),
			n.unit)
		return true
	}
	v, ok := r.Integer(n.typ.Kind)
	d.timed, d.millis = true, millisOf(v, n.unit)
	return ok
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
