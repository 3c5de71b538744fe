// Package calendar numbers turns. A turn is the time between two successive ends of metric windows.
// The package computes the turn that covers a time, the end of a turn, the windows that end with a
// turn, the first turn whose slices open windows still need, and the times at which no window is
// open, so that the configuration can change.
//
// Guarantees: all results are pure functions of a generation's HEADER or GENERATION record and of
// the budget period; no window of a generation begins before its first turn.
package calendar
