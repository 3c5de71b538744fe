// Package filter compiles and evaluates the filters of metrics. A filter is an expression over an
// event's fields, in the language of expr-lang without functions, variables and loops.
//
// The package guarantees that the time of an evaluation is linear in the filter's length and in the
// event's length, and that its memory is bounded. The same event always gives the same result,
// regardless of earlier evaluations. An event does not pass a filter that needs a field that the
// event lacks. Errors contain the line and column in the filter's text and no data from an event.
//
// The package does not guarantee that any event can pass a filter.
package filter
