package avro

import (
	"encoding/binary"
	"math"
)

// Limits on the work that a record may cause. goavro has only the first of them, and allocates as
// much as a block's count claims.
const (
	maxBlockItems = math.MaxInt32 // items in one block
	maxEmptyItems = 1 << 16       // items without bytes in one record
	maxAvroDepth  = 1000          // nested records, unions, arrays and maps
)

// Reader reads Avro's binary encoding. Within the bounds above, it accepts the same records as
// goavro 2.15 (differential fuzzing compares the two), with two exceptions: it refuses integers
// that do not fit their type, which goavro truncates, and accepts maps with a key twice, which
// goavro refuses. Methods return false if the record is at fault; At has no meaning then. Not for
// concurrent use.
type Reader struct {
	Buf []byte // the record
	At  int    // number of its bytes that were read

	empty int64 // number of items without bytes that were read
}

// Open begins a record. The reader keeps b, and its results share memory with it.
func (r *Reader) Open(b []byte) { *r = Reader{Buf: b} }

// Long reads a zigzag integer of 64 bits.
func (r *Reader) Long() (int64, bool) {
	if r.At < len(r.Buf) && r.Buf[r.At] < 0x80 { // most integers are short
		c := int64(r.Buf[r.At])
		r.At++
		return c>>1 ^ -(c & 1), true
	}
	n, size := binary.Varint(r.Buf[r.At:])
	r.At += max(size, 0)
	return n, size > 0
}

// Integer reads a value of the kind Int or Long.
func (r *Reader) Integer(kind Kind) (int64, bool) {
	n, ok := r.Long()
	return n, ok && (kind == Long || n == int64(int32(n)))
}

// Bytes reads a length and that many bytes.
func (r *Reader) Bytes() ([]byte, bool) {
	n, ok := r.Long()
	if !ok || n < 0 || n > int64(len(r.Buf)-r.At) {
		return nil, false
	}
	start := r.At
	r.At += int(n)
	return r.Buf[start:r.At], true
}

// Jump passes over n bytes.
func (r *Reader) Jump(n int) bool {
	if n > len(r.Buf)-r.At {
		return false
	}
	r.At += n
	return true
}

// Index reads an integer from 0 to n−1.
func (r *Reader) Index(n int) (int, bool) {
	i, ok := r.Long()
	return int(i), ok && i >= 0 && i < int64(n)
}

// Skip passes over a value that is nested in depth other values.
func (r *Reader) Skip(t *Type, depth int) (ok bool) {
	switch t.Kind {
	case Null:
		return true
	case Boolean:
		return r.Jump(1) && r.Buf[r.At-1] <= 1
	case Int, Long:
		_, ok = r.Integer(t.Kind)
		return ok
	case Float:
		return r.Jump(4)
	case Double:
		return r.Jump(8)
	case Bytes, String:
		_, ok = r.Bytes()
		return ok
	case Fixed:
		return r.Jump(t.Size)
	case Enum:
		_, ok = r.Index(len(t.Symbols))
		return ok
	}
	if depth > maxAvroDepth {
		return false
	}
	switch t.Kind {
	case Union:
		i, ok := r.Index(len(t.Branches))
		return ok && r.Skip(t.Branches[i], depth+1)
	case Array, Map:
		return r.skipBlocks(t, depth+1)
	}
	for i := range t.Fields {
		if !r.Skip(t.Fields[i].Type, depth+1) {
			return false
		}
	}
	return true
}

// Block reads how many items follow; 0 ends the array or map.
func (r *Reader) Block() (n int64, ok bool) {
	if n, ok = r.Long(); ok && n < 0 {
		// The block's size in bytes follows; as in goavro, nothing relies on it.
		n = -n
		_, ok = r.Long()
	}
	return n, ok && n >= 0 && n <= maxBlockItems
}

func (r *Reader) skipBlocks(t *Type, depth int) bool {
	for {
		n, ok := r.Block()
		if !ok || n == 0 {
			return ok
		}
		if t.Kind == Array && t.Items.Empty {
			if r.empty += n; r.empty > maxEmptyItems {
				return false
			}
			continue
		}
		for range n {
			if t.Kind == Map {
				if _, ok := r.Bytes(); !ok {
					return false
				}
			}
			if !r.Skip(t.Items, depth) {
				return false
			}
		}
	}
}
