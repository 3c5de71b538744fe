// Package demo runs the pipeline inside one process, against an embedded
// broker, on a made-up stream or on a user's own file, and hands out the
// releases turn by turn. Flags become Settings in commands/demo (settings.go), and Settings a
// pipeline.Config in settings.go.
//
// Guarantees: every record of the source reaches the events topic as its
// original bytes; releases are handed out once each, ordered by window end,
// metric and key; no two runs of a file share noise.
//
// Not guaranteed: the embedded broker has no append times of its own, so the
// run stands under the producer-time promise: what a record's time says is
// believed. The range of windows comes from the data unless it is given, and is
// then not protected: one record far away in time shows in the number of
// windows. What is on the embedded broker is gone with the process.
package demo
