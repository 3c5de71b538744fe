// Package report writes released values as one HTML page for people: the values of each metric with
// their intervals over time as charts and tables, the promise to users, and a summary of all
// windows.
//
// Guarantees: a page contains only released values and public configuration, because a Collector
// knows nothing else. It is one file that loads nothing, under a content security policy that
// allows only its own script and style. Keys and names appear as text, whatever they contain. The
// same releases in any order, each any number of times, give the same bytes under the same options.
// Memory is bounded by MaxPoints, not by the number of releases. A page without room for all of
// them states that, and its summary still counts all.
//
// Not guaranteed: that a chart shows every window separately. If there are more windows than
// pixels, a pixel spans the least and the greatest value, and the page states that; its table and
// its CSV show every value of the page. σ is rounded to six digits, and the interval outward to
// 1/1024. The summary counts a release twice if its window was dropped from the page before the
// second copy was added.
package report
