package schemas

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

// span ends the encoding of every record of a span. Callers go through the turns of a span one by
// one, so it bounds their number.
func (w *wire) span(first *uint64, turn uint64) {
	before := span(*first, turn)
	w.uint(&before, "span")
	if before >= MaxSpan || *first > turn || w.reading && before > 0 && before >= turn {
		w.fail("span with its first turn after its last, or of too many turns")
	} else if w.reading {
		*first = turn - before
	}
}
