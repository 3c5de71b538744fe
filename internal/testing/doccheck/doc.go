// Package doccheck holds tests that the documents and the source tree agree: every rule has the
// test that docs/rules.md names, every dependency its line, every setting, error and flag its
// explanation, every package its comment. Comments, texts and pages keep to the words of the
// glossary, no library ends the process, and every kind of metric is known everywhere.
//
// It has no code of its own. It does not check that what a document says is
// true, only that what it names is there and that nothing is left out.
package doccheck
