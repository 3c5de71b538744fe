// Package calendar numbers turns: it divides event time at every end of a metric's window, and a
// turn is the time between two such ends. It computes the turn that covers a time, the end of a
// turn, the windows that end with it, the first turn whose slices open windows still need, and the
// times when no window is open, so that the configuration can change.
//
// Guarantees: all results are pure functions of a generation's HEADER or GENERATION record and of
// the budget period; no window of a generation begins before its first turn.
package calendar
