package eventfile

import (
	"math/bits"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// wrongValue and noValue are the kinds of records whose value the format does not accept, and that
// have none.
var (
	wrongValue = event.Error{Class: event.ClassBadValue, Field: "value"}
	noValue    = event.Error{Class: event.ClassNoValue, Field: "value"}
)

// otherValues counts how large the values of records are.
type otherValues struct {
	decoder *event.Decoder // numbers of wrong values; nil if the format has no values
	sizes   [65]struct{ all, bad uint64 }
}

func newOtherValues(format event.Format) *otherValues {
	o := &otherValues{}
	if format.Value == "" {
		return o
	}
	format.Decimals = event.MaxDecimals
	format.DecimalComma = !format.DecimalComma
	o.decoder, _ = event.NewDecoder(format) // a wrong format is refused elsewhere
	return o
}

// size returns the binary digits of a value.
func size(v int64) int { return bits.Len64(uint64(max(v, -v))) }

// try reads a record whose value could not be read. Of a value that is no number, its digits are
// the size, unless they are too many for any value.
func (o *otherValues) try(record []byte) {
	var digits int64
	if d := o.decoder; d != nil {
		var e event.Event
		d.Decode(record, &e) //nolint:errcheck // the text is enough
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

const mostDigits = 1e17

// One in mostBad of all values, and of the greatest tenth, may be unreadable.
const (
	greatest = 10
	mostBad  = 50
)

// tooMany reports whether the readable values are not a sample of all. otherwise is how many
// records are broken in other ways, and may have a value.
func (o *otherValues) tooMany(otherwise uint64) bool {
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
	return !few || mostBad*bad > total+otherwise
}
