package eventfile

import (
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// mostTried is how many records with an unreadable time are tried with other layouts.
const mostTried = 1000

// otherLayouts counts how many records each of some other layouts of times reads.
type otherLayouts struct {
	names    []string
	decoders []*event.Decoder
	reads    []int
	tried    int
}

// newOtherLayouts returns the layouts with which a user may confuse that of a format: the given one
// with day and month exchanged, or else dates in digits in both orders.
func newOtherLayouts(format event.Format) *otherLayouts {
	o := &otherLayouts{}
	if format.TimeUnit != event.TimeText {
		return o
	}
	names := []string{strings.NewReplacer("%%", "%%", "%d", "%m", "%m", "%d").Replace(format.TimeLayout)}
	if format.TimeLayout == "" {
		names = nil
		for _, date := range []string{"%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%m.%d.%Y"} {
			for _, clock := range []string{"", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"} {
				names = append(names, date+clock)
			}
		}
	}
	for _, name := range names {
		format.TimeLayout = name
		if d, err := event.NewDecoder(format); err == nil {
			o.names, o.decoders = append(o.names, name), append(o.decoders, d)
		}
	}
	o.reads = make([]int, len(o.names))
	return o
}

// try reads a record whose time could not be read.
func (o *otherLayouts) try(record []byte) {
	if o.tried == mostTried {
		return
	}
	o.tried++
	var e event.Event
	for i, d := range o.decoders {
		if d.Decode(record, &e) == nil {
			o.reads[i]++
		}
	}
}

// best returns the layouts that read the most records, if these are more than half.
func (o *otherLayouts) best() (names []string) {
	for i, n := range o.reads {
		if 2*n > o.tried && n == slices.Max(o.reads) {
			names = append(names, o.names[i])
		}
	}
	return names
}
