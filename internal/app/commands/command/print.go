package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/tollgate-dp/tollgate/internal/app/cli"
	"github.com/tollgate-dp/tollgate/pipeline"
)

// Print writes text to stdout.
func (a *App) Print(text string) error {
	if _, err := io.WriteString(a.Stdout, text); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// PrintAs writes a value as a line of JSON, or as the text for people.
func (a *App) PrintAs(f cli.Format, value any, text func(b *strings.Builder)) error {
	var b strings.Builder
	if f != cli.JSON {
		text(&b)
		return a.Print(b.String())
	}
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encoding output: %w", err)
	}
	return a.Print(b.String())
}

// PrintFields writes pairs of names and values as a table for people, or as one JSON object with
// the members in the same order. Values are strings, numbers or Names.
func (a *App) PrintFields(f cli.Format, pairs []any) error {
	return a.PrintAs(f, object(pairs), func(b *strings.Builder) {
		var rows [][]string
		for i := 0; i < len(pairs); i += 2 {
			rows = append(rows, []string{fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])})
		}
		b.WriteString(words.Table(rows...))
	})
}

// Lines returns a function that writes one line: a name in a column of this width, then a text.
func Lines(b *strings.Builder, width int) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-*s %s\n", width, name, fmt.Sprintf(format, args...))
	}
}

// object is an object of JSON whose members, pairs of names and values, are in this order.
type object []any

// MarshalJSON implements json.Marshaler.
func (pairs object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i := 0; i < len(pairs); i += 2 {
		value, err := json.Marshal(pairs[i+1])
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", pairs[i], err)
		}
		fmt.Fprintf(&b, ",%q:%s", pairs[i], value)
	}
	return append(append([]byte("{"), bytes.TrimPrefix(b.Bytes(), []byte(","))...), '}'), nil
}

// WriteValues writes fields with their old and new values, one a line.
func WriteValues(b *strings.Builder, indent string, values []pipeline.Value) {
	for _, v := range values {
		fmt.Fprintf(b, "%s%s: %s → %s\n", indent, v.Field, v.Was, v.Is)
	}
}

// Names are printed one after the other, and are an array in JSON.
type Names []string

func (n Names) String() string { return strings.Join(n, ", ") }
