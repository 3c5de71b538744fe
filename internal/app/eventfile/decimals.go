package eventfile

import (
	"math"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// wrongValue is the kind of records whose value the format does not accept.
var wrongValue = event.Error{Class: event.ClassWrongType, Field: "value"}

// otherDecimals counts which records with a wrong value have a value with decimals.
type otherDecimals struct {
	decoder *event.Decoder // nil where the format has decimals, or no values
	tried   int
	places  [event.MaxDecimals + 1]int // records, by how many decimals they have
}

func newOtherDecimals(format event.Format) *otherDecimals {
	o := &otherDecimals{}
	if format.Value != "" && format.Decimals == 0 {
		format.Decimals = event.MaxDecimals
		o.decoder, _ = event.NewDecoder(format) // where that fails, the format itself is refused elsewhere
	}
	return o
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
