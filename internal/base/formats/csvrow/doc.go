// Package csvrow reads one row of CSV, field by field, without copying. The decoder of events needs
// the fields; the reader of files only needs to know where a row ends.
//
// Guarantees: rows are the same as with encoding/csv in its default settings (RFC 4180). Exhaustive
// tests, and fuzzers of schemas/event and internal/app/eventfile, compare the two. Only
// AppendUnescaped allocates, and no function panics. All functions are safe for concurrent use.
//
// The package has no error messages: encoding/csv reads the header of a file, and its errors
// contain the line and column.
package csvrow
