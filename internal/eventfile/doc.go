// Package eventfile reads a person's own file of events: it finds the records of a
// CSV, TSV, JSON-lines or Avro container file, reads the header, and hands the
// records back in order of event time, however the file was ordered.
//
// Guarantees:
//   - Every record of the file is handed out exactly once, as its original
//     bytes without the line terminator, broken records included. A quoted CSV
//     field may span lines.
//   - Memory is bounded by the limits given, whatever the size of the file or
//     of one record: what does not fit is sorted in runs on disk.
//   - Records of equal time keep the order of the file.
//   - A record without a usable time is handed out right behind the record
//     that precedes it in the file, so that it moves no watermark.
//
// Not guaranteed: that a record is well formed (the event decoder of the
// pipeline decides that), and nothing about a file that changes while it is
// read. An oversized record is handed out truncated, with its length and
// SHA-256. In an Avro container, a record that cannot be read makes one broken
// record of the rest of its block. Runs on disk hold raw records: they are unlinked as soon as they are
// open where the operating system allows it, and removed on Close elsewhere.
package eventfile
