// Package event decodes events: it extracts the user, the key, the time and the value from a CSV,
// TSV, JSON or Avro record and determines which filters the event passes.
//
// A Format describes the encoding of records and names their fields. NewDecoder checks a Format and
// returns a Decoder, which returns an Event or an *Error with the class of the dead letter.
//
// An Encoding holds everything that distinguishes one format from another. The table of Encodings
// is in encoding.go, and each format's decoder is in its own file. Other production code uses the
// properties of an Encoding and names no format; package internal/testing/doccheck tests this.
//
// Guarantees:
//
//   - The same bytes, Format and registered schema give the same Event or the same Error on every
//     machine. Rows are decoded as by encoding/csv and JSON as by encoding/json; tests and fuzzers
//     compare the results. Avro is decoded by twmb/avro, which tests compare with goavro.
//   - An event's time and value are exact: floating point is used only for Avro floats and doubles.
//   - No record makes a decoder panic, or run or allocate without bound. After its first records, a
//     decoder allocates only for filters, for escapes in JSON, and for Avro values other than
//     strings, integers and doubles.
//   - Errors contain no data from a record.
//   - Two formats with the same Identity decode every record alike.
//
// The package does not guarantee that a record is complete, honest or unique: nothing is
// deduplicated. It does not guarantee either that the registry is available.
//
// A Decoder is not safe for concurrent use; a Format is.
package event
