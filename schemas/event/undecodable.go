package event

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/schemas"
)

// compressionMarks are the first bytes of data that is compressed by gzip, zstd or LZ4.
var compressionMarks = [...]string{"\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "\x04\x22\x4d\x18"}

// rowsAfter are the paths on change-data topics to the row after a change: Debezium's path, and
// Debezium's path within Kafka Connect's envelope.
var rowsAfter = [...]string{"after.", "payload.after."}

// nullAbove returns the class of a record in which a value above field is null.
func (d *Decoder) nullAbove(field int) string {
	if slices.ContainsFunc(rowsAfter[:], func(row string) bool { return strings.HasPrefix(d.fields[field], row) }) {
		return ClassSkipped
	}
	return ClassNullField
}

// faultClass returns the class of an *Error, and "" for any other error.
func faultClass(err error) string {
	if bad, ok := err.(*Error); ok { //nolint:errorlint // it is not wrapped here
		return bad.Class
	}
	return ""
}

// refine returns err, or a more specific error for a faulty value or an undecodable record.
func (d *Decoder) refine(err error, record []byte) error {
	if bad, ok := err.(*Error); ok && bad.Field == "value" { //nolint:errorlint // it is not wrapped here
		switch short := bad.Class == ClassMissingField && d.encoding.Tabular(); {
		case bad.Class == ClassWrongType:
			return d.fail(ClassBadValue, "value")
		case short || bad.Class == ClassSkipped:
		case d.skipNoValue:
			return d.fail(ClassSkipped, "value")
		default:
			return d.fail(ClassNoValue, "value")
		}
	}
	if faultClass(err) != ClassUndecodable || len(record) < schemas.RegistryBytes {
		return err
	}
	begins := func(mark string) bool { return bytes.HasPrefix(record, []byte(mark)) }
	class := ClassUndecodable
	switch a, avro := d.records.(*avroSource); {
	case slices.ContainsFunc(compressionMarks[:], begins):
		class = ClassPacked
	case avro && a.bare == nil && record[0] != 0:
		class = ClassUnframed
	case avro:
		// The bytes after the id must be exactly one record.
		if a.bare != nil && record[0] == 0 && a.bare.whole(record[schemas.RegistryBytes:]) {
			class = ClassFramed
		}
	case begins("\xff\xfe"), begins("\xfe\xff"), record[0] == 0 && record[1] > 0 && record[2] == 0, record[0] > 0 &&
		record[1] == 0 && record[2] > 0 && record[3] == 0:
		class = ClassNotUTF8 // UTF-16
	case record[0] == 0:
		class = ClassFramed
	case d.encoding.Tabular():
	case !utf8.Valid(record):
		class = ClassNotUTF8
	case begins(`"{\`):
		class = ClassInString
	}
	return d.fail(class, "")
}
