package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/app/terminal"
)

// LinesOf cuts a text into lines of a width, and none between a number and its %.
func LinesOf(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && !strings.HasPrefix(word, "%") && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func Number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Width of text for people, in columns.
const Width = 80

// Wrapped writes a text in lines, each after the first with an indent.
func Wrapped(b *strings.Builder, text, indent string) {
	column := 0
	for i, word := range strings.Fields(text) {
		switch n := utf8.RuneCountInString(word); {
		case i == 0:
			column = n
		case column+1+n > Width:
			b.WriteString("\n" + indent)
			column = len(indent) + n
		default:
			b.WriteString(" ")
			column += 1 + n
		}
		b.WriteString(word)
	}
	b.WriteString("\n")
}

func Percent(v float64) string {
	if v > 0 && v < 0.001 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.3g %%", math.Round(1000*v)/10)
}

// Moment writes a time of the clock in UTC, to the second above; with the date where that is not
// today's.
func Moment(t, now time.Time) string {
	t, now = t.Add(time.Second-1).UTC().Truncate(time.Second), now.UTC()
	layout := "15:04:05Z"
	if t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		layout = "2006-01-02 15:04:05Z"
	}
	return t.Format(layout)
}

func Ceiling(v float64) string { return terminal.Number(math.Ceil(v), 0) }

// Rounded writes a standard deviation to three digits.
func Rounded(v float64) string {
	if v >= 100 {
		return terminal.Number(v, 0)
	}
	return fmt.Sprintf("%.3g", v)
}
