package schemas

import (
	"fmt"
	"math"
)

// CountsFormat is the encoding of values on the counts topic. It is text in configuration files and
// in HEADER.
type CountsFormat string

const (
	// CountsAvro is Avro as schema registries frame it: a zero byte, the schema's id in four bytes,
	// most significant first, and the fields.
	CountsAvro CountsFormat = "avro"
	// CountsJSON is one JSON object without spaces.
	CountsJSON CountsFormat = "json"
)

// CountsFormats returns the names of all formats.
func CountsFormats() []string {
	return []string{string(CountsAvro), string(CountsJSON)}
}

// CountsEncoding is what, together with a release, decides the bytes of its value on counts.
type CountsEncoding struct {
	Format CountsFormat
	// SchemaID is the id of ReleaseSchema in the deployment's registry: 1 to 2^31−1 for CountsAvro,
	// 0 for CountsJSON.
	SchemaID uint32
}

// String names the encoding, as in "avro with schema id 7".
func (e CountsEncoding) String() string {
	if e.Format == CountsAvro {
		return fmt.Sprintf("%s with schema id %d", e.Format, e.SchemaID)
	}
	return string(e.Format)
}

// Check refuses an encoding that no value can have. Errors: ErrInvalid.
func (e CountsEncoding) Check() error {
	if what := e.check(); what != "" {
		return invalid(KindRelease, what)
	}
	return nil
}

// check returns what makes the encoding impossible, or "".
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
