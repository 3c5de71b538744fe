package eventfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

const (
	firstFaults = 3   // records of a kind that are named
	compared    = 100 // records of a kind whose fields are compared
	mostKinds   = 3   // kinds that are named
	mostMasked  = 120 // characters of an example
)

// Faults collects the records of a file that are not events, with their faults and positions. Its
// texts contain no value of the file.
type Faults struct {
	Unit    string // unit of Record.Line
	format  event.Format
	kinds   map[event.Error]*fault
	total   uint64
	skipped uint64 // records without a value that are no events
	blank   uint64 // events of users like NULL
	times   *Times // nil before a head was read
	values  *otherValues
}

// fault is one way in which records are broken.
type fault struct {
	records uint64
	lines   []string
	example string         // masked; "" if it is not text
	fields  map[string]int // how many such records have a field, where records name their fields
}

// NewFaults returns the faults of no records of a format.
func NewFaults(format event.Format) *Faults {
	return &Faults{format: format, kinds: map[event.Error]*fault{}}
}

// Begin takes the head of a file.
func (f *Faults) Begin(h Head) {
	f.Unit, f.values = h.Unit, newOtherValues(h.Complete(f.format))
	f.times = &Times{format: h.Complete(f.format), now: time.Now().AddDate(0, 0, 1).UnixMilli()}
}

// badTime is the kind of records whose time cannot be read.
var badTime = event.Error{Class: event.ClassBadTimestamp, Field: "time"}

// BadTimes returns how many records have a time that cannot be read, and where the first ones are.
func (f *Faults) BadTimes() (n uint64, where string) {
	one := f.kinds[badTime]
	if one == nil {
		return 0, ""
	}
	return one.records, f.where(one)
}

// Times returns the times of the records; nil before Begin.
func (f *Faults) Times() *Times { return f.times }

// OddTimes returns how many events are before 1990 or ahead of now, and where the first ones are.
func (f *Faults) OddTimes() (n uint64, where string) {
	if f.times.odd.records == 0 {
		return 0, ""
	}
	return f.times.odd.records, f.where(&f.times.odd)
}

// NotUTF8 returns how many records are broken because their text is not UTF-8, and where the first
// ones are.
func (f *Faults) NotUTF8() (n uint64, where string) {
	for kind, one := range f.kinds {
		if kind.Class == event.ClassBadKey || kind.Class == event.ClassNotUTF8 {
			n, where = n+one.records, f.where(one)
		}
	}
	return n, where
}

// BadValues returns how many records have a value that is not a number of the format, where the
// first ones are, and whether these are too many: more than 2 % of all values, or of the greatest
// tenth of them.
func (f *Faults) BadValues() (n uint64, where string, tooMany bool) {
	one := f.kinds[wrongValue]
	if one == nil {
		return 0, "", false
	}
	return one.records, f.where(one), f.values != nil && f.values.tooMany(f.total-one.records-f.count(noValue))
}

// Undecodable returns how many records are no records of the format, or rows that are too short,
// and where the first ones are.
func (f *Faults) Undecodable() (n uint64, where string) {
	most := uint64(0)
	for kind, one := range f.kinds {
		rows := kind.Class == event.ClassMissingField && f.format.Encoding().Tabular()
		if !rows && kind.Class != event.ClassUndecodable && kind.Class != event.ClassInString {
			continue
		}
		if n += one.records; one.records > most {
			most, where = one.records, f.where(one)+f.meant(kind, one)
		}
	}
	return n, where
}

// Blank returns how many events are of users like NULL.
func (f *Faults) Blank() uint64 { return f.blank }

// BlankUser reports whether a user's id is a word that programs write for a missing one, like NULL.
func BlankUser(id []byte) bool {
	switch strings.ToLower(strings.Trim(string(id), "()<>")) {
	case "null", "nil", "none", "undefined", "nan", "n/a", `\n`:
		return true
	}
	return false
}

// Event notes a record that is an event.
func (f *Faults) Event(e *event.Event, r Record) {
	if BlankUser(e.User) {
		f.blank++
	}
	if f.values != nil {
		f.values.sizes[size(e.Value)].all++
		f.times.add(e.Millis, r)
	}
}

// WithoutValue returns how many records have no value, whether they are broken or left out.
func (f *Faults) WithoutValue() uint64 { return f.skipped + f.count(noValue) }

func (f *Faults) count(kind event.Error) uint64 {
	if one := f.kinds[kind]; one != nil {
		return one.records
	}
	return 0
}

// Add notes a record for which a decoder returned err, and reports whether err is of the record.
func (f *Faults) Add(err error, r Record) bool {
	var broken *event.Error
	if !errors.As(err, &broken) {
		return false
	}
	if broken.Class == event.ClassSkipped {
		if broken.Field == "value" {
			f.skipped++
		}
		return true
	}
	f.total++
	kind := f.kinds[*broken]
	if kind == nil {
		kind = &fault{fields: map[string]int{}}
		f.kinds[*broken] = kind
	}
	if *broken == badTime && f.times != nil {
		f.times.try(r.Value, datesFrom)
	}
	if *broken == wrongValue && f.values != nil {
		f.values.try(r.Value)
	}
	if names := f.format.Encoding().Members; names != nil && broken.Class == event.ClassMissingField &&
		kind.records < compared {
		for _, name := range names(r.Value) {
			kind.fields[name]++
		}
	}
	kind.add(r, f.format)
	return true
}

// add notes one more record.
func (one *fault) add(r Record, format event.Format) {
	if one.records == 0 && !format.Encoding().Contained() {
		one.example = masked(r.Value)
	}
	if one.records++; len(one.lines) < firstFaults {
		one.lines = append(one.lines, terminal.Number(float64(r.Line), 0))
	}
}

// CommonFields returns the names that all of so many records have, or more than half of them, while
// the others have null in place of an object around the field, as a delete of a change-data topic.
// Names that only some records have may be data, like a user's id that is the name of a member.
func CommonFields(records map[string]int, all int) (names []string) {
	for name, n := range records {
		around := 0
		for i := range name {
			if name[i] == '.' {
				around += records[name[:i]]
			}
		}
		if n+around == all && 2*n > all {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Total returns how many records there are.
func (f *Faults) Total() uint64 { return f.total }

// Unnamed returns how many of them have no user.
func (f *Faults) Unnamed() (n uint64) {
	rows := event.EncodingOf(f.format.Format).Tabular() // a row that is too short has a fault of its own
	for kind, one := range f.kinds {
		switch {
		case kind.Field != "user":
		case kind.Class == event.ClassEmptyUser, kind.Class == event.ClassNullField,
			kind.Class == event.ClassMissingField && !rows:
			n += one.records
		}
	}
	return n
}

// ByClass returns how many records there are of each class of dead letters.
func (f *Faults) ByClass() map[string]uint64 {
	out := map[string]uint64{}
	for kind, one := range f.kinds {
		out[kind.Class] += one.records
	}
	return out
}

// Most returns the most frequent kind of broken records; the zero value if none is broken.
func (f *Faults) Most() event.Error { return append(f.mostFrequent(), event.Error{})[0] }

func (f *Faults) mostFrequent() []event.Error {
	return slices.SortedFunc(maps.Keys(f.kinds), func(a, b event.Error) int {
		return cmp.Or(cmp.Compare(f.kinds[b].records, f.kinds[a].records), strings.Compare(a.Class+a.Field, b.Class+
			b.Field))
	})
}

// Texts describes the positions of the broken records and the first ones of each kind, most
// frequent kinds first.
func (f *Faults) Texts() (out []string) {
	kinds := f.mostFrequent()
	for _, kind := range kinds[:min(len(kinds), mostKinds)] {
		one := f.kinds[kind]
		text := fmt.Sprintf("%s %s: %s", terminal.Number(float64(one.records), 0), strings.TrimSpace(kind.Class+" "+
			kind.Field), f.where(one))
		out = append(out, text+f.meant(kind, one))
	}
	if others := kinds[len(out):]; len(others) > 0 {
		var records uint64
		for _, kind := range others {
			records += f.kinds[kind].records
		}
		out = append(out, terminal.Number(float64(records), 0)+" in other ways")
	}
	return out
}

// where names the first records of a kind, and describes the first one.
func (f *Faults) where(one *fault) string {
	text := places(f.Unit, one)
	if one.example != "" {
		text += fmt.Sprintf("; %s %s is like %s", f.Unit, one.lines[0], one.example)
	}
	return text
}

// places names the first records of a kind.
func places(unit string, one *fault) string {
	switch {
	case len(one.lines) == 1:
		return unit + " " + one.lines[0]
	case one.records > uint64(len(one.lines)):
		return unit + "s " + strings.Join(one.lines, ", ") + " and more"
	}
	return unit + "s " + spelling.List(one.lines, " and ")
}

// meant returns the fields of records that lack one. The fields of a single record may be data.
func (f *Faults) meant(kind event.Error, one *fault) (text string) {
	if kind == badTime && f.times != nil {
		if unit := f.times.Reading(); unit != nil {
			return fmt.Sprintf("; most of these times need %v", unit)
		}
	}
	fields := CommonFields(one.fields, int(min(one.records, compared)))
	if len(fields) == 0 {
		return ""
	}
	for _, name := range f.format.FieldsOf(kind.Field) {
		if slices.Contains(fields, name) {
			continue
		}
		text += fmt.Sprintf("; it has no field %s", name)
		if meant := spelling.Nearest(fields, name); meant != "" {
			text += fmt.Sprintf(", did you mean %s?", meant)
		}
	}
	if one.records == 1 {
		return text
	}
	return text + "; its fields are " + listed(fields)
}

// masked returns the beginning of a record with 9 for every digit and x for every letter, so that
// it shows the form of the record, and nothing of its content.
func masked(record []byte) string {
	var b strings.Builder
	n := 0
	for len(record) > 0 {
		if n++; n > mostMasked {
			b.WriteString("…")
			break
		}
		r, size := utf8.DecodeRune(record)
		record = record[size:]
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteByte('?')
		case unicode.IsDigit(r):
			b.WriteByte('9')
		case r >= ' ' && r <= '~' && !unicode.IsLetter(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf && !unicode.IsLetter(r): // a control character, or a tab
			b.WriteByte(' ')
		default:
			b.WriteByte('x')
		}
	}
	return b.String()
}
