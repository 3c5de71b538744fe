package schemas

import "encoding/binary"

// MaxJoint is the greatest number of turns in a joint: consecutive turns that are closed, opened, released and settled
// together. A record of a joint names its first and its last turn; an ordinary turn is a joint of one. Where a record is
// given to be encoded, First may be left 0 for Turn.
const MaxJoint = 16

// joint is the number of turns before the last one.
func joint(first, turn uint64) uint64 {
	if first == 0 {
		return 0
	}
	return turn - first
}

func checkJoint(first, turn uint64) string {
	if first > turn || joint(first, turn) >= MaxJoint {
		return "first turn behind the last, or too many turns"
	}
	return ""
}

// appendJoint ends the encoding of every record of a joint.
func appendJoint(dst []byte, first, turn uint64) []byte {
	return binary.AppendUvarint(dst, joint(first, turn))
}

// joint is the inverse of appendJoint. Readers go through the turns of a joint one by one: their number is bounded here.
func (r *reader) joint(turn uint64) (first uint64) {
	before := r.uvarint("joint")
	if before > 0 && (before >= MaxJoint || before >= turn) {
		r.fail("joint")
		return 0
	}
	return turn - before
}
