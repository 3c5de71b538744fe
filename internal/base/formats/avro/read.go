package avro

import (
	"bytes"
	"math"
)

// Bounds of what a record may make the reader do. goavro has only the first of these bounds, and
// allocates as much as a block's count says.
const (
	maxBlockItems = math.MaxInt32 // of one block
	maxEmptyItems = 1 << 16       // of one record, where items have no bytes
	maxAvroDepth  = 1000          // of records, unions, arrays and maps in each other
	keptMapKeys   = 1 << 12       // of the scratch that is kept
	fewMapKeys    = 16            // up to so many are compared with each other
	moreVarint    = 1 << 7        // this bit of a byte: the integer goes on
)

// Reader reads Avro's binary encoding. It accepts what goavro 2.15 accepts within the bounds above
// (differential fuzzing compares the two): integers of any length, whose bits beyond the type's are
// dropped; a byte other than 0 and 1 is not a boolean, and a map with the same key twice is at
// fault. Methods return false if the record is at fault; At has no meaning then. Not for concurrent
// use.
type Reader struct {
	Buf []byte // the record
	At  int    // how many of its bytes were read

	keys  [][]byte // of the maps that are being read
	empty int64    // how many items without bytes were read
}

// Long reads a zigzag integer.
func (r *Reader) Long() (int64, bool) {
	if r.At < len(r.Buf) && r.Buf[r.At] < moreVarint {
		c := uint64(r.Buf[r.At])
		r.At++
		return int64(c>>1) ^ -int64(c&1), true
	}
	return r.longLong()
}

func (r *Reader) longLong() (int64, bool) {
	var n uint64
	var shift uint
	for i := r.At; i < len(r.Buf); i++ {
		c := r.Buf[i]
		n |= uint64(c&0x7f) << shift
		if c < moreVarint {
			r.At = i + 1
			return int64(n>>1) ^ -int64(n&1), true
		}
		shift += 7
	}
	return 0, false
}

// Int reads an integer of 32 bits as goavro does: it drops the upper half of the zigzag after the
// shift.
func (r *Reader) Int() (int64, bool) {
	start := r.At
	if !r.skipVarint() {
		return 0, false
	}
	var n int64
	var shift uint
	for _, c := range r.Buf[start:r.At] {
		n |= int64(c&0x7f) << shift
		shift += 7
	}
	return int64(int32(n>>1) ^ -int32(n&1)), true
}

// Integer reads a value of the kind Int or Long.
func (r *Reader) Integer(kind Kind) (int64, bool) {
	if kind == Int {
		return r.Int()
	}
	return r.Long()
}

func (r *Reader) skipVarint() bool {
	for i := r.At; i < len(r.Buf); i++ {
		if r.Buf[i] < moreVarint {
			r.At = i + 1
			return true
		}
	}
	return false
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

// Skip passes over a value, which stands in depth other values.
func (r *Reader) Skip(t *Type, depth int) bool {
	switch t.Kind {
	case Null:
		return true
	case Boolean:
		return r.Jump(1) && r.Buf[r.At-1] <= 1
	case Int, Long:
		return r.skipVarint()
	case Float:
		return r.Jump(4)
	case Double:
		return r.Jump(8)
	case Bytes, String:
		_, ok := r.Bytes()
		return ok
	case Fixed:
		return r.Jump(t.Size)
	case Enum:
		_, ok := r.Index(len(t.Symbols))
		return ok
	}
	if depth > maxAvroDepth {
		return false
	}
	switch t.Kind {
	case Union:
		i, ok := r.Index(len(t.Branches))
		return ok && r.Skip(t.Branches[i], depth+1)
	case Array:
		return r.skipArray(t, depth+1)
	case Map:
		return r.skipMap(t, depth+1)
	}
	for i := range t.Fields {
		if !r.Skip(t.Fields[i].Type, depth+1) {
			return false
		}
	}
	return true
}

// Block reads how many items follow; 0 ends the array or map.
func (r *Reader) Block() (int64, bool) {
	n, ok := r.Long()
	if !ok || n == math.MinInt64 {
		return 0, false
	}
	if n < 0 {
		// The block's size in bytes follows; as in goavro, nothing relies on it.
		n = -n
		if !r.skipVarint() {
			return 0, false
		}
	}
	return n, n <= maxBlockItems
}

func (r *Reader) skipArray(t *Type, depth int) bool {
	for {
		n, ok := r.Block()
		if !ok {
			return false
		}
		if n == 0 {
			return true
		}
		if t.Items.Empty {
			if r.empty += n; r.empty > maxEmptyItems {
				return false
			}
			continue
		}
		for range n {
			if !r.Skip(t.Items, depth) {
				return false
			}
		}
	}
}

func (r *Reader) skipMap(t *Type, depth int) bool {
	first := len(r.keys)
	for {
		n, ok := r.Block()
		if !ok {
			return false
		}
		if n == 0 {
			break
		}
		for range n {
			key, ok := r.Bytes()
			if !ok || !r.Skip(t.Items, depth) {
				return false
			}
			r.keys = append(r.keys, key)
		}
	}
	ok := allDifferent(r.keys[first:])
	r.keys = r.keys[:first]
	return ok
}

func allDifferent(keys [][]byte) bool {
	if len(keys) <= fewMapKeys {
		for i, a := range keys {
			for _, b := range keys[:i] {
				if bytes.Equal(a, b) {
					return false
				}
			}
		}
		return true
	}
	seen := make(map[string]struct{}, len(keys))
	for _, k := range keys {
		seen[string(k)] = struct{}{}
	}
	return len(seen) == len(keys)
}

// Open begins a record. The reader keeps b, and what it returns shares memory with it.
func (r *Reader) Open(b []byte) {
	r.Buf, r.At, r.empty = b, 0, 0
	if cap(r.keys) > keptMapKeys {
		r.keys = nil
	}
	r.keys = r.keys[:0]
}
