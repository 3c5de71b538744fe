// Package page writes what an experiment found as a page of internal/app/report.
//
// Guarantees: the page is one file that loads nothing; texts are texts whatever they contain. The
// same result gives the same bytes. It has no user's data in it but what the experiment found.
package page
