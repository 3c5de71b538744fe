package eventfile

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// wrongValue is the kind of records with an unreadable value, and noValue of those without one.
var (
	wrongValue = event.Error{Class: event.ClassBadValue, Field: "value"}
	noValue    = event.Error{Class: event.ClassNoValue, Field: "value"}
)

// otherValues counts values by size, to detect whether too many values, or too many large values,
// are unreadable.
type otherValues struct {
	decoder *event.Decoder                // decoder with the other decimal sign; nil if the format has no values
	sizes   [65]struct{ all, bad uint64 } // numbers of values, by size
	commas  uint64                        // unreadable values with a decimal comma
}

func newOtherValues(format event.Format) *otherValues {
	o := &otherValues{}
	if format.Value == "" {
		return o
	}
	format.Decimals = event.MaxDecimals
	format.DecimalComma = !format.DecimalComma
	o.decoder, _ = event.NewDecoder(format) // an invalid format is refused elsewhere
	return o
}

// size returns the number of binary digits of a value.
func size(v int64) int { return bits.Len64(uint64(max(v, -v))) }

// try counts a record whose value could not be read. The digits of the text determine the size. A
// text with more digits than any value has counts as size 0.
func (o *otherValues) try(record []byte) {
	var digits int64
	if d := o.decoder; d != nil {
		var e event.Event
		if d.Decode(record, &e) == nil && bytes.IndexByte(d.ValueText(), ',') >= 0 {
			o.commas++
		}
		for _, c := range d.ValueText() {
			if c >= '0' && c <= '9' {
				digits = min(digits*10+int64(c-'0'), mostDigits)
			}
		}
		if digits == mostDigits {
			digits = 0
		}
	}
	o.sizes[size(digits)].all++
	o.sizes[size(digits)].bad++
}

const (
	mostDigits = 1e17 // larger than any value
	greatest   = 10   // one in ten values is among the greatest
	mostBad    = 50   // one in fifty of all values, and of the greatest, may be unreadable
)

// tooMany reports whether so many values are unreadable that the readable ones are not
// representative. otherBroken is the number of records that are broken in other ways and may have a
// value.
func (o *otherValues) tooMany(otherBroken uint64) bool {
	var total, all, bad uint64
	for _, s := range o.sizes {
		total += s.all
	}
	few := true
	for _, s := range slices.Backward(o.sizes[:]) {
		before := all
		if all, bad = all+s.all, bad+s.bad; greatest*before < total {
			few = mostBad*bad <= all
		}
	}
	return !few || mostBad*bad > total+otherBroken
}
