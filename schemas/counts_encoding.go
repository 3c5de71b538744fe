package schemas

import (
	"fmt"
	"math"
)

// CountsFormat is the name, as in configuration files, of a format of values on the counts topic.
type CountsFormat string

const (
	// CountsAvro is Avro with the prefix of schema registries: a zero byte, the schema's id in four
	// big-endian bytes, and then the fields.
	CountsAvro CountsFormat = "avro"
	CountsJSON CountsFormat = "json" // one JSON object without spaces
)

// CountsFormats returns the names of all formats.
func CountsFormats() []string { return []string{string(CountsAvro), string(CountsJSON)} }

// CountsEncoding determines the encoding of releases on the counts topic.
type CountsEncoding struct {
	Format   CountsFormat
	SchemaID uint32 // id of ReleaseSchema in the registry: 1 to 2^31−1 for CountsAvro, 0 for CountsJSON
}

// String describes the encoding, as in "avro with schema id 7".
func (e CountsEncoding) String() string {
	if e.Format == CountsAvro {
		return fmt.Sprintf("%s with schema id %d", e.Format, e.SchemaID)
	}
	return string(e.Format)
}

// Check returns ErrInvalid if the encoding is not valid.
func (e CountsEncoding) Check() error {
	if what := e.check(); what != "" {
		return invalid(KindRelease, what)
	}
	return nil
}

// check returns the reason why the encoding is not valid, or "".
func (e CountsEncoding) check() string {
	switch e.Format {
	case CountsAvro:
		if e.SchemaID < 1 || e.SchemaID > math.MaxInt32 {
			return "the schema id of counts is out of range"
		}
	case CountsJSON:
		if e.SchemaID != 0 {
			return "counts have a schema id that their format does not use"
		}
	default:
		return "counts have an unknown format"
	}
	return ""
}
