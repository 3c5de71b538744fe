// Package terminal draws releases for people: a table, a chart and the progress of a run.
//
// Guarantees: everything fits the given width (80 columns by default), with keys shortened if
// necessary; control characters in keys, and in everything written through Printable, are escaped,
// so that no name can control the terminal. The package receives only released values and public
// facts, and draws nothing else.
//
// Not guaranteed: that a chart is exact. Bars are rounded to an eighth of the range, and if there
// are more windows than columns, a bar is the mean of several; the table has the numbers.
package terminal
