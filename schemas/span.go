package schemas

import "encoding/binary"

// MaxSpan is the greatest number of turns in a span: consecutive turns that are closed, opened,
// released and settled together. A record of a span names its first and its last turn; an ordinary
// turn is a span of one. In a value that is to be encoded, First = 0 means First = Turn.
const MaxSpan = 16

// span returns the number of turns of a span before its last one.
func span(first, turn uint64) uint64 {
	if first == 0 {
		return 0
	}
	return turn - first
}

func checkSpan(first, turn uint64) string {
	if first > turn || span(first, turn) >= MaxSpan {
		return "span with its first turn after its last, or of too many turns"
	}
	return ""
}

// appendSpan ends the encoding of every record of a span.
func appendSpan(dst []byte, first, turn uint64) []byte {
	return binary.AppendUvarint(dst, span(first, turn))
}

// span is the inverse of appendSpan. Callers go through the turns of a span one by one, so it
// bounds their number.
func (d *wireDecoder) span(turn uint64) (first uint64) {
	before := d.uvarint("span")
	if before > 0 && (before >= MaxSpan || before >= turn) {
		d.fail("span of too many turns")
		return 0
	}
	return turn - before
}
