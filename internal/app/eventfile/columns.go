package eventfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/base/formats/spelling"
	"github.com/tollgate-dp/tollgate/schemas/event"
)

// ErrColumns is returned when column names cannot be used.
var ErrColumns = errors.New("the columns cannot be used")

// ErrNoRecords means that a file has no records.
var ErrNoRecords = errors.New("there are no records")

// NoRecords returns an ErrNoRecords. header reports whether the file has a header.
func NoRecords(header bool) error {
	if header {
		return fmt.Errorf("%w: the file contains only a header; give a file that has events after the header",
			ErrNoRecords)
	}
	return fmt.Errorf("%w: the file is empty; give a file that contains events", ErrNoRecords)
}

// ColumnError means that a column is missing or appears twice. It is an ErrColumns.
type ColumnError struct {
	Column string // name of the requested column
	Reason string // a sentence with the fault and its remedy
}

func (e *ColumnError) Error() string { return e.Reason }

// Is makes every ColumnError an ErrColumns.
func (e *ColumnError) Is(target error) bool { return target == ErrColumns }

// ParseHeader returns the column names in a header record.
func ParseHeader(f event.Format, record []byte) ([]string, error) {
	var names []string
	switch e := f.Encoding(); {
	case e.Quoted:
		r := csv.NewReader(bytes.NewReader(record))
		r.Comma = rune(e.Separator)
		var err error
		if names, err = r.Read(); err != nil {
			return nil, fmt.Errorf("%w: the header line is not a %s record: %w", ErrColumns, e.Name, err)
		}
	case e.Tabular():
		names = strings.Split(string(record), string(rune(e.Separator)))
	default:
		return nil, fmt.Errorf("%w: %s has no header line", ErrColumns, f.Format)
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, nil
}

// missing returns the error text for a missing column. The text lists the existing columns and
// suggests the closest name.
func missing(names []string, field string) string {
	ending := "."
	if meant := spelling.Nearest(names, field); meant != "" {
		ending = fmt.Sprintf(": did you mean %q?", meant)
	}
	return fmt.Sprintf("there is no column %q%s The columns are %s", field, ending, listed(names))
}

// isHeader reports whether a line certainly contains names and not values: it contains one of
// fields, but no time and no number. Every event contains a time or a number.
func isHeader(names, fields []string, timeLayout string) bool {
	isField := func(name string) bool {
		return slices.ContainsFunc(fields, func(field string) bool { return strings.EqualFold(field, name) })
	}
	isValue := func(name string) bool {
		return name != "" && (name[0] >= '0' && name[0] <= '9' || name[0] == '-') || event.IsTime(name, timeLayout)
	}
	return slices.ContainsFunc(names, isField) && !slices.ContainsFunc(names, isValue)
}

// maxListed is the maximum number of names that a message lists.
const maxListed = 20

func listed(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}

// CheckHeader is like CheckColumns, for names from the first line of a file. If the file has no
// header, that line is data. The error therefore shows the line only if it is certainly a header.
// timeLayout is the time layout of the format, or "".
func CheckHeader(names []string, timeLayout string, fields ...string) error {
	err := CheckColumns(names, fields...)
	var columnErr *ColumnError
	if errors.As(err, &columnErr) && !slices.Contains(names, columnErr.Column) && !isHeader(names, fields, timeLayout) {
		columnErr.Reason = fmt.Sprintf("there is no column %q among the %d columns. The first line may be data, so it "+
			"is not shown: correct the names of the fields or, if the first line is data, give --columns with a name "+
			"for each column instead of --header", columnErr.Column, len(names))
	}
	return err
}

// CheckColumns checks that all names are UTF-8 and that each of fields appears exactly once among
// them. The error is an ErrColumns. If one of fields is the reason, it is also a *ColumnError.
func CheckColumns(names []string, fields ...string) error {
	for i, name := range names {
		if !utf8.ValidString(name) {
			return fmt.Errorf("%w: the name of column %d is not UTF-8: give the encoding of the file, for example "+
				"--encoding cp1252", ErrColumns, i+1)
		}
	}
	for _, field := range fields {
		column := slices.Index(names, field)
		if column < 0 {
			return &ColumnError{Column: field, Reason: missing(names, field)}
		}
		if second := slices.Index(names[column+1:], field); second >= 0 {
			return &ColumnError{Column: field, Reason: fmt.Sprintf("columns %d and %d are both called %q: give one of "+
				"them another name", column+1, column+second+2, field)}
		}
	}
	return nil
}
