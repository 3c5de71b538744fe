// Package doccheck holds tests that the documents and the source tree agree:
// that every rule has the test that docs/rules.md names, every dependency its
// line, every setting, error and flag its explanation, every package its
// comment; that comments, texts and pages keep to the words of the glossary; that
// the files, packages, identifiers and tests that pages name exist; that no library
// ends the process; and that a kind of metric is named in its table only, and known
// everywhere.
//
// It has no code of its own. It does not check that what a document says is
// true, only that what it names is there and that nothing is left out.
package doccheck
