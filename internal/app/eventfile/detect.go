package eventfile

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// FormatError says that a file is not of the format that was given, by its first records.
type FormatError struct {
	Given string
	Fits  string // "": none of those that can be read
	Found string // what the file begins with, and what to do where no format fits; no data
}

// Error says what the file is; the caller says which flag to change.
func (e *FormatError) Error() string {
	if e.Fits == "" {
		return fmt.Sprintf("it is not %s: it begins with %s", e.Given, e.Found)
	}
	return fmt.Sprintf("it is not %s but %s: it begins with %s", e.Given, e.Fits, e.Found)
}

// firstLines bounds how many lines are looked at.
const firstLines = 20

// mark is the byte order mark of UTF-8.
var mark = []byte("\uFEFF")

// headOf returns what r has of the first bytes, without waiting for more of a pipe. An error of r
// is left to the first Read.
func headOf(r *bufio.Reader) []byte {
	r.Peek(4) //nolint:errcheck // so it is
	head, _ := r.Peek(r.Buffered())
	return head
}

// mismatch compares the beginning of a file with the format that was given. Broken records are no
// reason: every one of the first lines must be of another format, and none of the one given.
// Errors: *FormatError, ErrEncoding.
func mismatch(given event.Encoding, head []byte) error {
	if err := encoded(head); err != nil {
		return err
	}
	head = bytes.TrimPrefix(head, mark)
	wrong := func(fits, found string) error {
		if fits == given.Name {
			return nil
		}
		return &FormatError{Given: given.Name, Fits: fits, Found: found}
	}
	formats := event.Encodings()
	for _, e := range formats {
		if e.Contained() && bytes.HasPrefix(head, []byte(e.Mark)) {
			return wrong(e.Name, e.Begins)
		}
	}
	if bytes.HasPrefix(head, []byte("PAR1")) {
		return wrong("", "the mark of a Parquet file: convert it, for example to "+formats[0].Name)
	}
	for _, e := range formats {
		if spread(e, head) {
			return wrong(e.Name, e.Begins)
		}
	}
	lines := linesOf(head)
	if slices.ContainsFunc(lines, given.Lines) {
		return nil
	}
	all := func(is func(line []byte) bool) bool {
		return len(lines) > 0 && !slices.ContainsFunc(lines, func(line []byte) bool { return !is(line) })
	}
	// From the last entry on: rows with tabs may have commas in their texts.
	for _, e := range slices.Backward(formats) {
		if all(e.Lines) && (len(lines) > 1 || !e.Tabular()) { // one row is too little to tell
			return wrong(e.Name, e.Begins)
		}
	}
	if len(lines) > 1 && all(func(line []byte) bool { return bytes.IndexByte(line, ';') >= 0 && line[0] != '{' && line[0] != '[' }) {
		return wrong("", "columns that are separated by semicolons: write them with commas")
	}
	return nil
}

// linesOf returns the first lines that are not empty and whole: the last one may be cut off,
// unless it is the only one.
func linesOf(head []byte) (lines [][]byte) {
	all := bytes.Split(head, []byte("\n"))
	if len(all) > 1 {
		all = all[:len(all)-1]
	}
	for _, line := range all {
		if line = bytes.TrimSpace(line); len(line) > 0 && len(lines) < firstLines {
			lines = append(lines, line)
		}
	}
	return lines
}
