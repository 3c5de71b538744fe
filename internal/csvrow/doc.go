// Package csvrow reads one row of CSV, field by field, without copying. Decoding events takes the
// fields; finding the records of a file needs to know only where a row ends.
//
// Guarantees: a row is what encoding/csv takes for one with its default settings (RFC 4180), which
// exhaustive tests and fuzzers of schemas/event and internal/eventfile hold it to. Nothing is allocated
// but by AppendUnescaped, and nothing panics. All functions are safe for concurrent use.
//
// Not guaranteed: texts for people. The header of a file is read by encoding/csv, whose errors name
// line and column.
package csvrow
