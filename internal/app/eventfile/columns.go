package eventfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// ErrColumns is returned when column names cannot be used.
var ErrColumns = errors.New("the columns cannot be used")

// ErrNoRecords says that a file has no records.
var ErrNoRecords = errors.New("there are no records")

// NoRecords returns an ErrNoRecords that says whether there is a header.
func NoRecords(header bool) error {
	if header {
		return fmt.Errorf("%w: the header is all there is; name a file with events after it", ErrNoRecords)
	}
	return fmt.Errorf("%w: the file is empty; name a file with events", ErrNoRecords)
}

// ColumnError says that a field is not a column, or two. It is an ErrColumns.
type ColumnError struct {
	Column string // as it was asked for
	Reason string // a sentence: what is wrong, and what to do
}

func (e *ColumnError) Error() string { return e.Reason }

// Is makes every ColumnError an ErrColumns.
func (e *ColumnError) Is(target error) bool { return target == ErrColumns }

// ParseHeader returns the column names in a header record.
func ParseHeader(format string, record []byte) ([]string, error) {
	var names []string
	switch e := event.EncodingOf(format); {
	case e.Quoted:
		r := csv.NewReader(bytes.NewReader(record))
		var err error
		if names, err = r.Read(); err != nil {
			return nil, fmt.Errorf("%w: the header line is not a %s record: %w", ErrColumns, e.Name, err)
		}
	case e.Tabular():
		names = strings.Split(string(record), string(rune(e.Separator)))
	default:
		return nil, fmt.Errorf("%w: %s has no header line", ErrColumns, format)
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, nil
}

// missing says that there is no such column, and which one may have been meant. It does not list
// the columns: a file without a header has data there.
func missing(names []string, field string) string {
	text := fmt.Sprintf("there is no column %q among the %d columns", field, len(names))
	if at := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, field) }); at >= 0 {
		return text + fmt.Sprintf(": column %d is called %q", at+1, names[at])
	}
	return text + ": they must be named as in the first line of the file, or in --columns"
}

// CheckColumns checks that all names are UTF-8, and that each of fields is exactly once among them.
// Its error has nothing of a file but what fields has, in any case. Errors: ErrColumns, and a
// *ColumnError where one of fields is the reason.
func CheckColumns(names []string, fields ...string) error {
	for i, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("%w: the name of column %d is not UTF-8", ErrColumns, i+1)
		}
	}
	for _, field := range fields {
		at := slices.Index(names, field)
		if at < 0 {
			return &ColumnError{Column: field, Reason: missing(names, field)}
		}
		if again := slices.Index(names[at+1:], field); again >= 0 {
			return &ColumnError{Column: field, Reason: fmt.Sprintf("columns %d and %d are both called %q: give one of them another name", at+1, at+again+2, field)}
		}
	}
	return nil
}
