// Package report writes released values as one HTML page for people: the values of each metric with
// their intervals over time as charts and tables, the promise to users, and a summary of all
// windows.
//
// Guarantees:
//   - A page contains only released values and public configuration, because a Collector receives
//     nothing else.
//   - A page is one file that loads nothing. Its content security policy allows only its own script
//     and style. Keys and names appear as text, whatever they contain.
//   - Under the same options, the same releases give the same bytes, in any order and with any
//     number of copies.
//   - MaxPoints bounds memory, however many releases there are. If a page does not show all
//     releases, it states that, and its summary still counts all of them.
//
// Not guaranteed: that a chart shows every window separately. If there are more windows than
// pixels, a pixel spans the least and the greatest value of its windows, and the page states that.
// The table and the CSV show every value of the page. σ is rounded to six digits, and intervals are
// rounded outward to 1/1024. The summary counts a release twice if its window was dropped from the
// page before the second copy was added.
package report
