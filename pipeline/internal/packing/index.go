package packing

// index finds positions by a hash. It uses open addressing and linear probing in slots without
// pointers. A slot consists of a tag, which is the lower half of the hash, and a position plus one;
// 0 is a free slot. Positions are below 2^32−1. The caller compares the values at the positions.
type index struct {
	slots []uint64 // their number is a power of two; at most three quarters are used
	count int
}

const leastSlots = 16

// find returns the position that has the given tag and for which same returns true.
func (x *index) find(tag uint32, same func(position uint32) bool) (position uint32, found bool) {
	if len(x.slots) == 0 {
		return 0, false
	}
	mask := uint32(len(x.slots) - 1)
	for slot := tag & mask; x.slots[slot] != 0; slot = (slot + 1) & mask {
		if s := x.slots[slot]; uint32(s>>32) == tag && same(uint32(s)-1) {
			return uint32(s) - 1, true
		}
	}
	return 0, false
}

// put adds a new position.
func (x *index) put(tag, position uint32) {
	if 4*(x.count+1) > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]uint64, max(leastSlots, 2*len(old)))
		for _, s := range old {
			if s != 0 {
				x.slots[x.freeSlot(uint32(s>>32))] = s
			}
		}
	}
	x.slots[x.freeSlot(tag)] = uint64(tag)<<32 | uint64(position+1)
	x.count++
}

// freeSlot returns the free slot for a new tag. The first slot to try depends only on the tag, so
// growing the index needs no hashes.
func (x *index) freeSlot(tag uint32) uint32 {
	mask := uint32(len(x.slots) - 1)
	slot := tag & mask
	for x.slots[slot] != 0 {
		slot = (slot + 1) & mask
	}
	return slot
}

// remove deletes an existing position. It moves later slots up, so that no search ends early.
func (x *index) remove(tag, position uint32) {
	mask := uint32(len(x.slots) - 1)
	slot := tag & mask
	for x.slots[slot] != uint64(tag)<<32|uint64(position+1) {
		slot = (slot + 1) & mask
	}
	for next := (slot + 1) & mask; x.slots[next] != 0; next = (next + 1) & mask {
		home := uint32(x.slots[next]>>32) & mask
		if (next-home)&mask >= (next-slot)&mask {
			x.slots[slot] = x.slots[next]
			slot = next
		}
	}
	x.slots[slot] = 0
	x.count--
}

// reset empties the index. It keeps the slots unless only a few of them were used.
func (x *index) reset() {
	if len(x.slots) > leastSlots && 8*x.count < len(x.slots) {
		x.slots = nil
	}
	clear(x.slots)
	x.count = 0
}
