// Package words formats numbers, shares and tables for people, in the same way in all commands.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// Width is the width of text for people, in columns.
const Width = 80

// Wrap breaks a text into lines of at most width characters.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line+" "+word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Paragraph breaks a text into lines of at most Width characters.
func Paragraph(text string) string { return strings.Join(Wrap(text, Width), "\n") + "\n" }

// Digits formats a number with up to six significant digits.
func Digits(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Percent formats a share of 1 as a percentage of up to three digits, with at most one decimal. It
// never rounds a share to 0% or 100%.
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.001:
		return "< 0.1%"
	case share < 1 && share > 0.999:
		return "> 99.9%"
	}
	return fmt.Sprintf("%.3g%%", math.Round(1000*share)/10)
}

// Capital capitalizes the first letter of a text.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Table formats rows of cells as lines with aligned columns.
func Table(rows ...[]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush() //nolint:errcheck // a strings.Builder never fails
	return b.String()
}
