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

// The classes of records that are not events, as named on the dead-letter topic and in tallies.
const (
	ClassUndecodable   = "undecodable"    // not one CSV row, JSON object or Avro record with the right fields
	ClassMissingField  = "missing_field"  // a field that is absent, or a row that is too short
	ClassNullField     = "null_field"     // a field that is null
	ClassWrongType     = "wrong_type"     // a type that the field cannot have
	ClassBadTimestamp  = "bad_timestamp"  // not a time, or outside years 1 to 9999 UTC
	ClassEmptyUser     = "empty_user"     // an empty user id
	ClassUserTooLong   = "user_too_long"  // more than schemas.MaxUserBytes
	ClassKeyTooLong    = "key_too_long"   // more than schemas.MaxKeyBytes
	ClassBadKey        = "bad_key"        // not valid UTF-8
	ClassOversized     = "oversized"      // more than Format.MaxRecordBytes
	ClassUnknownSchema = "unknown_schema" // a schema id that the registry does not know
	ClassUnfitSchema   = "unfit_schema"   // a registered schema that does not describe an event
	ClassNoValue       = "no_value"       // the value field is absent, null or empty
	ClassBadValue      = "bad_value"      // not a number in the field's format

	// Classes of undecodable records whose first bytes suggest a cause.
	ClassNotUTF8  = "not_utf8"  // text in another encoding
	ClassPacked   = "packed"    // compressed by the producer
	ClassFramed   = "framed"    // begins with a schema id, but no registry is configured
	ClassUnframed = "unframed"  // Avro without a schema id, but a registry is configured
	ClassInString = "in_string" // a JSON string that contains an object
)

// ClassSkipped is the class of a record that is neither an event nor a dead letter. Such a record
// is a tombstone, a delete on a change-data topic (the row after the change is null) or, with
// NoValueSkip, a record without a value (Error.Field is then "value").
const ClassSkipped = "skipped"

// Classes returns all classes of dead letters.
func Classes() []string {
	return []string{ClassUndecodable, ClassMissingField, ClassNullField, ClassWrongType, ClassBadTimestamp,
		ClassEmptyUser, ClassUserTooLong, ClassKeyTooLong, ClassBadKey, ClassOversized, ClassUnknownSchema,
		ClassUnfitSchema, ClassNoValue, ClassBadValue, ClassNotUTF8, ClassPacked, ClassFramed, ClassUnframed,
		ClassInString}
}

// Error describes why a record is not an event. It contains no data from the record.
type Error struct {
	Class string
	Field string // "user", "key", "time", "value" or ""
}

// Error implements error.
func (e *Error) Error() string {
	if e.Field == "" {
		return "decoding event: " + e.Class
	}
	return "decoding event: " + e.Class + ": " + e.Field
}

// DefaultMaxRecordBytes is the maximum length of a record if Format.MaxRecordBytes is 0.
const DefaultMaxRecordBytes = 1 << 20

// Format describes the encoding of events and names their fields. The demo derives secrets from the
// JSON form of its Format; to keep these secrets the same, fields that were added later are omitted
// from the JSON if they are empty.
type Format struct {
	Format  string   // name of an Encoding
	Columns []string // names of a row's fields in order, for CSV and TSV
	// User, Key and Time name fields: in rows by column name, in JSON and Avro by path ("user.id";
	// `\.` is a dot in a name). If Key is "", every event has the empty key. In JSON, a user is a
	// string or an integer (17 and "17" are the same user), and a key may also be a boolean. In
	// Avro, a user is a string, bytes, an int, a long or a fixed, and a key is a string, an int, a
	// long, a boolean or an enum.
	User, Key, Time string
	// TimeUnit is one of TimeUnits. With "s", "ms", "us" and "ns", times are numbers since 1970 in
	// JSON's grammar, which may have fractions and be in strings; in Avro an int, a long or a
	// double. With "rfc3339", times are as time.Time.UnmarshalText accepts them. In Avro, "" means
	// the unit of the logical type.
	TimeUnit       string
	MaxRecordBytes int // maximum length of a record; 0 means DefaultMaxRecordBytes
	// Value names the field with an event's value; "" means that events have no values. If Decimals
	// is 0, a value is an integer. Otherwise it is any number, rounded to units of 10^−Decimals:
	// with Decimals 2, 12.345 becomes 1235. Columns and strings may group thousands (1,234.56 or
	// 1'234; 1.234,56 with DecimalComma). In Avro, a value is an int or a long; with Decimals, it
	// may also be a float or a double.
	Value    string `json:",omitempty"`
	Decimals int    `json:",omitempty"`
	// Filters are at most 64 expressions over an event's fields. Event.Passes holds their results.
	Filters []string `json:",omitempty"`
	// Schema is an Avro writer schema, the contents of an .avsc file. If Schema is "", each record
	// must begin with the id of a schema in the registry of WithSchemas.
	Schema string `json:",omitempty"`
	// MoreKeys names further fields of the key, which has at most MaxKeyParts fields in all.
	// SplitKey splits an event's key into the texts of these fields.
	MoreKeys []string `json:",omitempty"`
	// MoreTimes names further fields of the time, which has at most MaxTimeParts fields in all.
	// Their texts, joined by spaces, are one time in the unit "text".
	MoreTimes []string `json:",omitempty"`
	// TimeLayout is the strptime layout of times in the unit "text"; "" means the usual layouts.
	// TimeZone is the IANA zone for such times if they have no offset; "" means UTC.
	TimeLayout string `json:",omitempty"`
	TimeZone   string `json:",omitempty"`
	// WallZone is the zone in which event times are converted to wall-clock readings, which are
	// then treated as UTC (package wallclock); "" means UTC. It is for files that are counted in
	// local days; deployments have Time.WindowZone instead.
	WallZone string `json:",omitempty"`
	// NoUser is NoUserEach if every record without a user (absent, null or empty) is an event of a
	// separate user. If NoUser is "", a record without a user is broken.
	NoUser       string `json:",omitempty"`
	DecimalComma bool   `json:",omitempty"` // whether values in columns and strings use a decimal comma
	// NoValue is NoValueSkip if a record without a value is skipped. If NoValue is "" or
	// NoValueBroken, a record without a value is broken.
	NoValue string `json:",omitempty"`
	// Separator is the character between the fields of a CSV row; "" means a comma. Charset is the
	// web's label of a file's character encoding; "" means UTF-8. Both are for eventfile only.
	Separator string `json:",omitempty"`
	Charset   string `json:",omitempty"`
}

// Encoding returns the Encoding of the format, with f.Separator if that is set.
func (f Format) Encoding() Encoding {
	e := EncodingOf(f.Format)
	if f.Separator != "" {
		e.Separator = f.Separator[0]
	}
	return e
}

// Values of Format.NoValue other than "".
const (
	NoValueSkip   = "skip"
	NoValueBroken = "broken"
)

// MaxDecimals is the maximum of Format.Decimals.
const MaxDecimals = 9

// ValueUnit returns the unit of values, for example "0.01", or "" if Decimals is 0.
func (f Format) ValueUnit() string {
	if f.Decimals == 0 {
		return ""
	}
	return strconv.FormatFloat(math.Pow10(-f.Decimals), 'f', -1, 64)
}

// Event is a decoded event.
type Event struct {
	// User and Key are valid until the decoder's next Decode, and only while the record's bytes
	// are. User is empty only with Format.NoUser: the event's position then identifies the user.
	User, Key []byte
	Millis    int64  // event time, milliseconds since 1970, rounded down
	Value     int64  // in units of 10^−Format.Decimals; 0 if Format has no value field
	Passes    uint64 // bit i is set if the event passes Format.Filters[i]
}

// Field numbers. The numbers of the filters' fields begin at fieldCount.
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

// mainField returns fieldKey or fieldTime for a further part of a key or time, else number.
func mainField(number int) int {
	switch {
	case number >= fieldMoreTimes:
		return fieldTime
	case number >= fieldMoreKeys:
		return fieldKey
	}
	return number
}

// Decoder decodes events of one format. It is not safe for concurrent use.
type Decoder struct {
	max          int
	decimals     int
	decimalComma bool // whether values in text use a decimal comma
	encoding     Encoding
	unit         string
	layouts      []timeLayout   // layouts of the unit "text"
	layoutText   string         // Format.TimeLayout
	zone         *time.Location // zone of such times; nil means UTC
	clock        *wallclock.Clock
	fields       [fieldCount]string // names by number; "" if the format does not have the field
	keyParts     int                // number of fields that make up the key
	timeParts    int                // number of fields that make up the time
	allowNoUser  bool               // whether records without a user are events
	skipNoValue  bool               // whether records without a value are skipped
	filter       *filter.Set        // nil without filters
	texts        internedTexts      // values of filters
	records      records
	ctx          context.Context
	schemas      SchemaSource // nil without a registry
	onUnfit      func(id uint32, reason error)

	// Scratch memory of Decode.
	raw        [][]byte           // bytes of the fields, by number
	unquote    [fieldCount][]byte // unescaped or rendered fields, by number
	keyBuffer  []byte             // key that is joined from several fields
	timeBuffer []byte             // time that is joined from several fields
	row        []byte             // unescaped fields of a row
	timed      bool               // whether find has stored the time in millis
	millis     int64
	value      int64
	plain      []byte // value, converted to JSON's grammar
	errs       map[Error]*Error
}

// Decode decodes a record into ev, or returns an *Error. If a record has several faults, the error
// names the first of these: the record as a whole, the user, the key, the time, the value.
//
// ev.Passes is set even if a field is missing or null; if it is 0, the record passes no filter.
//
// With WithSchemas, an error that is not an *Error means that the registry failed to return the
// schema; a later attempt may succeed.
func (d *Decoder) Decode(value []byte, ev *Event) error {
	ev.Passes = math.MaxUint64
	switch {
	case value == nil:
		return d.fail(ClassSkipped, "")
	case len(value) > d.max:
		return d.fail(ClassOversized, "")
	}
	d.value = 0
	if poison.On {
		d.poison()
	}
	if err := d.records.find(value); err != nil {
		if class := faultClass(err); d.filter != nil && !d.encoding.Tabular() && (class == ClassNullField ||
			class == ClassMissingField) {
			ev.Passes = d.passes()
		}
		return d.refine(err, value)
	}
	user, key := d.raw[fieldUser], d.joinedKey()
	switch {
	case len(user) == 0 && !d.allowNoUser:
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

// poison overwrites the previous event's memory in builds that detect the use of expired memory.
func (d *Decoder) poison() {
	for i := range d.unquote {
		poison.Bytes(d.unquote[i])
	}
	poison.Bytes(d.row)
	poison.Bytes(d.keyBuffer)
}

func (d *Decoder) passes() uint64 {
	for i := range d.filter.Names() {
		v, present := d.records.filterValue(i)
		d.filter.Put(i, v, present)
	}
	return d.filter.Passes()
}

// ValueText returns the text of the last record's value if the value is a column, or a JSON string
// or number. The text is valid until the next Decode.
func (d *Decoder) ValueText() []byte { return d.raw[fieldValue] }

// fail returns the error for a class and field. Each error is allocated only once.
func (d *Decoder) fail(class, field string) error {
	id := Error{Class: class, Field: field}
	e := d.errs[id]
	if e == nil {
		e = &Error{Class: class, Field: field}
		d.errs[id] = e
	}
	return e
}
