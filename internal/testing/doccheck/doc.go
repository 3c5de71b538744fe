// Package doccheck tests that documents and source code agree: docs/rules.md names an existing test
// for every rule, docs/dependencies.md has a line for every dependency, and every error, flag and
// kind of metric is explained. It also tests that no library ends the process, and that random
// tests draw from the run's seed.
//
// It does not check that a document is true, only that the names in it exist and are complete.
package doccheck
