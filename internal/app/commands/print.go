package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
)

// field is one line of a small table, or one member of a JSON object.
type field struct {
	name  string
	value any // string, float64, integer or names
}

// print writes text to stdout.
func (a *app) print(text string) error {
	if _, err := io.WriteString(a.stdout, text); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// printAs writes a value as a line of JSON, or what text writes for people.
func (a *app) printAs(f cli.Format, value any, text func(b *strings.Builder)) error {
	var b strings.Builder
	if f != cli.JSON {
		text(&b)
		return a.print(b.String())
	}
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encoding output: %w", err)
	}
	return a.print(b.String())
}

// printFields writes fields as a table for people or as one JSON object with
// the members in the same order.
func (a *app) printFields(f cli.Format, fields []field) error {
	return a.printAs(f, object(fields), func(b *strings.Builder) {
		w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		for _, f := range fields {
			text := fmt.Sprint(f.value)
			if v, ok := f.value.(float64); ok {
				text = strconv.FormatFloat(v, 'g', -1, 64)
			}
			fmt.Fprintf(w, "%s\t%s\n", f.name, text)
		}
		w.Flush() //nolint:errcheck // a strings.Builder takes everything
	})
}

// object is an object of JSON whose members are in this order.
type object []field

// MarshalJSON implements json.Marshaler.
func (fields object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", f.name, err)
		}
		fmt.Fprintf(&b, "%q:%s", f.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
