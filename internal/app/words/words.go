// Package words writes numbers, parts and tables as all commands show them to people.
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

// Width of text for people, in columns.
const Width = 80

// Wrap cuts a text into lines of a width, and none between a number and its %.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && !strings.HasPrefix(word, "%") && utf8.RuneCountInString(line+" "+word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Paragraph wraps a text at Width.
func Paragraph(text string) string { return strings.Join(Wrap(text, Width), "\n") + "\n" }

// Digits writes a number with up to six digits.
func Digits(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Percent writes a part of 1 with up to three digits and one decimal. A part that is neither
// nothing nor all is never written as if it were.
func Percent(part float64) string {
	switch {
	case part > 0 && part < 0.001:
		return "< 0.1 %"
	case part < 1 && part > 0.999:
		return "> 99.9 %"
	}
	return fmt.Sprintf("%.3g %%", math.Round(1000*part)/10)
}

// Capital writes the first letter of a text as a capital.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Table writes rows of cells as lines with aligned columns.
func Table(rows ...[]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush() //nolint:errcheck // a strings.Builder takes everything
	return b.String()
}
