// Package event decodes events: from a record of CSV, TSV, JSON or Avro it extracts the user, the
// key, the time and the value, and determines the filters that the event passes.
//
// A Format describes the encoding of records and names their fields. NewDecoder checks it once and
// returns a Decoder, which returns an Event or an *Error with the class of the dead letter.
//
// An Encoding holds everything that distinguishes one format from another: the table is in
// encoding.go, each decoder in its own file. Other production code reads the properties of an entry
// and names no format; package internal/testing/doccheck tests this.
//
// Guarantees:
//
//   - The same bytes, Format and registered schema give the same Event or the same Error on every
//     machine. Rows are read as by encoding/csv, JSON as by encoding/json, and Avro by
//     twmb/avro, which tests compare with goavro; tests and fuzzers compare the other decoders with
//     their models.
//   - An event's time and value are exact: floats are used only if the record has a double.
//   - No record makes a decoder panic, run or allocate without bound. A warm decoder allocates only
//     for filters, for escapes in JSON, and in Avro for the values that it extracts.
//   - Errors contain no data of a record.
//   - Two formats with the same Identity decode every record alike.
//
// The package does not guarantee that a record is complete, honest or unique (nothing is
// deduplicated), nor that the registry is available: Decode returns its errors.
//
// A Decoder is not for concurrent use; a Format may be shared.
package event
