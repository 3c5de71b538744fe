// Package terminal draws releases for people: a table, a chart for the terminal and
// the progress of a run.
//
// Guarantees: everything fits the width asked for (80 columns unless told
// otherwise) when keys are shortened to it; no cursor movement is
// written unless the caller says that the output is a terminal; control characters
// in keys, and in whatever is written through Printable, are escaped, so that no name
// can steer the terminal. Nothing but released values and public facts is given to
// this package, and it draws nothing else.
//
// Not guaranteed: that a chart is exact. Bars are rounded to an eighth of the range, and if there
// are more windows than columns, a bar is the mean of several; the table has the numbers.
package terminal
