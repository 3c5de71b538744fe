// Package report writes released values as one HTML page for people: each metric's values with
// their intervals over time as charts and tables, what was promised, and what can be said of all
// windows together.
//
// Guarantees: a page of released values has released values and public configuration in it, nothing
// else: a Collector is given nothing else. It is one file that loads nothing, under a content
// security policy that allows only its own script and style. Keys and names are text whatever they
// contain. The same releases in any order, each any number of times, under the same options give
// the same bytes. Memory is bounded by MaxPoints, not by the number of releases; where a page
// cannot have all of them it says so, and its summary still counts all.
//
// Not guaranteed: that a chart shows every window on its own. Where there are
// more windows than pixels a pixel spans the least and the greatest value, and
// the page says so; its table and its CSV have every value of the page. σ is
// rounded to six digits and the interval outward to 1/1024. A release that
// comes twice is counted twice in the summary when its window had been left out
// of the page before the second copy came.
package report
