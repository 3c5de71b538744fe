package schemas

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// The classes of records that are no event; they name the reason in the dead-letter topic and in the tallies.
const (
	ClassUndecodable  = "undecodable"   // not one CSV row or JSON object with the right fields
	ClassMissingField = "missing_field" // no such field, or a row too short to have it
	ClassNullField    = "null_field"    // JSON null
	ClassWrongType    = "wrong_type"
	ClassBadTimestamp = "bad_timestamp" // unparsable, or outside years 1 to 9999 UTC
	ClassEmptyUser    = "empty_user"
	ClassUserTooLong  = "user_too_long" // more than MaxUserBytes
	ClassKeyTooLong   = "key_too_long"  // more than MaxKeyBytes
	ClassBadKey       = "bad_key"       // not valid UTF-8
	ClassOversized    = "oversized"     // more than EventFormat.MaxRecordBytes
)

// EventClasses lists every class.
func EventClasses() []string {
	return []string{ClassUndecodable, ClassMissingField, ClassNullField, ClassWrongType, ClassBadTimestamp,
		ClassEmptyUser, ClassUserTooLong, ClassKeyTooLong, ClassBadKey, ClassOversized}
}

// EventError says why a record is no event. It holds nothing of the record; Field is "user", "key", "time" or "".
type EventError struct {
	Class string
	Field string
}

// Error names the class and the field's role.
func (e *EventError) Error() string {
	if e.Field == "" {
		return "decoding event: " + e.Class
	}
	return "decoding event: " + e.Class + ": " + e.Field
}

// DefaultMaxRecordBytes is the limit of a record's length where EventFormat names none.
const DefaultMaxRecordBytes = 1 << 20

// EventFormat says how events are encoded and which fields hold what.
type EventFormat struct {
	// Format is "csv" (RFC 4180 as encoding/csv reads it), "tsv" (fields between tabs, nothing quoted, no tab or line
	// break within a field) or "jsonl" (one JSON object).
	Format string
	// Columns are the names of a row's fields in order (csv and tsv).
	Columns []string
	// User, Key and Time name the fields. With Key "" every event has the empty key. In JSON a user is a string or an
	// integer, a key also a boolean; the integer 17 and the string "17" are the same user.
	User, Key, Time string
	// TimeUnit is "s", "ms", "us" (numbers since 1970 in JSON's grammar, fractions allowed, or strings of such) or
	// "rfc3339" (as time.Time.UnmarshalText reads it).
	TimeUnit string
	// MaxRecordBytes bounds a record; 0 is DefaultMaxRecordBytes.
	MaxRecordBytes int
}

// Event is a decoded event.
type Event struct {
	// User and Key are valid until the next Decode with the same decoder, and as long as the record's bytes are.
	User, Key []byte
	Millis    int64 // event time, floor of milliseconds since 1970
}

// The fields that are looked for.
const (
	fieldUser = iota
	fieldKey
	fieldTime
	fieldCount
)

var fieldNames = [fieldCount]string{"user", "key", "time"}

// EventDecoder decodes events of one format. Not for concurrent use.
type EventDecoder struct {
	max    int
	format string
	unit   string
	names  [fieldCount]string // JSON names; "" is not looked for

	comma   byte
	columns int
	index   [fieldCount]int // column of each field, −1 where not looked for

	raw     [fieldCount][]byte // scratch of Decode: the fields' bytes
	unquote [fieldCount][]byte // scratch: unescaped strings
	row     []byte             // scratch: unescaped fields of a row
	errs    map[EventError]*EventError
}

// NewEventDecoder checks the format. Errors name what is impossible in it.
func NewEventDecoder(f EventFormat) (*EventDecoder, error) {
	d := &EventDecoder{max: f.MaxRecordBytes, format: f.Format, unit: f.TimeUnit,
		names: [fieldCount]string{f.User, f.Key, f.Time}, errs: make(map[EventError]*EventError)}
	if d.max == 0 {
		d.max = DefaultMaxRecordBytes
	}
	switch {
	case d.max < 0:
		return nil, fmt.Errorf("reading event format: record limit of %d bytes: must be positive", f.MaxRecordBytes)
	case f.User == "":
		return nil, errors.New("reading event format: no user field named")
	case f.Time == "":
		return nil, errors.New("reading event format: no time field named")
	}
	if !slices.Contains([]string{"s", "ms", "us", "rfc3339"}, f.TimeUnit) {
		return nil, fmt.Errorf("reading event format: time unit %q: must be s, ms, us or rfc3339", f.TimeUnit)
	}
	switch f.Format {
	case "jsonl":
		return d, nil
	case "csv":
		d.comma = ','
	case "tsv":
		d.comma = '\t'
	default:
		return nil, fmt.Errorf("reading event format: format %q: must be csv, tsv or jsonl", f.Format)
	}
	return d, d.findColumns(f.Columns)
}

func (d *EventDecoder) findColumns(columns []string) error {
	d.columns = len(columns)
	for i, name := range d.names {
		d.index[i] = -1
		if name == "" {
			continue
		}
		at := slices.Index(columns, name)
		if at < 0 {
			return fmt.Errorf("reading event format: %s field %q is not among the columns %q", fieldNames[i], name, columns)
		}
		if slices.Contains(columns[at+1:], name) {
			return fmt.Errorf("reading event format: column %q is named twice in %q", name, columns)
		}
		d.index[i] = at
	}
	return nil
}

// Decode decodes a record into ev, or returns an *EventError. It does not allocate once warm. Where several things are
// wrong, the whole record comes first, then user, key, time.
func (d *EventDecoder) Decode(value []byte, ev *Event) error {
	if len(value) > d.max {
		return d.fail(ClassOversized, "")
	}
	var err error
	if d.format == "jsonl" {
		err = d.decodeJSON(value)
	} else {
		err = d.decodeRow(value)
	}
	if err != nil {
		return err
	}
	user, key := d.raw[fieldUser], d.raw[fieldKey]
	switch {
	case len(user) == 0:
		return d.fail(ClassEmptyUser, "user")
	case len(user) > MaxUserBytes:
		return d.fail(ClassUserTooLong, "user")
	case len(key) > MaxKeyBytes:
		return d.fail(ClassKeyTooLong, "key")
	case !utf8.Valid(key):
		return d.fail(ClassBadKey, "key")
	}
	ms, ok := parseTime(d.raw[fieldTime], d.unit)
	if !ok {
		return d.fail(ClassBadTimestamp, "time")
	}
	ev.User, ev.Key, ev.Millis = user, key, ms
	return nil
}

// fail returns the one error of its class and field: a flood of bad records allocates nothing.
func (d *EventDecoder) fail(class, field string) error {
	id := EventError{Class: class, Field: field}
	if e := d.errs[id]; e != nil {
		return e
	}
	e := &EventError{Class: class, Field: field}
	d.errs[id] = e
	return e
}
