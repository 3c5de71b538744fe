package eventfile

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tollgate-dp/tollgate/schemas/event"
)

// FormatError means that the first records of a file are not in the given format.
type FormatError struct {
	Given     string
	Fits      string // the format that fits; "" if no format fits
	Found     string // description of the beginning of the file, without data, and a remedy if there is one
	Separator string // the Format.Separator with which the file is CSV, or ""
}

// Error describes the file. The caller adds the flag that the user must change.
func (e *FormatError) Error() string {
	if e.Fits == "" {
		return fmt.Sprintf("it is not %s: it begins with %s", e.Given, e.Found)
	}
	return fmt.Sprintf("it is not %s but %s: it begins with %s", e.Given, e.Fits, e.Found)
}

// firstLines is the maximum number of lines that are examined.
const firstLines = 20

// mark is the byte order mark of UTF-8.
var mark = []byte("\uFEFF")

// headOf returns the first bytes of r that are available without waiting for more from a pipe. It
// ignores errors of r, because the first Read returns them too.
func headOf(r *bufio.Reader) []byte {
	r.Peek(4) //nolint:errcheck // see above
	head, _ := r.Peek(r.Buffered())
	return head
}

// mismatch returns a *FormatError or an ErrEncoding if the file is certainly not in the given
// format. A few broken records are not enough: all of the first lines must be in another format,
// and none of them in the given one.
func mismatch(given event.Encoding, head []byte) error {
	for _, f := range foreign {
		if len(head) > f.offset && bytes.HasPrefix(head[f.offset:], []byte(f.mark)) {
			return fmt.Errorf("%w: %s", ErrEncoding, f.found)
		}
	}
	head = bytes.TrimPrefix(head, mark)
	mismatched := func(fits, found string) error {
		if fits == given.Name {
			return nil
		}
		return &FormatError{Given: given.Name, Fits: fits, Found: found}
	}
	formats := event.Encodings()
	for _, e := range formats {
		if e.Contained() && bytes.HasPrefix(head, []byte(e.Mark)) {
			return mismatched(e.Name, e.Begins)
		}
	}
	if bytes.HasPrefix(head, []byte("PAR1")) {
		return mismatched("", "the mark of a Parquet file: convert it, for example to "+formats[0].Name)
	}
	for _, e := range formats {
		if spread(e, head) {
			return mismatched(e.Name, e.Begins)
		}
	}
	lines := linesOf(head)
	allLines := func(is func(line []byte) bool) bool {
		return len(lines) > 0 && !slices.ContainsFunc(lines, func(line []byte) bool { return !is(line) })
	}
	if other := separated(given.Separator, lines); given.Tabular() && other != nil {
		return other.instead(given)
	}
	if slices.ContainsFunc(lines, given.Lines) {
		return nil
	}
	// The last format is tried first, because rows with tabs may contain commas in their fields.
	for _, e := range slices.Backward(formats) {
		if allLines(e.Lines) && (len(lines) > 1 || !e.Tabular()) { // one row is not enough
			return mismatched(e.Name, e.Begins)
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
	begins string // FormatError.Found; "" if the separator belongs to a format
}

var separators = [...]separator{
	{';', "columns that are separated by semicolons"},
	{'|', "columns that are separated by pipes"},
	{'\t', ""}, {',', ""},
	{' ', "columns that are separated by spaces: replace the spaces by commas, for example with tr -s ' ' ,"},
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

// separated returns another separator that may be right, or nil if there is none. given is 0 for a
// format without separator. There are two cases. If the first line does not contain the given
// separator, separated returns a separator that all lines contain, preferably equally often. If all
// lines contain another separator equally often, and the number of given separators is lower and
// varies, as with decimal commas, it returns the other separator. For lines of JSON it returns nil.
func separated(given byte, lines [][]byte) (other *separator) {
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
	if len(lines) == 0 {
		return nil
	}
	absent, json := bytes.IndexByte(lines[0], given) < 0, `{["`
	oneColumn := absent && given != 0
	if oneColumn {
		json = `{[` // a quote may begin the name of a column
	}
	if len(lines) < 2 && !oneColumn || slices.ContainsFunc(lines, func(line []byte) bool {
		return strings.IndexByte(json, line[0]) >= 0
	}) {
		return nil
	}
	leastGiven, mostGiven := count(given)
	for i, s := range separators {
		least, most := count(s.mark)
		switch {
		case s.mark == given || least < 1 || s.mark == ' ' && (given == 0 || len(lines) < 2):
		case least == most && (absent || s.mark != ' ' && leastGiven < mostGiven && mostGiven < least):
			return &separators[i]
		case oneColumn && s.mark != ' ' && other == nil:
			other = &separators[i]
		}
	}
	return other
}

// linesOf returns the first complete lines that are not empty. It drops the last line, which may be
// incomplete, unless it is the only one.
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
