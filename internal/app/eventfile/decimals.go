package eventfile

import (
	"math"
	"math/bits"
	"regexp"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// wrongValue and noValue are the kinds of records whose value the format does not accept, and that
// have none.
var (
	wrongValue = event.Error{Class: event.ClassBadValue, Field: "value"}
	noValue    = event.Error{Class: event.ClassNoValue, Field: "value"}
)

// otherValues counts how records with a wrong value can be read, and how large values are.
type otherValues struct {
	same, other otherDecimals // with the decimal sign of the format, and with the other one
	sizes       [65]struct{ all, bad uint64 }
	single      bool // a value is not as grouped
}

// grouped is a number that may have thousands or three decimals, such as 1.234.
var grouped = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}[.,]\d{3}$`)

func newOtherValues(format event.Format) *otherValues {
	o := &otherValues{}
	if format.Value == "" {
		return o
	}
	places := format.Decimals
	format.Decimals = event.MaxDecimals
	// Where the format has no such decoder, it is not tried; a wrong format is refused elsewhere.
	if places == 0 {
		o.same.decoder, _ = event.NewDecoder(format)
	}
	format.DecimalComma = !format.DecimalComma
	o.other.decoder, _ = event.NewDecoder(format)
	return o
}

// size returns the binary digits of a value.
func size(v int64) int { return bits.Len64(uint64(max(v, -v))) }

// try reads a record whose value could not be read. Of a value that is no number, its digits are
// the size, unless they are too many for any value.
func (o *otherValues) try(record []byte) {
	o.same.try(record)
	o.other.try(record)
	var digits int64
	if d := o.other.decoder; d != nil {
		var e event.Event
		d.Decode(record, &e) //nolint:errcheck // the text is enough
		text := d.ValueText()
		o.single = o.single || !grouped.Match(text)
		for _, c := range text {
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

// Of all values and of the greatest tenth, one in mostBad may be unreadable.
const (
	greatest = 10
	mostBad  = 50
)

// tooMany says whether the values that were read are no sample of all. otherwise is how many
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

// otherDecimals counts which records with a wrong value have a value with decimals.
type otherDecimals struct {
	decoder *event.Decoder // nil: none is tried
	tried   int
	places  [event.MaxDecimals + 1]int // records, by how many decimals they have
}

// try reads a record whose value could not be read.
func (o *otherDecimals) try(record []byte) {
	if o.decoder == nil || o.tried == mostTried {
		return
	}
	o.tried++
	var e event.Event
	if o.decoder.Decode(record, &e) != nil {
		return
	}
	places := event.MaxDecimals
	for v := e.Value; places > 0 && v%10 == 0; v /= 10 {
		places--
	}
	o.places[places]++
}

// mostPlaces is how many decimals are proposed at most: values that were computed have many, and
// few of them mean something.
const mostPlaces = 3

// best returns how many decimals read most of these records as they are; 0 where most are no
// numbers.
func (o *otherDecimals) best() int {
	read := 0
	for _, n := range o.places {
		read += n
	}
	if 2*read <= o.tried {
		return 0
	}
	enough := int(math.Ceil(0.95 * float64(read)))
	for places, n := range o.places[:mostPlaces] {
		if enough -= n; enough <= 0 {
			return max(places, 1)
		}
	}
	return mostPlaces
}
