// Package filter compiles and runs the filters of metrics: expressions over an event's fields, in
// the language of expr-lang without functions, variables and loops.
//
// Guarantees: a filter's time is linear in its length and in the event's, and its memory is
// bounded. The same event gives the same result, whatever was evaluated before. An event without a
// field that a filter needs does not pass. Errors contain the line and column in the filter's text
// and no data from an event.
//
// The package does not guarantee that a filter can ever be true.
package filter
