// Package replay writes the records of a file to an events topic: unchanged, in the order of the
// file, with the time of the event, to a partition chosen by a hash of the user id.
//
// Guarantees:
//   - Records have the form that the pipeline reads. Those of an Avro container are written bare if
//     the file uses the topic's schema, else with the id of the file's schema in a registry.
//   - The records of one user stay in the order of the file.
//   - A record without a usable time gets the time of the record before it, or the file's first.
//     The pipeline dead-letters it.
//   - A topic with append times is refused: the broker would replace the times, and none of the
//     file's events would count.
//
// Not guaranteed: that records are written only once. A second replay writes them again; after an
// error, the records before the error. Records longer than demo.MaxRecordBytes are skipped,
// which the result reports. Nothing is sorted; package eventfile can sort.
//
// A Replay is not for concurrent use.
package replay
