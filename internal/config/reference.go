package config

import (
	"fmt"
	"strings"
)

// Reference is the table of all fields, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("| field | type | without it | changes | meaning | in Go |\n|---|---|---|---|---|---|\n")
	rows(&b, "", specification())
	return b.String()
}

func rows(b *strings.Builder, at string, fields []field) {
	for i := range fields {
		f := &fields[i]
		name := join(at, f.name)
		inGo := ""
		if f.goField != "" {
			inGo = "`" + f.goField + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", name, f.typeText(), f.otherwise(), f.change, escape(f.meaning), inGo)
		if f.kind == objects {
			name += "[]"
		}
		rows(b, name, f.fields)
	}
}

// escape keeps a text within its cell.
func escape(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// typeText is the type with its unit and what a value may be.
func (f *field) typeText() string {
	text := string(f.kind)
	if f.plain {
		text += ", true or false"
	}
	if len(f.oneOf) > 0 {
		text = "`" + strings.Join(f.oneOf, "`, `") + "`"
	}
	if f.in != nil {
		text += " " + f.in.text(f.kind)
	}
	if f.unit != "" {
		text += " (" + f.unit + ")"
	}
	return text
}

func (f *field) otherwise() string {
	switch {
	case f.needed:
		return "needed"
	case f.initial != "":
		return "`" + f.initial + "`"
	}
	return escape(f.absent)
}
