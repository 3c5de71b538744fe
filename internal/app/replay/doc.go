// Package replay writes the records of a file to an events topic: as they are, in the
// order of the file, to the partition that a hash of the user's id names, under the time
// of the event.
//
// Guarantees:
//   - Records are written as the pipeline reads the topic: those of an Avro container
//     bare, if the file was written with the topic's schema, or with the id that a schema
//     registry has for the file's schema. Else nothing is written.
//   - The records of one user stay in the order of the file.
//   - A record without a usable time takes that of the record before it, or of the first
//     that has one: the pipeline dead-letters it.
//   - A topic with append times is refused unless that is accepted: the broker would
//     replace the times, and none of the file's events would count.
//
// Not guaranteed: once only. A replay that is begun again writes its records again, and so
// does one that fails, up to where it failed. Records longer than demo.MaxRecordBytes are left
// out, and the result says so. Nothing is sorted: package eventfile sorts.
//
// A Replay belongs to one goroutine at a time.
package replay
