// Package controllog reads and writes the control log: the topic that records which events belong
// to a turn (CLOSE), the end of its release (SETTLED), which run may continue (RUN, EPOCH), which
// configuration is in force (HEADER, GENERATION), and whether the deployment has stopped itself
// (STOP, RECOVER). The processes of a run communicate through it (READER, PASSED, LOST, DRAIN,
// END).
//
// Package schemas defines the formats of its records (control.go, control_close.go and so on).
// [Open] reads the log; a [Log] follows it for every stage of the process; a [View] holds its state
// and implements the rules that decide whether a record counts; a [Writer] appends to it.
//
// Guarantees: every reader of the same records has the same View, wherever it begins to read (each
// record points back to the oldest one that a start needs). The only exceptions are earlier records
// with which the processes of a run communicate in the epoch in force; processes that need these
// have followed the epoch from its EPOCH. Not guaranteed: anything if others can write to the topic
// in the deployment's name.
package controllog
