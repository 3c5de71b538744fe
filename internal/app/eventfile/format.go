package eventfile

import (
	"errors"
	"fmt"
)

// Format names the layout of an input file.
type Format string

// The layouts that can be read. CSV follows RFC 4180 (quotes, records over
// several lines); TSV has no quoting (a tab or line break cannot be part of a
// field); JSONL has one JSON object on each line; Avro is an object container file.
const (
	CSV   Format = "csv"
	TSV   Format = "tsv"
	JSONL Format = "jsonl"
	Avro  Format = "avro"
)

// ErrUnknownFormat is returned by ParseFormat for any other name.
var ErrUnknownFormat = errors.New("unknown input format")

// ParseFormat returns the format called name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case CSV, TSV, JSONL, Avro:
		return f, nil
	}
	return "", fmt.Errorf("%w %q: use csv, tsv, jsonl or avro", ErrUnknownFormat, name)
}

// Tabular reports whether records are rows of columns, so that column names
// are needed to find a field.
func (f Format) Tabular() bool { return f == CSV || f == TSV }

// separator returns what stands between the columns of a tabular format.
func (f Format) separator() string {
	if f == TSV {
		return "\t"
	}
	return ","
}

// quoted reports whether a quoted field can have a line break in it.
func (f Format) quoted() bool { return f == CSV }
