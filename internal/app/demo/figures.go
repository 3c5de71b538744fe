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
	if field != format.Time {
		format.Time, format.MoreTimes = field, nil
	}
	if unit != format.TimeUnit {
		format.TimeUnit, format.TimeLayout, format.TimeZone = unit, "", "" // days begin where they did
	}
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

// units are the units of time that a field can be read in: "text" reads what "rfc3339" reads.
var units = []string{"s", "ms", "us", "ns", event.TimeText}

// figures are what a source holds, as far as it can say why little was released. They are exact,
// for the holder of the source only.
type figures struct {
	records  uint64
	broken   map[event.Error]uint64
	now      *reading // the field and unit that are set
	stray    uint64   // records of keys that are not on the list
	foldable uint64   // of them, those of keys that are on it but for case and spaces
	users    int      // distinct ones, of events that count
	keys     int      // distinct ones, of private keys
}

// look reads the source once more. It holds the users and keys of the source in memory.
func (s Settings) look(source Source) (*figures, error) {
	format := source.Traits().Format
	f := &figures{broken: map[event.Error]uint64{}, now: newReading(format, format.Time, format.TimeUnit)}
	if f.now == nil {
		return f, nil // a file without records has no schema and no columns
	}
	from, to := source.Range()
	users, keys := set{}, newKeyList(s.PublicKeys)
	var ev event.Event
	var namer event.Namer
	err := source.Each(func(m kafkalog.Message) error {
		f.records++
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
		known, near := keys.has(ev.Key)
		if !known {
			f.stray++
			if near {
				f.foldable++
			}
			return nil
		}
		namer.Name(&ev, &format, f.records)
		users.add(ev.User)
		return nil
	})
	f.users = len(users)
	if keys.open {
		f.keys = len(keys.set)
	}
	return f, err
}

// set has texts, each once.
type set map[string]struct{}

func (s set) add(text []byte) {
	if _, known := s[string(text)]; !known {
		s[string(text)] = struct{}{}
	}
}

// keyList has the keys that count: all that come, or those of a list.
type keyList struct {
	set
	open   bool
	folded map[string]bool // keys of the list without case and spaces around them
}

func newKeyList(public []string) keyList {
	l := keyList{set: set{}, open: public == nil, folded: map[string]bool{}}
	for _, key := range public {
		l.add([]byte(key))
		l.folded[fold(key)] = true
	}
	return l
}

func (l keyList) has(key []byte) (known, near bool) {
	if l.open {
		l.add(key)
		return true, false
	}
	if _, known = l.set[string(key)]; known {
		return true, false
	}
	return false, l.folded[fold(string(key))]
}

func fold(key string) string { return strings.ToLower(strings.TrimSpace(key)) }
