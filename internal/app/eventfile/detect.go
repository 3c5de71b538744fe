package eventfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// FormatError says that a file is not of the format that was given, by its first records.
type FormatError struct {
	Given Format
	Fits  Format // "": none of those that can be read
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
func mismatch(given Format, head []byte) error {
	if err := encoded(head); err != nil {
		return err
	}
	head = bytes.TrimPrefix(head, mark)
	wrong := func(fits Format, found string) error {
		if fits == given {
			return nil
		}
		return &FormatError{Given: given, Fits: fits, Found: found}
	}
	switch {
	case bytes.HasPrefix(head, []byte("Obj\x01")):
		return wrong(Avro, "the mark of an Avro container file")
	case bytes.HasPrefix(head, []byte("PAR1")):
		return wrong("", "the mark of a Parquet file: convert it, for example to csv")
	case len(head) == 0:
		return nil
	}
	lines := linesOf(head)
	objects := 0
	for _, line := range lines {
		if line[0] == '{' && (json.Valid(line) || given == JSONL) {
			objects++
		}
	}
	switch {
	case objects > 0 && objects == len(lines):
		return wrong(JSONL, "a JSON object in each line")
	case given == JSONL && len(lines) > 0 && lines[0][0] == '[':
		return wrong("", "an array of JSON: write one object in each line, for example with jq -c '.[]'")
	case given == JSONL && len(lines) > 1 && string(lines[0]) == "{":
		return wrong("", "an object of JSON that goes over several lines: write one object in each line, for example with jq -c .")
	case objects > 0 || len(lines) < 2 || bytes.ContainsAny(lines[0][:1], "{["): // too little to tell
		return nil
	case given.Tabular() && some(lines, given.separator()):
		return nil
	case every(lines, "\t"):
		return wrong(TSV, "columns that are separated by tabs")
	case every(lines, ","):
		return wrong(CSV, "columns that are separated by commas")
	case every(lines, ";"):
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

func every(lines [][]byte, separator string) bool {
	for _, line := range lines {
		if !strings.Contains(string(line), separator) {
			return false
		}
	}
	return len(lines) > 0
}

func some(lines [][]byte, separator string) bool {
	for _, line := range lines {
		if strings.Contains(string(line), separator) {
			return true
		}
	}
	return false
}
