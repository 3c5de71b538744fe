package event

import (
	"bytes"
	"math"
)

// What a record may make the decoder do. goavro has none of these bounds but the first, and allocates what a block's
// count says.
const (
	maxBlockItems = math.MaxInt32 // of one block
	maxEmptyItems = 1 << 16       // of one record, where items have no bytes
	maxAvroDepth  = 1000          // of records, unions, arrays and maps in each other
	keptMapKeys   = 1 << 12       // scratch that is kept
	fewMapKeys    = 16            // are compared with each other
	moreVarint    = 1 << 7        // this bit of a byte: more of the integer follows
)

// avroReader reads Avro's binary encoding. It accepts what goavro 2.15 accepts within the bounds above (differential
// fuzzing compares the two): integers of any length, whose bits beyond the type's are dropped; a byte other than 0 and 1
// is no boolean, and a key that a map has twice is a fault.
type avroReader struct {
	b     []byte
	at    int
	keys  [][]byte // of the maps that are being read
	empty int64    // items without bytes so far
}

// long reads a zigzag integer.
func (r *avroReader) long() (int64, bool) {
	if r.at < len(r.b) && r.b[r.at] < moreVarint {
		c := uint64(r.b[r.at])
		r.at++
		return int64(c>>1) ^ -int64(c&1), true
	}
	return r.longLong()
}

func (r *avroReader) longLong() (int64, bool) {
	var n uint64
	var shift uint
	for i := r.at; i < len(r.b); i++ {
		c := r.b[i]
		n |= uint64(c&0x7f) << shift
		if c < moreVarint {
			r.at = i + 1
			return int64(n>>1) ^ -int64(n&1), true
		}
		shift += 7
	}
	return 0, false
}

// int reads an integer of 32 bits as goavro does: the upper half of the zigzag is dropped behind the shift.
func (r *avroReader) int() (int64, bool) {
	start := r.at
	if !r.skipVarint() {
		return 0, false
	}
	var n int64
	var shift uint
	for _, c := range r.b[start:r.at] {
		n |= int64(c&0x7f) << shift
		shift += 7
	}
	return int64(int32(n>>1) ^ -int32(n&1)), true
}

func (r *avroReader) skipVarint() bool {
	for i := r.at; i < len(r.b); i++ {
		if r.b[i] < moreVarint {
			r.at = i + 1
			return true
		}
	}
	return false
}

// bytes reads a length and as many bytes.
func (r *avroReader) bytes() ([]byte, bool) {
	n, ok := r.long()
	if !ok || n < 0 || n > int64(len(r.b)-r.at) {
		return nil, false
	}
	start := r.at
	r.at += int(n)
	return r.b[start:r.at], true
}

func (r *avroReader) jump(n int) bool {
	if n > len(r.b)-r.at {
		return false
	}
	r.at += n
	return true
}

// index reads an integer from 0 to n−1.
func (r *avroReader) index(n int) (int, bool) {
	i, ok := r.long()
	return int(i), ok && i >= 0 && i < int64(n)
}

// skip passes over a value. depth is how many values it stands in.
func (r *avroReader) skip(t *avroType, depth int) bool {
	switch t.kind {
	case avroNull:
		return true
	case avroBoolean:
		return r.jump(1) && r.b[r.at-1] <= 1
	case avroInt, avroLong:
		return r.skipVarint()
	case avroFloat:
		return r.jump(4)
	case avroDouble:
		return r.jump(8)
	case avroBytes, avroString:
		_, ok := r.bytes()
		return ok
	case avroFixed:
		return r.jump(t.size)
	case avroEnum:
		_, ok := r.index(len(t.symbols))
		return ok
	}
	if depth > maxAvroDepth {
		return false
	}
	switch t.kind {
	case avroUnion:
		i, ok := r.index(len(t.branches))
		return ok && r.skip(t.branches[i], depth+1)
	case avroArray:
		return r.skipArray(t, depth+1)
	case avroMap:
		return r.skipMap(t, depth+1)
	}
	for i := range t.fields {
		if !r.skip(t.fields[i].typ, depth+1) {
			return false
		}
	}
	return true
}

// block reads how many items follow; 0 ends the array or map.
func (r *avroReader) block() (int64, bool) {
	n, ok := r.long()
	if !ok || n == math.MinInt64 {
		return 0, false
	}
	if n < 0 {
		// The block's size in bytes follows; like goavro, nobody relies on it.
		n = -n
		if !r.skipVarint() {
			return 0, false
		}
	}
	return n, n <= maxBlockItems
}

func (r *avroReader) skipArray(t *avroType, depth int) bool {
	for {
		n, ok := r.block()
		if !ok {
			return false
		}
		if n == 0 {
			return true
		}
		if t.items.empty {
			if r.empty += n; r.empty > maxEmptyItems {
				return false
			}
			continue
		}
		for range n {
			if !r.skip(t.items, depth) {
				return false
			}
		}
	}
}

func (r *avroReader) skipMap(t *avroType, depth int) bool {
	first := len(r.keys)
	for {
		n, ok := r.block()
		if !ok {
			return false
		}
		if n == 0 {
			break
		}
		for range n {
			key, ok := r.bytes()
			if !ok || !r.skip(t.items, depth) {
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

// open begins a record.
func (r *avroReader) open(b []byte) {
	r.b, r.at, r.empty = b, 0, 0
	if cap(r.keys) > keptMapKeys {
		r.keys = nil
	}
	r.keys = r.keys[:0]
}
