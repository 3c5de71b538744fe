// Package event decodes events: from one record of CSV, TSV, JSON or Avro it gets the user, the
// key, the time and the value, and the filters that the event passes.
//
// A Format describes the encoding of records and names their fields; NewDecoder checks it once and
// makes a Decoder, which returns an Event or an *Error with the class of the dead letter that the
// record becomes.
//
// An Encoding has all differences between the records of one format and another: the table is in
// encoding.go, each decoder in a file beside it. All other code that ships asks an entry for a
// property and names no format; package internal/testing/doccheck tests it.
//
// Guarantees:
//
//   - Whether a record is accepted depends only on its bytes, the Format, and its schema in the
//     registry: the same bytes and the same Format give the same Event or the same Error, on every
//     machine.
//     Rows are read as encoding/csv reads them, JSON as encoding/json, Avro as package
//     formats/avro says, nearly as goavro 2.15; tests and fuzzers compare each decoder with its model.
//   - An event's time and value are exact: no float is involved unless the record itself has a
//     double.
//   - No record makes a decoder panic, run or allocate without bound. Nothing is allocated for a
//     record once a decoder is warm, except for filters and for escapes in JSON.
//   - Errors have nothing of a record: neither users nor keys nor values.
//   - Two formats with the same Identity decode every record alike.
//
// Not guaranteed: that a record is a whole and honest event, that an accepted record is unique
// (nothing is deduplicated), and that the registry is available: Decode returns its errors.
//
// A Decoder is not for concurrent use; a Format may be shared.
package event
