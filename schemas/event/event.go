package event

import (
	"context"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/base/hooks/poison"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/event/filter"
)

// The classes of records that are not events. They name the reason on the dead-letter topic and in
// the tallies.
const (
	ClassUndecodable   = "undecodable"    // not one CSV row, JSON object or Avro record with the right fields
	ClassMissingField  = "missing_field"  // no such field, or a row too short to have it
	ClassNullField     = "null_field"     // null
	ClassWrongType     = "wrong_type"     // a value of a type that the field cannot have
	ClassBadTimestamp  = "bad_timestamp"  // not a time, or outside years 1 to 9999 UTC
	ClassEmptyUser     = "empty_user"     // a user id of no bytes
	ClassUserTooLong   = "user_too_long"  // more than schemas.MaxUserBytes
	ClassKeyTooLong    = "key_too_long"   // more than schemas.MaxKeyBytes
	ClassBadKey        = "bad_key"        // not valid UTF-8
	ClassOversized     = "oversized"      // more than Format.MaxRecordBytes
	ClassUnknownSchema = "unknown_schema" // written with a schema id that the registry does not know
	ClassUnfitSchema   = "unfit_schema"   // written with a schema of the registry by which no event can be read
	ClassNoValue       = "no_value"       // the field with the value is absent, null or empty
	ClassBadValue      = "bad_value"      // a value that is not a number of the format

	// The likely format of an undecodable record, by its first bytes.
	ClassNotUTF8  = "not_utf8"  // text in another encoding
	ClassPacked   = "packed"    // compressed by its producer
	ClassFramed   = "framed"    // begins with a schema id, and is read without a registry
	ClassUnframed = "unframed"  // Avro without a schema id, and is read with a registry
	ClassInString = "in_string" // a JSON string that has an object in it
)

// ClassSkipped is the class of a record that by design is neither an event nor a dead letter: a
// null value (a tombstone), the delete of a change-data topic, whose row after the change is null,
// or with NoValueSkip a record without a value (Error.Field is then "value").
const ClassSkipped = "skipped"

// Classes returns every class of dead letters.
func Classes() []string {
	return []string{ClassUndecodable, ClassMissingField, ClassNullField, ClassWrongType, ClassBadTimestamp,
		ClassEmptyUser, ClassUserTooLong, ClassKeyTooLong, ClassBadKey, ClassOversized, ClassUnknownSchema,
		ClassUnfitSchema, ClassNoValue, ClassBadValue, ClassNotUTF8, ClassPacked, ClassFramed, ClassUnframed,
		ClassInString}
}

// Error is the reason that a record is not an event. It reveals nothing of the record; Field is
// "user", "key", "time", "value" or "".
type Error struct {
	Class string
	Field string
}

// Error names the class and the field.
func (e *Error) Error() string {
	if e.Field == "" {
		return "decoding event: " + e.Class
	}
	return "decoding event: " + e.Class + ": " + e.Field
}

// DefaultMaxRecordBytes is the limit of a record's length if Format.MaxRecordBytes is 0.
const DefaultMaxRecordBytes = 1 << 20

// Format describes the encoding of events and names their fields. The demo derives secrets from its
// JSON form, which omits fields that were added later if they are empty, so that the secrets stay
// the same.
type Format struct {
	// Format is the name of an Encoding.
	Format string
	// Columns has the names of a row's fields in order, for formats of rows.
	Columns []string
	// User, Key and Time name the fields: columns by their names, fields of JSON and Avro by paths
	// ("user.id"; `\.` is a dot within a name). With Key "" every event has the empty key. In JSON
	// a user is a string or an integer, a key also a boolean; the integer 17 and the string "17"
	// are the same user. In Avro a user is a string, bytes, an int, a long or a fixed, a key a
	// string, an int, a long, a boolean or an enum.
	User, Key, Time string
	// TimeUnit is "s", "ms", "us" or "ns" (numbers since 1970 in JSON's grammar, fractions allowed,
	// or strings of such; in Avro an int, a long or a double), "rfc3339" (as
	// time.Time.UnmarshalText reads it) or "text". In Avro "" takes the unit from the logical type:
	// timestamp-millis, timestamp-micros or timestamp-nanos.
	TimeUnit string
	// MaxRecordBytes bounds a record; 0 is DefaultMaxRecordBytes.
	MaxRecordBytes int
	// Value names the field with an event's value; with "" events have no value. With Decimals 0, a
	// value is an integer; otherwise any number, rounded to units of 10^−Decimals (at most
	// MaxDecimals): with 2, 12.345 is 1235. Columns and strings may have thousands in groups
	// (1,234.56 or 1'234); with DecimalComma they are written as 1.234,56. In Avro it is an int or
	// a long, with Decimals also a float or a double.
	Value    string `json:",omitempty"`
	Decimals int    `json:",omitempty"`
	// Filters are expressions over an event's fields, at most 64; Event.Passes has the result of
	// each.
	Filters []string `json:",omitempty"`
	// Schema is an Avro writer schema, the contents of an .avsc file; records then have no prefix.
	// Without it a record begins with the id of a schema in the registry of WithSchemas.
	Schema string `json:",omitempty"`
	// MoreKeys names further fields of the key, at most MaxKeyParts with Key: an event's key is
	// then JoinKey of all of them.
	MoreKeys []string `json:",omitempty"`
	// MoreTimes names further fields of the time, at most MaxTimeParts with Time: their texts, with
	// spaces between them, are read as one in the unit "text".
	MoreTimes []string `json:",omitempty"`
	// TimeLayout is the layout of times of the unit "text", in the language of strptime; "" means
	// the usual layouts. TimeZone is the zone of times of this unit that have no offset, by its
	// name in the IANA database; "" is UTC.
	TimeLayout string `json:",omitempty"`
	TimeZone   string `json:",omitempty"`
	// WallZone is a zone: an event's time is then what its clock shows, as if that were UTC (see
	// package wallclock). "" is UTC. It is for files that are counted in local days; a deployment
	// has Time.WindowZone instead.
	WallZone string `json:",omitempty"`
	// NoUser is NoUserEach if a record whose user field is absent, null or empty is an event of a
	// user of its own; "" if it is a broken record.
	NoUser string `json:",omitempty"`
	// DecimalComma is set if values in columns and strings have a decimal comma.
	DecimalComma bool `json:",omitempty"`
	// NoValue is NoValueSkip if a record without a value is not an event; with "" or NoValueBroken
	// it is a broken record.
	NoValue string `json:",omitempty"`
	// Separator is the character between the fields of a CSV row; "" is a comma. Charset names the
	// encoding of a file's text, as web pages name it; "" is UTF-8. Decoders read UTF-8: package
	// eventfile converts. Both are for files; no deployment has them.
	Separator string `json:",omitempty"`
	Charset   string `json:",omitempty"`
}

// Encoding returns the entry of the format, with the separator of its rows.
func (f Format) Encoding() Encoding {
	e := EncodingOf(f.Format)
	if f.Separator != "" {
		e.Separator = f.Separator[0]
	}
	return e
}

// The values of Format.NoValue beside "".
const (
	NoValueSkip   = "skip"
	NoValueBroken = "broken"
)

// MaxDecimals is the greatest Format.Decimals.
const MaxDecimals = 9

// ValueUnit returns the unit of values, as in "0.01"; "" without Decimals.
func (f Format) ValueUnit() string {
	if f.Decimals == 0 {
		return ""
	}
	return strconv.FormatFloat(math.Pow10(-f.Decimals), 'f', -1, 64)
}

// Event is a decoded event.
type Event struct {
	// User and Key are valid until the next Decode with the same decoder, and no longer than the
	// record's bytes are. User is empty only if Format.NoUser is NoUserEach and the record has no
	// user: the user of the event is then its position.
	User, Key []byte
	Millis    int64 // event time, floor of milliseconds since 1970
	Value     int64 // in units of 10^−Format.Decimals; 0 if Format names no value field
	// Passes has bit i set if the event passes Format.Filters[i].
	Passes uint64
}

// The numbers of the fields that are looked for. Those from fieldCount on are the fields that
// filters name.
const (
	fieldUser = iota
	fieldKey
	fieldTime
	fieldValue
	fieldMoreKeys
	fieldMoreTimes = fieldMoreKeys + MaxKeyParts - 1
	fieldCount     = fieldMoreTimes + MaxTimeParts - 1
)

var fieldNames = [fieldCount]string{"user", "key", "time", "value", "key", "key", "key", "time", "time", "time"}

// kindOf returns the number of the first field that holds what a field holds.
func kindOf(number int) int {
	switch {
	case number >= fieldMoreTimes:
		return fieldTime
	case number >= fieldMoreKeys:
		return fieldKey
	}
	return number
}

// Decoder decodes events of one format. Not for concurrent use.
type Decoder struct {
	max      int
	decimals int
	comma    bool // the decimal point of texts is a comma
	encoding Encoding
	unit     string
	layout   timeLayout     // layout of the unit "text"; nil: the usual ones
	zone     *time.Location // zone of such times; nil: UTC
	clock    *wallclock.Clock
	// writtenAs is the text of layout.
	writtenAs string
	fields    [fieldCount]string // their names in Format; "" is not looked for
	keys      int                // how many of them the key has
	times     int                // and the time
	unnamed   bool               // records without a user are events
	valued    bool               // records without a value are skipped
	filter    *filter.Set        // nil without filters
	texts     internedTexts      // for the values of filters
	records   records            // of the format

	ctx       context.Context
	schemas   SchemaSource                  // nil: of the records' schemas none is asked for
	tellUnfit func(id uint32, reason error) // may be nil

	raw     [][]byte           // scratch of Decode: the fields' bytes, by number
	unquote [fieldCount][]byte // scratch: unescaped and rendered values
	wall    wallClock          // scratch
	label   []byte             // scratch: a key of several parts
	date    []byte             // scratch: a time of several parts
	row     []byte             // scratch: unescaped fields of a row, or names of members
	timed   bool               // scratch: the time of a record is a number, in millis
	millis  int64
	value   int64  // scratch
	plain   []byte // scratch: a value in JSON's grammar
	errs    map[Error]*Error
}

// Decode decodes a record into ev, or returns an *Error. It does not allocate once warm, except for
// filters and for escapes in JSON. If several things are wrong, the error is about the first of
// these: the whole record, the user, the key, the time, the value.
//
// Even for a record that lacks a field or has null there, ev.Passes is set: with 0, no filter needs
// the record.
//
// With WithSchemas it may also return an error that is not an *Error and not about the record: the
// registry did not return its schema this time.
func (d *Decoder) Decode(value []byte, ev *Event) error {
	ev.Passes = math.MaxUint64
	switch {
	case value == nil:
		return d.fail(ClassSkipped, "")
	case len(value) > d.max:
		return d.fail(ClassOversized, "")
	}
	d.value = 0
	d.giveBack()
	if err := d.records.find(value); err != nil {
		if class := classIn(err); d.filter != nil && !d.encoding.Tabular() && (class == ClassNullField ||
			class == ClassMissingField) {
			ev.Passes = d.passes()
		}
		return d.explained(err, value)
	}
	user, key := d.raw[fieldUser], d.joinedKey()
	switch {
	case len(user) == 0 && !d.unnamed:
		return d.fail(ClassEmptyUser, "user")
	case len(user) > schemas.MaxUserBytes:
		return d.fail(ClassUserTooLong, "user")
	case len(key) > schemas.MaxKeyBytes:
		return d.fail(ClassKeyTooLong, "key")
	case !utf8.Valid(key):
		return d.fail(ClassBadKey, "key")
	}
	ms, ok := d.millis, true
	if !d.timed {
		ms, ok = d.parseTime(d.joinedTime())
	}
	if !ok || ms < minMillis || ms > maxMillis {
		return d.fail(ClassBadTimestamp, "time")
	}
	ev.User, ev.Key, ev.Millis, ev.Value, ev.Passes = user, key, ms, d.value, 0
	if d.filter != nil {
		ev.Passes = d.passes()
	}
	return nil
}

// giveBack ends the validity of the last event that was decoded.
func (d *Decoder) giveBack() {
	for i := range d.unquote {
		poison.Bytes(d.unquote[i])
	}
	poison.Bytes(d.row)
	poison.Bytes(d.label)
}

func (d *Decoder) passes() uint64 {
	for i := range d.filter.Names() {
		v, present := d.records.seen(i)
		d.filter.Put(i, v, present)
	}
	return d.filter.Passes()
}

// ValueText returns the text of the value of the record that was decoded last, if it is a column,
// or a string or number of JSON. It is valid until the next Decode.
func (d *Decoder) ValueText() []byte { return d.raw[fieldValue] }

// fail returns the error of a class and field, made once, so that many bad records allocate
// nothing.
func (d *Decoder) fail(class, field string) error {
	id := Error{Class: class, Field: field}
	if e := d.errs[id]; e != nil {
		return e
	}
	e := &Error{Class: class, Field: field}
	d.errs[id] = e
	return e
}
