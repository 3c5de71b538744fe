package demo

import (
	"errors"
	"strings"
	"time"

	"github.com/tollgate-dp/tollgate/internal/kafka/kafkalog"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// A time of these days that is read in the wrong unit lies in 1970, or beyond the year 9999. Times
// from 1971 to 2039 are believed; only those from 2000 on say that another reading is right.
var (
	believedFrom = time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC)
	recentFrom   = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	believedTo   = time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
)

// span is a range of times, and how many of them lie in it; Unix milliseconds.
type span struct {
	n           uint64
	first, last int64
}

func (s *span) add(millis int64) {
	if s.n == 0 || millis < s.first {
		s.first = millis
	}
	if s.n == 0 || millis > s.last {
		s.last = millis
	}
	s.n++
}

// reading is what the times of records are when a field is read in a unit.
type reading struct {
	field, unit           string
	all, believed, recent span
	decoder               *event.Decoder
}

// newReading returns nil where the format cannot be read so.
func newReading(format event.Format, field, unit string) *reading {
	format.Time, format.TimeUnit = field, unit
	decoder, err := event.NewDecoder(format)
	if err != nil {
		return nil
	}
	return &reading{field: field, unit: unit, decoder: decoder}
}

// read decodes a record into ev.
func (r *reading) read(value []byte, ev *event.Event) error {
	if err := r.decoder.Decode(value, ev); err != nil {
		return err
	}
	r.all.add(ev.Millis)
	if ev.Millis < believedFrom.UnixMilli() || ev.Millis >= believedTo.UnixMilli() {
		return nil
	}
	r.believed.add(ev.Millis)
	if ev.Millis >= recentFrom.UnixMilli() {
		r.recent.add(ev.Millis)
	}
	return nil
}

// units are the units of time that a field can be read in.
var units = [...]string{"s", "ms", "us", "rfc3339"}

// figures are what a source holds, as far as it can say why little was released. They are exact,
// for the holder of the source only.
type figures struct {
	records  uint64
	broken   map[event.Error]uint64
	now      *reading   // the field and unit that are set
	others   []*reading // the same field in other units
	sizes    []*cells   // by size of windows: that of the settings, then larger ones
	stray    uint64     // records of keys that are not on the list
	foldable uint64     // of them, those of keys that are on it but for case and spaces
	users    int        // distinct ones, of events that count
	keys     int        // distinct ones, of private keys
}

// look reads the source once more. It holds the users and keys of the source in memory, and the
// records of open windows by user and key. With other settings that are tried it looks at these
// only, for windows of the settings.
func (s Settings) look(source Source, own limits, tried []trial) (*figures, error) {
	format, lateness := source.Traits().Format, source.Traits().Lateness
	f := &figures{broken: map[event.Error]uint64{}, now: newReading(format, format.Time, format.TimeUnit)}
	if f.now == nil {
		return f, nil // a file without records has no schema and no columns
	}
	sizes, others := s.windowSizes(), units[:]
	if tried != nil {
		sizes, others = sizes[:1], nil
	}
	for _, unit := range others {
		if r := newReading(format, format.Time, unit); r != nil && unit != format.TimeUnit {
			f.others = append(f.others, r)
		}
	}
	for _, size := range sizes {
		f.sizes = append(f.sizes, newCells(size, lateness, trial{boundsOf(s), own}, tried))
	}
	from, to := source.Range()
	users, keys := numbers{}, newKeyList(s.PublicKeys)
	var ev event.Event
	err := source.Each(func(m kafkalog.Message) error {
		f.records++
		for _, r := range f.others {
			r.read(m.Value, &ev) //nolint:errcheck // what cannot be read so counts for nothing
		}
		err := f.now.read(m.Value, &ev)
		var broken *event.Error
		switch {
		case errors.As(err, &broken):
			f.broken[*broken]++
			return nil
		case err != nil:
			return err
		case ev.Millis < from.UnixMilli() || ev.Millis >= to.UnixMilli():
			return nil
		}
		key, known, near := keys.of(ev.Key)
		if !known {
			f.stray++
			if near {
				f.foldable++
			}
			return nil
		}
		at := cell{users.of(ev.User), key}
		for _, c := range f.sizes {
			c.add(ev.Millis, at)
		}
		return nil
	})
	for _, c := range f.sizes {
		c.finish()
	}
	f.users = len(users)
	if keys.open {
		f.keys = len(keys.numbers)
	}
	return f, err
}

// windowSizes returns the size of windows, and larger ones that people use.
func (s Settings) windowSizes() []time.Duration {
	out := []time.Duration{s.Window}
	for _, hours := range []int{1, 6, 24, 7 * 24, 30 * 24} {
		if size := time.Duration(hours) * time.Hour; size > s.Window {
			out = append(out, size)
		}
	}
	return out
}

// numbers gives texts numbers from 0 on.
type numbers map[string]uint32

func (n numbers) of(text []byte) uint32 {
	number, ok := n[string(text)]
	if !ok {
		number = uint32(len(n))
		n[string(text)] = number
	}
	return number
}

// keyList numbers the keys that count: all of them, or those of a list.
type keyList struct {
	numbers
	open   bool
	folded map[string]bool // keys of the list without case and spaces around them
}

func newKeyList(public []string) keyList {
	l := keyList{numbers: numbers{}, open: public == nil, folded: map[string]bool{}}
	for _, key := range public {
		l.numbers.of([]byte(key))
		l.folded[fold(key)] = true
	}
	return l
}

func (l keyList) of(key []byte) (number uint32, known, near bool) {
	if l.open {
		return l.numbers.of(key), true, false
	}
	if number, known = l.numbers[string(key)]; known {
		return number, true, false
	}
	return 0, false, l.folded[fold(string(key))]
}

func fold(key string) string { return strings.ToLower(strings.TrimSpace(key)) }
