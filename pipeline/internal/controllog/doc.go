// Package controllog reads and writes the control log. This topic records which events belong to a
// turn (CLOSE), the end of the turn's release (SETTLED), which run may continue (RUN, EPOCH), which
// configuration is in force (HEADER, GENERATION), and whether the deployment has stopped itself
// (STOP, RECOVER). The processes of a run communicate through it (READER, PASSED, LOST, DRAIN,
// END).
//
// Package schemas defines the formats of the records (control.go, control_close.go and so on).
// [Open] reads the log. A [Log] follows it for every stage of the process. A [View] holds the state
// and applies the rules that decide whether a record counts. A [Writer] appends to the log.
//
// Guarantees: every reader of the same records has the same View, wherever it begins to read,
// because each record points back to the oldest one that a start needs. The only exceptions are
// earlier records with which the processes of a run communicate in the epoch in force; processes
// that need these have followed the epoch from its EPOCH. Nothing is guaranteed if others can write
// to the topic in the deployment's name.
package controllog
