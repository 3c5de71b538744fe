package demo

import (
	"errors"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/eventfile"
	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

const (
	sampled   = 2000 // records in which other fields are looked for
	maxFields = 32   // fields that are looked at
)

var errSampled = errors.New("enough records")

// sample returns records of the source.
func sample(source Source) ([][]byte, error) {
	var out [][]byte
	err := source.Each(func(m kafkalog.Message) error {
		out = append(out, slices.Clone(m.Value))
		if len(out) == sampled {
			return errSampled
		}
		return nil
	})
	if errors.Is(err, errSampled) {
		err = nil
	}
	return out, err
}

// fieldsOf returns the names of fields: the columns, or the members of the sampled JSON objects, as
// in eventfile.CommonFields; nil where they are not known. Those of a single object may be data.
func fieldsOf(format event.Format, records [][]byte) []string {
	names, objects, having := format.Columns, 0, map[string]int{}
	if members := event.EncodingOf(format.Format).Members; members != nil {
		for _, value := range records {
			of := members(value)
			for _, name := range of {
				having[name]++
			}
			if of != nil {
				objects++
			}
		}
		if objects == 1 {
			return nil
		}
		names = eventfile.CommonFields(having, objects)
	}
	return names[:min(len(names), maxFields)]
}

// timeFields returns how other fields read as times, of those that do in more than half of the
// sampled records.
func timeFields(format event.Format, names []string, records [][]byte) []*reading {
	var out []*reading
	var ev event.Event
	for _, name := range names {
		if slices.Contains(format.FieldsOf("time"), name) {
			continue
		}
		for _, unit := range units {
			r := newReading(format, name, unit)
			if r == nil {
				continue
			}
			for _, value := range records {
				r.read(value, &ev) //nolint:errcheck // what cannot be read so counts for nothing
			}
			if 2*r.recent.n > uint64(len(records)) {
				out = append(out, r)
			}
		}
	}
	return out
}
