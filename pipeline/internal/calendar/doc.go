// Package calendar numbers turns: the slices of event time between the ends of the metrics'
// windows. It says which turn covers a time, when a turn ends, which windows end with it, and which
// of its slices are still needed.
//
// Guarantees: a pure function of a generation's HEADER or GENERATION record and of the budget's
// period; the number of a turn never changes, whatever generations follow.
package calendar
