// Package eventfile reads a file of events: it unpacks the file, finds the records of CSV, TSV,
// JSON or an Avro container, reads the header, and returns the records in order of event time.
//
// Guarantees:
//   - Every record of the file, even a broken one, is returned exactly once, as its original bytes
//     without the line terminator. A quoted CSV field may span several lines.
//   - The limits bound memory, however large the file or a record is. The records of a larger file
//     go to a temporary file on disk.
//   - Records of equal time keep the order of the file.
//   - A record without a usable time follows the record before it in the file, so that it does not
//     advance the watermark.
//
// Not guaranteed: that a record is well-formed, and anything about a file that changes while it is
// read. An oversized record is truncated. The temporary file contains raw records. It is unlinked
// as soon as it is open or, if the operating system does not permit that, by Close.
package eventfile
