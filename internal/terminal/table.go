package terminal

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Table writes releases as they come. Not for concurrent use.
type Table struct {
	w          io.Writer
	keyWidth   int
	timeWidth  int
	confidence float64
	target     bool
	window     time.Time
	begun      bool
}

const valueWidth, marginWidth, targetWidth = 12, 11, 7

// NewTable returns a table on w. Windows are about as large as size; keys are
// fitted into what width leaves for them, at most what the keys need (nil:
// unknown keys). confidence is in (0, 1). Without a target nothing is said of whether it was met.
func NewTable(w io.Writer, width int, size time.Duration, confidence float64, target bool, keys []string) *Table {
	sample := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	t := &Table{w: w, confidence: confidence, target: target, timeWidth: utf8.RuneCountInString(windowText(sample, sample.Add(size)))}
	t.timeWidth = max(t.timeWidth, len("window (UTC)"))
	room := max(8, width-t.timeWidth-valueWidth-marginWidth-targetWidth-6)
	t.keyWidth = room
	if keys != nil {
		t.keyWidth = 8
		for _, key := range keys {
			t.keyWidth = max(t.keyWidth, min(room, len([]rune(key))))
		}
	}
	return t
}

// Rows writes releases; the first call writes the head, too. The name of a
// window is written once.
func (t *Table) Rows(rows []Row) error {
	b := bufio.NewWriter(t.w)
	if !t.begun {
		t.begun = true
		t.head(b)
	}
	for _, r := range rows {
		name := ""
		if !r.Start.Equal(t.window) {
			name, t.window = windowText(r.Start, r.End), r.Start
		}
		met := "met"
		if !r.Met {
			met = "not met"
		}
		digits := decimals(r.margin())
		t.line(b, name, Key(r.Key, t.keyWidth), Number(r.Value, digits), "± "+Number(r.margin(), digits), met)
	}
	return b.Flush()
}

// line writes one line; the last column is there with a target only.
func (t *Table) line(b *bufio.Writer, window, key, value, margin, target string) {
	fmt.Fprintf(b, "%s  %s %s %s", pad(window, t.timeWidth), pad(key, t.keyWidth), right(value, valueWidth), right(margin, marginWidth))
	if t.target {
		fmt.Fprint(b, "  "+target)
	}
	fmt.Fprintln(b)
}

func (t *Table) head(b *bufio.Writer) {
	t.line(b, "window (UTC)", "key", "value", "± at "+percent(t.confidence), "target")
	width := t.timeWidth + t.keyWidth + valueWidth + marginWidth + 4
	if t.target {
		width += targetWidth + 2
	}
	fmt.Fprintln(b, strings.Repeat("─", width))
}

// percent writes a share as a percentage: 0.95 as "95 %".
func percent(share float64) string {
	return strconv.FormatFloat(share*100, 'g', 4, 64) + " %"
}
