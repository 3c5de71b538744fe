package config

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/tollgate-dp/tollgate/pipeline/deployment/settings"
)

// Error is one mistake in a file.
type Error struct {
	File         string
	Line, Column int    // from 1; 0 if File is a variable
	Field        string // path, such as metrics[0].window.size; "" for an error in the YAML
	Reason       string
	Text         string // the line, without secrets
}

// Error returns the position, the reason, and the line with a caret below it.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", e.Line, e.Column)
	}
	b.WriteString(" ")
	if e.Field != "" {
		fmt.Fprintf(&b, "%s: ", e.Field)
	}
	b.WriteString(e.Reason)
	if strings.TrimSpace(e.Text) == "" {
		return b.String()
	}
	number := fmt.Sprintf("%4d", e.Line)
	fmt.Fprintf(&b, "\n%s | %s\n%s | %s^", number, e.Text, strings.Repeat(" ", len(number)), indent(e.Text, e.Column))
	return b.String()
}

// indent returns white space as wide as the characters before a column; tabs stay tabs.
func indent(text string, column int) string {
	runes := []rune(text)
	parts := strings.Split(string(runes[:min(column-1, len(runes))]), "\t")
	for i, part := range parts {
		parts[i] = strings.Repeat(" ", uniseg.StringWidth(part))
	}
	return strings.Join(parts, "\t")
}

// Errors lists the mistakes in a file, in the order of the file. It is never empty.
type Errors []*Error

// maxShown is the maximum number of errors that are shown at once.
const maxShown = 20

// Error returns the errors, one below the other.
func (e Errors) Error() string {
	var b strings.Builder
	for i, mistake := range e {
		if i == maxShown {
			fmt.Fprintf(&b, "\nand %d more", len(e)-maxShown)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(mistake.Error())
	}
	return b.String()
}

// Unwrap returns the individual errors.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, mistake := range e {
		out[i] = mistake
	}
	return out
}

// maxShownLine is the maximum number of characters of a line that are shown. A line can contain a
// list with thousands of keys.
const maxShownLine = 160

// excerpt returns the beginning of a line, or "" if the column lies beyond it.
func excerpt(line string, column int) string {
	runes := []rune(line)
	switch {
	case len(runes) <= maxShownLine:
		return line
	case column > maxShownLine:
		return ""
	}
	return string(runes[:maxShownLine]) + "…"
}

// secrets finds four kinds of secrets in a text: the value of a password field, the user and the
// password in an address, a long hex number (which may be a key in place of a file name), and the
// value of an unknown field (whose name may be a misspelt "password").
type secrets struct {
	password, digits, userinfo, field *regexp.Regexp

	known map[string]bool // names of all fields
}

func newSecrets() secrets {
	return secrets{
		known:    knownNames(map[string]bool{}, settings.Table()),
		field:    regexp.MustCompile(`[^"'{}\[\],:]+(?:["']\s*:|\s*:(?:\s|$))`),
		password: regexp.MustCompile(`(?i)(password["']?\s*:\s*)\S.*`),
		digits:   regexp.MustCompile(`[0-9a-fA-F]{32,}`),
		userinfo: regexp.MustCompile(`(://)[^\s"']*@|[^\s"'\[,{:/]+:[^\s"'/][^\s"']*@`),
	}
}

// hide replaces secrets in a text with "…". The text before the first secret keeps its column.
func (s secrets) hide(text string) string {
	text = s.userinfo.ReplaceAllString(text, "$1…@")
	return s.digits.ReplaceAllString(s.password.ReplaceAllString(text, "$1…"), "…")
}

// hideLine replaces secrets in a line of the file. Unlike hide, it also replaces everything after
// an unknown field name.
func (s secrets) hideLine(line string) string {
	for _, span := range s.field.FindAllStringIndex(line, -1) {
		name, value := strings.Trim(line[span[0]:span[1]], " \t-\"':"), strings.TrimSpace(line[span[1]:])
		if !s.known[name] && value != "" {
			line = strings.TrimRight(line[:span[1]], " \t") + " …"
			break
		}
	}
	return s.hide(line)
}

// knownNames adds the names of all fields to a set, including nested fields, and returns the set.
func knownNames(names map[string]bool, fields []settings.Field) map[string]bool {
	for i := range fields {
		names[fields[i].Name] = true
		knownNames(names, fields[i].Fields)
	}
	return names
}

// printable replaces characters that would control the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
}
