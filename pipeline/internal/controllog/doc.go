// Package controllog is the control log: the topic that says which records belong to a turn
// (CLOSE), what a turn released (SETTLED), which run may continue (RUN, EPOCH), which configuration
// is in force (HEADER, GENERATION), and whether the deployment has stopped itself (STOP, RECOVER).
// The processes of a run communicate through it (READER, PASSED, LOST, DRAIN, END).
//
// Package schemas has the formats of its records (control.go, control_close.go and so on).
// [Open] reads it; a [Log] follows it for every stage of the process; [View] holds its state and
// the rules by which a record counts or is ignored; a [Writer] appends to it.
//
// Guarantees: every reader of the same records holds the same View, wherever it begins to read (a
// record points back to the oldest one that a start needs). One thing is excepted: what the
// processes of a run wrote earlier in the epoch in force. The processes that need it have followed
// that epoch from its EPOCH on. Not guaranteed: anything if others can write to the topic in the
// deployment's name.
package controllog
