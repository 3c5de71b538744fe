// Package demo runs the pipeline in one process, against an embedded broker, on a generated stream
// or a user's own file, and hands out the releases turn by turn.
//
// Guarantees: every record reaches the events topic with its original bytes; every release is
// handed out once, ordered by window end, metric and key; no two runs of a file share noise.
//
// Not guaranteed: the embedded broker has no append times, so the run trusts the times in the
// records. Without a given range, the range of windows comes from the data and is not protected:
// one record far away in time shows in the number of windows. The broker's data is lost when the
// process ends.
package demo
