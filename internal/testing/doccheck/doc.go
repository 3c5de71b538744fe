// Package doccheck holds tests that the documents and the source tree agree: every rule has the
// test that docs/rules.md names, every dependency its line, every error, flag and kind of metric
// its explanation. No library ends the process, and random tests draw from the seed of the run.
//
// It has no code of its own. It does not check that a document is true, only that the names in it
// exist and that none is left out.
package doccheck
