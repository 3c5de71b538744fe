package demo

import (
	"errors"
	"slices"

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

// fieldsOf returns the names of fields: the columns, or the members that all sampled JSON objects
// have; nil where they are not known. Names that only some objects have, or a single one, may be
// data, like a user's id that is the name of a member.
func fieldsOf(format event.Format, records [][]byte) []string {
	names, objects := format.Columns, 0
	if members := event.EncodingOf(format.Format).Members; members != nil {
		for _, value := range records {
			of := members(value)
			if of == nil {
				continue
			}
			if objects++; objects == 1 {
				names = of
			}
			names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(of, name) })
		}
		if objects == 1 {
			return nil
		}
		slices.Sort(names)
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
