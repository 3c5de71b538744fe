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
	firstFaults = 3   // maximum number of positions that are listed for a kind of faults
	compared    = 100 // maximum number of records of a kind whose fields are compared
	mostKinds   = 3   // maximum number of kinds that are listed
	mostMasked  = 120 // maximum number of characters in an example
)

// Faults collects the records of a file that are not events, with their faults and positions. The
// texts that it returns contain no value from the file.
type Faults struct {
	Unit    string // unit of Record.Line
	format  event.Format
	kinds   map[event.Error]*fault
	total   uint64
	skipped uint64 // skipped records without a value
	blank   uint64 // events whose user is named NULL or similar
	times   *Times // nil before Begin
	values  *otherValues
}

// fault describes the records that are broken in one way.
type fault struct {
	records uint64
	lines   []string       // positions of the first records
	example string         // the first record, masked; "" if it is not text
	fields  map[string]int // if the format names fields: the number of records with each field
}

// NewFaults returns an empty collection for records of a format.
func NewFaults(format event.Format) *Faults {
	return &Faults{format: format, kinds: map[event.Error]*fault{}}
}

// Begin sets the head of the file.
func (f *Faults) Begin(h Head) {
	f.Unit, f.values = h.Unit, newOtherValues(h.Complete(f.format))
	f.times = &Times{format: h.Complete(f.format), now: time.Now().AddDate(0, 0, 1).UnixMilli()}
}

// badTime is the kind of faults of records whose time cannot be read.
var badTime = event.Error{Class: event.ClassBadTimestamp, Field: "time"}

// kind returns the fault of a kind, or an empty fault if there are no such records.
func (f *Faults) kind(k event.Error) (found fault) {
	if recorded := f.kinds[k]; recorded != nil {
		found = *recorded
	}
	return found
}

// sum returns the number of records of all matching kinds, and describes the most frequent kind.
func (f *Faults) sum(match func(event.Error) bool) (n uint64, where string) {
	most := uint64(0)
	for kind, fault := range f.kinds {
		if !match(kind) {
			continue
		}
		if n += fault.records; fault.records > most {
			most, where = fault.records, f.where(*fault)+f.suggestion(kind, fault)
		}
	}
	return n, where
}

// BadTimes returns the number of records with an unreadable time, and the first positions.
func (f *Faults) BadTimes() (n uint64, where string) {
	times := f.kind(badTime)
	return times.records, f.where(times)
}

// Times returns the times of the records, or nil before Begin.
func (f *Faults) Times() *Times { return f.times }

// OddTimes returns the number of events before 1990 or in the future, and the first positions.
func (f *Faults) OddTimes() (n uint64, where string) {
	return f.times.odd.records, f.where(f.times.odd)
}

// NotUTF8 returns the number of records that are broken because they are not UTF-8, and the first
// positions.
func (f *Faults) NotUTF8() (n uint64, where string) {
	return f.sum(func(kind event.Error) bool {
		return kind.Class == event.ClassBadKey || kind.Class == event.ClassNotUTF8
	})
}

// BadValues returns the number of records whose value is not a number in the given format, and the
// positions of the first of them. tooMany reports whether they are more than 2% of all values, or
// more than 2% of the greatest tenth of the values.
func (f *Faults) BadValues() (n uint64, where string, tooMany bool) {
	values := f.kind(wrongValue)
	return values.records, f.where(values), f.values != nil &&
		f.values.tooMany(f.total-values.records-f.kind(noValue).records)
}

// DecimalCommas reports whether most unreadable values have a decimal comma, which the format does
// not expect.
func (f *Faults) DecimalCommas() bool {
	return f.values != nil && !f.format.DecimalComma && 2*f.values.commas > f.kind(wrongValue).records
}

// Undecodable returns the number of records that are not in the given format at all, or are rows
// with too few columns, and the first positions.
func (f *Faults) Undecodable() (n uint64, where string) {
	return f.sum(func(kind event.Error) bool {
		return kind.Class == event.ClassUndecodable || kind.Class == event.ClassInString ||
			kind.Class == event.ClassMissingField && f.format.Encoding().Tabular()
	})
}

// Blank returns the number of events whose user id is a placeholder such as NULL.
func (f *Faults) Blank() uint64 { return f.blank }

// BlankUser reports whether a user id is a placeholder for a missing id, such as NULL.
func BlankUser(id []byte) bool {
	switch strings.ToLower(strings.Trim(string(id), "()<>")) {
	case "null", "nil", "none", "undefined", "nan", "n/a", `\n`:
		return true
	}
	return false
}

// Event records an event.
func (f *Faults) Event(e *event.Event, r Record) {
	if BlankUser(e.User) {
		f.blank++
	}
	if f.values != nil {
		f.values.sizes[size(e.Value)].all++
		f.times.add(e.Millis, r)
	}
}

// WithoutValue returns the number of broken and skipped records without a value.
func (f *Faults) WithoutValue() uint64 { return f.skipped + f.kind(noValue).records }

// Add records an error of a decoder. It reports whether the record caused the error.
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
	if names := f.format.Encoding().Members; names != nil && kind.records < compared &&
		(broken.Class == event.ClassMissingField || broken.Class == event.ClassWrongType) {
		for _, name := range names(r.Value) {
			kind.fields[name]++
		}
	}
	kind.add(r, f.format)
	return true
}

// add counts one more record.
func (t *fault) add(r Record, format event.Format) {
	if t.records == 0 && !format.Encoding().Contained() {
		t.example = masked(r.Value)
	}
	if t.records++; len(t.lines) < firstFaults {
		t.lines = append(t.lines, terminal.Number(float64(r.Line), 0))
	}
}

// commonFields returns the fields that all records have. A field also counts if more than half of
// the records have it and all others have null in place of an object around it, like a delete in a
// change-data topic. A name that only some records have may be data, such as a user id that is used
// as a member name.
func commonFields(records map[string]int, all int) (names []string) {
	for name, n := range records {
		withNull := 0
		for i := range name {
			if name[i] == '.' {
				withNull += records[name[:i]]
			}
		}
		if n+withNull == all && 2*n > all {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Total returns the number of broken records.
func (f *Faults) Total() uint64 { return f.total }

// Unnamed returns the number of broken records without a user.
func (f *Faults) Unnamed() (n uint64) {
	rows := f.format.Encoding().Tabular() // a row with too few columns is not a row without a user
	n, _ = f.sum(func(kind event.Error) bool {
		return kind.Field == "user" && (kind.Class == event.ClassEmptyUser || kind.Class == event.ClassNullField ||
			kind.Class == event.ClassMissingField && !rows)
	})
	return n
}

// ByClass returns the number of broken records by class of dead letters.
func (f *Faults) ByClass() map[string]uint64 {
	out := map[string]uint64{}
	for kind, fault := range f.kinds {
		out[kind.Class] += fault.records
	}
	return out
}

// Most returns the most frequent kind of broken records, or the zero value if no record is broken.
func (f *Faults) Most() event.Error { return append(f.mostFrequent(), event.Error{})[0] }

func (f *Faults) mostFrequent() []event.Error {
	return slices.SortedFunc(maps.Keys(f.kinds), func(a, b event.Error) int {
		return cmp.Or(cmp.Compare(f.kinds[b].records, f.kinds[a].records),
			strings.Compare(a.Class+a.Field, b.Class+b.Field))
	})
}

// Texts describes the broken records by kind, most frequent kinds first.
func (f *Faults) Texts() (out []string) {
	kinds := f.mostFrequent()
	for _, kind := range kinds[:min(len(kinds), mostKinds)] {
		fault := f.kinds[kind]
		out = append(out, fmt.Sprintf("%s %s: %s%s", terminal.Number(float64(fault.records), 0),
			strings.TrimSpace(kind.Class+" "+kind.Field), f.where(*fault), f.suggestion(kind, fault)))
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

// where returns the positions of the first records of a fault, and an example. It returns "" if
// there are no such records.
func (f *Faults) where(t fault) (text string) {
	switch {
	case t.records == 0:
		return ""
	case t.records > uint64(len(t.lines)):
		text = f.Unit + "s " + strings.Join(t.lines, ", ") + " and more"
	case len(t.lines) == 1:
		text = f.Unit + " " + t.lines[0]
	default:
		text = f.Unit + "s " + spelling.List(t.lines, " and ")
	}
	if t.example != "" {
		text += fmt.Sprintf("; %s %s is like %s", f.Unit, t.lines[0], t.example)
	}
	return text
}

// suggestion suggests a time unit for unreadable times, and fields for records that lack a field.
// It does not list the fields of a single record, because their names may be data.
func (f *Faults) suggestion(kind event.Error, t *fault) (text string) {
	if kind == badTime && f.times != nil {
		if unit := f.times.Reading(); unit != nil {
			return fmt.Sprintf("; the unit %v fits most of these times", unit)
		}
	}
	fields := commonFields(t.fields, int(min(t.records, compared)))
	if len(fields) == 0 {
		return ""
	}
	for _, name := range f.format.FieldsOf(kind.Field) {
		if slices.Contains(fields, name) {
			continue
		}
		if kind.Class == event.ClassWrongType {
			return ofObject(name, fields, t.records > 1)
		}
		text += fmt.Sprintf("; there is no field %s", name)
		if meant := spelling.Nearest(fields, name); meant != "" {
			text += fmt.Sprintf(", did you mean %s?", meant)
		}
	}
	if t.records == 1 {
		return text
	}
	return text + "; the fields are " + listed(fields)
}

// ofObject describes a field that is an object; "" if it is none.
func ofObject(name string, fields []string, listed bool) string {
	inner := slices.DeleteFunc(fields, func(field string) bool { return !strings.HasPrefix(field, name+".") })
	switch {
	case len(inner) == 0:
		return ""
	case !listed:
		return "; " + name + " is an object: name a field in it"
	}
	return "; " + name + " is an object: name a field in it, such as " + inner[0]
}

// masked returns the beginning of a record with every digit replaced by 9 and every letter by x.
// The result shows the form of the record, but not its content.
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
