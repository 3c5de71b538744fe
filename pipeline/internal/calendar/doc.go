// Package calendar numbers turns: it cuts event time at every end of a metric's window, and a turn
// is the time between two cuts. It says which turn covers a time, when a turn ends, which windows
// end with it, and from which turn on slices of open windows are still needed.
//
// Guarantees: a pure function of a generation's HEADER or GENERATION record and of the budget's
// period; the number of a turn never changes, whatever generations follow.
package calendar
