package eventfile

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// FormatError means that a file's first records are not of the given format.
type FormatError struct {
	Given string
	Fits  string // "": none of those that can be read
	Found string // beginning of the file, and the remedy if no format fits; no data
	// Separator is a Format.Separator with which the file can be read as CSV; "" if there is none.
	Separator string
}

// Error describes the file; the caller names the flag to change.
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
	for _, f := range foreign {
		if len(head) > f.offset && bytes.HasPrefix(head[f.offset:], []byte(f.mark)) {
			return fmt.Errorf("%w: %s", ErrEncoding, f.found)
		}
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
	all := func(is func(line []byte) bool) bool {
		return len(lines) > 0 && !slices.ContainsFunc(lines, func(line []byte) bool { return !is(line) })
	}
	if other := separated(given.Separator, lines); given.Tabular() && other != nil {
		return other.instead(given)
	}
	if slices.ContainsFunc(lines, given.Lines) {
		return nil
	}
	// From the last entry on: rows with tabs may have commas in their texts.
	for _, e := range slices.Backward(formats) {
		if all(e.Lines) && (len(lines) > 1 || !e.Tabular()) { // one row is not enough
			return wrong(e.Name, e.Begins)
		}
	}
	if other := separated(0, lines); other != nil {
		return other.instead(given)
	}
	return nil
}

// separator is a character that may separate columns.
type separator struct {
	mark   byte
	begins string // as in a FormatError; "" for a format's own
}

var separators = [...]separator{
	{';', "columns that are separated by semicolons: write them with commas"},
	{'|', "columns that are separated by pipes: write them with commas"},
	{'\t', ""}, {',', ""},
	{' ', "columns that are separated by spaces: write them with commas, for example with tr -s ' ' ,"},
}

// instead returns the error for a file whose columns are separated by s.
func (s *separator) instead(given event.Encoding) *FormatError {
	for _, e := range event.Encodings() {
		switch {
		case e.Separator != s.mark:
		case e.Name == given.Name:
			return &FormatError{Given: given.Name, Found: e.Begins + ": leave out --separator"}
		default:
			return &FormatError{Given: given.Name, Fits: e.Name, Found: e.Begins}
		}
	}
	out := &FormatError{Given: given.Name, Found: s.begins}
	if s.mark != ' ' {
		out.Separator = string(s.mark)
	}
	return out
}

// separated returns the separator that all lines have equally often, although the first line has
// none of the given columns, or although those separate it unequally often and less often, as
// decimal commas do. Nil if there is none, and for lines of JSON.
func separated(given byte, lines [][]byte) *separator {
	count := func(mark byte) (least, most int) {
		least = math.MaxInt
		for _, line := range lines {
			n := bytes.Count(line, []byte{mark})
			if mark == ' ' {
				n = len(bytes.Fields(line)) - 1
			}
			least, most = min(least, n), max(most, n)
		}
		return least, most
	}
	if len(lines) < 2 || slices.ContainsFunc(lines, func(line []byte) bool {
		return line[0] == '{' || line[0] == '[' ||
			line[0] == '"'
	}) {
		return nil
	}
	leastGiven, mostGiven := count(given)
	none := bytes.IndexByte(lines[0], given) < 0
	for i, s := range separators {
		least, most := count(s.mark)
		if s.mark == given || least < 1 || least < most || s.mark == ' ' && given == 0 {
			continue
		}
		if none || s.mark != ' ' && leastGiven < mostGiven && mostGiven < least {
			return &separators[i]
		}
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
