package schemas

import "encoding/binary"

// MaxSpan is the greatest number of turns in a span: consecutive turns that are closed, opened, released and settled
// together. A record of a span names its first and its last turn; an ordinary turn is a span of one. Where a record is
// given to be encoded, First may be left 0 for Turn.
const MaxSpan = 16

// span is the number of turns before the last one.
func span(first, turn uint64) uint64 {
	if first == 0 {
		return 0
	}
	return turn - first
}

func checkSpan(first, turn uint64) string {
	if first > turn || span(first, turn) >= MaxSpan {
		return "first turn behind the last, or too many turns"
	}
	return ""
}

// appendSpan ends the encoding of every record of a span.
func appendSpan(dst []byte, first, turn uint64) []byte {
	return binary.AppendUvarint(dst, span(first, turn))
}

// span is the inverse of appendSpan. Readers go through the turns of a span one by one: their number is bounded here.
func (d *wireDecoder) span(turn uint64) (first uint64) {
	before := d.uvarint("span")
	if before > 0 && (before >= MaxSpan || before >= turn) {
		d.fail("span")
		return 0
	}
	return turn - before
}
