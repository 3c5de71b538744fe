// Package filter compiles and runs the filters of metrics: expressions over an event's fields, in
// the language of expr-lang without functions, variables and loops.
//
// Guarantees: the time that a filter takes is linear in its length and the event's, and its memory
// is bounded; the same event gives the same result, whatever was evaluated before. An event without
// a field that a filter needs does not pass. Errors have line and column of the filter's text, and
// nothing of an event.
//
// Not guaranteed: that a filter can ever be true.
package filter
