// Package eventfile reads a file of events: it unpacks the file, finds the records of CSV, TSV,
// JSON or an Avro container, reads the header, and returns the records in order of event time,
// however the file was ordered.
//
// Guarantees:
//   - Every record of the file, also a broken one, is returned exactly once, as its original bytes
//     without the line terminator. A quoted CSV field may go over several lines.
//   - Memory is bounded by the limits given, whatever the size of the file or
//     of one record: what does not fit is sorted in runs on disk.
//   - Records of equal time keep the order of the file.
//   - A record without a usable time is returned right after the record that precedes it in the
//     file, so that it moves no watermark.
//
// Not guaranteed: that a record is well formed (the event decoder of the pipeline decides that),
// and nothing about a file that changes while it is read. An oversized record is returned
// truncated. In an Avro container, if a record cannot be read, the
// rest of its block is one broken record. Runs on disk have raw records: they are unlinked as soon
// as they are open if the operating system allows it, else removed by Close.
package eventfile
