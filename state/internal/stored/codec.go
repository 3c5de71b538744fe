package stored

import (
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/state/internal/fixed"
)

// Codec is what a layout names the fields of a value to, in the order of the format. It writes
// them, or it reads them. After a failure it does nothing.
type Codec struct {
	Parameters Fields // fixed when a value is made
	Progress   Fields // what has happened to it since

	reading    bool
	data       []byte // still to be read
	out        []byte // was written
	parameters []byte // that part of out
	used       bool   // a byte of progress is not 0
	err        error
}

func newCodec(reading bool) *Codec {
	c := &Codec{reading: reading}
	c.Parameters, c.Progress = Fields{c: c}, Fields{c: c, progress: true}
	return c
}

// Reading says whether fields are read, not written.
func (c *Codec) Reading() bool { return c.reading }

// Failed says whether a field or a check has failed: what was read means nothing then.
func (c *Codec) Failed() bool { return c.err != nil }

// Fail ends reading or writing with err, unless that is nil.
func (c *Codec) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Check ends reading or writing unless ok.
func (c *Codec) Check(ok bool, reason string) {
	if !ok {
		c.Fail(errors.New(reason))
	}
}

// Where adds to the failure, if there is one, where it is.
func (c *Codec) Where(is string) {
	if c.err != nil {
		c.err = fmt.Errorf("%s: %w", is, c.err)
	}
}

// Meter moves a limit as a parameter, and what is taken, and reserved where the type has
// reservations, as progress.
func (c *Codec) Meter(m *fixed.Meter, reserves bool) {
	limit, taken, reserved := m.Limit(), m.Taken(), m.Reserved()
	c.Parameters.Amount(&limit)
	c.Progress.Amount(&taken)
	if reserves {
		c.Progress.Amount(&reserved)
	}
	if c.reading {
		var ok bool
		*m, ok = fixed.ResumeMeter(limit, taken, reserved)
		c.Check(ok, "more is spent and reserved than the budget has")
	}
}

// Fields moves fields of one kind.
type Fields struct {
	c        *Codec
	progress bool
}

var errCut = errors.New("it is cut")

// raw writes b, or fills it.
func (f Fields) raw(b []byte) {
	c := f.c
	switch {
	case c.err != nil:
	case c.reading && len(c.data) < len(b):
		c.err = errCut
	case c.reading:
		c.data = c.data[copy(b, c.data):]
	default:
		c.out = append(c.out, b...)
		if !f.progress {
			c.parameters = append(c.parameters, b...)
			return
		}
		for _, v := range b {
			c.used = c.used || v != 0
		}
	}
}

// Uint moves an integer, in 8 bytes.
func (f Fields) Uint(v *uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], *v)
	f.raw(b[:])
	*v = binary.BigEndian.Uint64(b[:])
}

// Count moves an integer of 32 bits, in 4 bytes.
func (f Fields) Count(v *uint32) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], *v)
	f.raw(b[:])
	*v = binary.BigEndian.Uint32(b[:])
}

// Float moves the bits of a float64.
func (f Fields) Float(v *float64) {
	bits := math.Float64bits(*v)
	f.Uint(&bits)
	*v = math.Float64frombits(bits)
}

// Flag moves a byte, 0 or 1.
func (f Fields) Flag(v *bool) {
	var b [1]byte
	if *v {
		b[0] = 1
	}
	f.raw(b[:])
	f.c.Check(b[0] <= 1, "a flag is neither 0 nor 1")
	*v = b[0] == 1
}

// Amount moves a sum, in fixed.Size bytes.
func (f Fields) Amount(v *fixed.Amount) {
	b := v.Bytes()
	f.raw(b[:])
	*v = fixed.FromBytes(b)
}

// Length moves the length of a list whose elements take least bytes each, at least 1, as a Count.
// It is never more than the bytes that are there can hold: 0 after a failure.
func (f Fields) Length(n *int, least int) {
	if *n > math.MaxUint32 {
		f.c.Fail(fmt.Errorf("a list has more than %d elements", uint32(math.MaxUint32)))
	}
	length := uint32(*n)
	f.Count(&length)
	if f.c.reading && uint64(length)*uint64(least) > uint64(len(f.c.data)) {
		f.c.Fail(errCut)
	}
	if *n = int(length); f.c.err != nil {
		*n = 0
	}
}

// Bytes moves a length and so many bytes, a fresh slice where they are read.
func (f Fields) Bytes(v *[]byte) {
	n := len(*v)
	f.Length(&n, 1)
	if f.c.reading {
		*v = make([]byte, n)
	}
	if f.c.err == nil {
		f.raw(*v)
	}
}

// Value moves the Bytes of something that has a state of its own. Where it is read into v, v is
// changed although something else may fail later.
func (f Fields) Value(v any) {
	var b []byte
	if f.c.err == nil && !f.c.reading {
		b = f.c.State(v)
	}
	f.Bytes(&b)
	if f.c.err != nil || !f.c.reading {
		return
	}
	into, ok := v.(encoding.BinaryUnmarshaler)
	if !ok {
		f.c.Fail(fmt.Errorf("a %T cannot be read back: it has no UnmarshalBinary", v))
		return
	}
	f.c.Fail(into.UnmarshalBinary(b))
}

// State returns the state of v, for a Codec that writes and for a comparison.
func (c *Codec) State(v any) []byte {
	from, ok := v.(encoding.BinaryMarshaler)
	if !ok {
		c.Fail(fmt.Errorf("a %T cannot be stored: it has no MarshalBinary", v))
		return nil
	}
	b, err := from.MarshalBinary()
	c.Fail(err)
	return b
}
