package eventfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrColumns is returned when column names cannot be used.
var ErrColumns = errors.New("unusable columns")

// ParseHeader returns the column names in a header record.
func ParseHeader(format Format, record []byte) ([]string, error) {
	var names []string
	switch format {
	case CSV:
		r := csv.NewReader(bytes.NewReader(record))
		var err error
		if names, err = r.Read(); err != nil {
			return nil, fmt.Errorf("%w: the header line is not a CSV record: %w", ErrColumns, err)
		}
	case TSV:
		names = strings.Split(string(record), "\t")
	default:
		return nil, fmt.Errorf("%w: %s has no header line", ErrColumns, format)
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, nil
}

// CheckColumns checks that all names are UTF-8, and that each of fields is exactly once among them.
// Its error names columns of the header only, never data. Errors: ErrColumns.
func CheckColumns(names []string, fields ...string) error {
	for i, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("%w: the name of column %d is not UTF-8", ErrColumns, i+1)
		}
	}
	for _, field := range fields {
		at := slices.Index(names, field)
		if at < 0 {
			return fmt.Errorf("%w: there is no column %q among the %d columns", ErrColumns, field, len(names))
		}
		if again := slices.Index(names[at+1:], field); again >= 0 {
			return fmt.Errorf("%w: columns %d and %d are both called %q", ErrColumns, at+1, at+again+2, field)
		}
	}
	return nil
}
