// Package event decodes events: one record of CSV, TSV, JSON or Avro into its user, key, time and
// value, and the filters that it passes.
//
// A Format says how records are encoded and which fields hold what; NewDecoder checks it once and
// makes a Decoder, which returns an Event or an *Error with the class of the dead letter that the
// record becomes.
//
// Guarantees:
//
//   - A record is accepted or refused for what is in it, and what its schema is in the registry:
//     the same bytes and the same Format give the same Event or the same Error, on every machine.
//     Rows are read as encoding/csv reads them, JSON as encoding/json, Avro as goavro 2.15 within
//     bounds of its own; tests and fuzzers hold each of them to these.
//   - An event's time and value are exact: no float is involved but where the record itself has a
//     double.
//   - No record makes a decoder panic, run or allocate without bound. Nothing is allocated for a
//     record once a decoder is warm, but for filters.
//   - Errors hold nothing of a record: neither users nor keys nor values.
//   - Two formats with the same Identity decode every record alike.
//
// Not guaranteed: that a record is a whole and honest event, that an accepted record is the only
// one of its kind (nothing is deduplicated), and that schemas can be had from a registry, whose
// errors Decode hands on.
//
// A Decoder is not for concurrent use; a Format may be shared.
package event
