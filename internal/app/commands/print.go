package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
)

// field is one line of a small table, or one member of a JSON object.
type field struct {
	name  string
	value any // string, float64, integer or names
}

// printFields writes fields as a table for people or as one JSON object with
// the members in the same order.
func printFields(w io.Writer, f cli.Format, fields []field) error {
	if f == cli.JSON {
		return printObject(w, fields)
	}
	width := 0
	for _, f := range fields {
		width = max(width, utf8.RuneCountInString(f.name))
	}
	for _, f := range fields {
		text := fmt.Sprint(f.value)
		if v, ok := f.value.(float64); ok {
			text = strconv.FormatFloat(v, 'g', -1, 64)
		}
		if _, err := fmt.Fprintf(w, "%-*s  %s\n", width, f.name, text); err != nil {
			return fmt.Errorf("writing output: %w", err)
		}
	}
	return nil
}

func printObject(w io.Writer, fields []field) error {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", f.name, err)
		}
		fmt.Fprintf(&b, "%q:%s", f.name, value)
	}
	b.WriteString("}\n")
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}
