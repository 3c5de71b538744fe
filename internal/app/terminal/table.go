package terminal

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// TableOptions say what a table has room for.
type TableOptions struct {
	Width      int           // columns
	Window     time.Duration // about the size of a window
	Zone       string        // of the windows' times, for the head; "": UTC
	Confidence float64       // in (0, 1)
	Target     bool          // there is one; else nothing is said of whether it was met
	Fine       bool          // values are no counts, so that decimals say something
	Intervals  bool          // some values are lopsided, see Row: the table has intervals, not margins
	Keys       []string      // all that can come; nil: not known
	Top        int           // the largest values of a window that are written; 0: all, in order
}

// Table writes releases as they come. Not for concurrent use.
type Table struct {
	TableOptions
	w         io.Writer
	keyWidth  int // of what was written so far: keys that are not known beforehand widen it
	timeWidth int
	window    time.Time
	begun     bool
}

const valueWidth, targetWidth = 12, 10

// marginWidth is the width of the column that says how far noise may move a value.
func (t *Table) marginWidth() int {
	if t.Intervals {
		return 20
	}
	return 14
}

// NewTable returns a table on w.
func NewTable(w io.Writer, o TableOptions) *Table {
	sample := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	t := &Table{TableOptions: o, w: w, timeWidth: utf8.RuneCountInString(windowText(sample, sample.Add(o.Window))), keyWidth: 8}
	t.timeWidth = max(t.timeWidth, len(t.windowHead()))
	for _, key := range o.Keys {
		t.fit(key)
	}
	return t
}

// fit widens the column of keys for one, as far as there is room.
func (t *Table) fit(key string) {
	room := t.Width - t.timeWidth - valueWidth - t.marginWidth() - 4
	if t.Target {
		room -= targetWidth + 2
	}
	t.keyWidth = max(t.keyWidth, uniseg.StringWidth(Key(key, room)))
}

// Rows writes releases; the first call writes the head, too. The rows of a window come in one
// call, one after the other. The name of a window is written once.
func (t *Table) Rows(rows []Row) error {
	b := bufio.NewWriter(t.w)
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Start.Equal(rows[0].Start) {
			n++
		}
		t.rows(b, rows[:n])
		rows = rows[n:]
	}
	return b.Flush()
}

// rows writes the rows of a window.
func (t *Table) rows(b *bufio.Writer, rows []Row) {
	left := 0
	if t.Top > 0 {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Value, a.Value) })
		left = max(0, len(rows)-t.Top)
		rows = rows[:len(rows)-left]
	}
	if t.Keys == nil {
		for _, r := range rows {
			t.fit(r.Key)
		}
	}
	if !t.begun {
		t.begun = true
		t.head(b)
	}
	for _, r := range rows {
		name := ""
		if !r.Start.Equal(t.window) {
			name, t.window = windowText(r.Start, r.End), r.Start
		}
		exactness := "less exact"
		switch {
		case r.Unasked:
			exactness = ""
		case r.Met:
			exactness = "as asked"
		}
		digits := decimals(r.margin(), t.Fine || r.Lopsided)
		margin := "± " + Number(r.margin(), digits)
		if t.Intervals {
			margin = r.interval(digits)
		}
		t.line(b, name, Key(r.Key, t.keyWidth), Number(r.Value, digits), margin, exactness)
	}
	if left > 0 {
		fmt.Fprintf(b, "%s  and %s smaller\n", pad("", t.timeWidth), Number(float64(left), 0))
	}
}

// line writes one line; the last column is there with a target only.
func (t *Table) line(b *bufio.Writer, window, key, value, margin, exactness string) {
	fmt.Fprintf(b, "%s  %s %s %s", pad(window, t.timeWidth), pad(key, t.keyWidth), right(value, valueWidth), right(margin, t.marginWidth()))
	if t.Target {
		fmt.Fprint(b, "  "+exactness)
	}
	fmt.Fprintln(b)
}

func (t *Table) windowHead() string { return "window (" + cmp.Or(t.Zone, "UTC") + ")" }

func (t *Table) head(b *bufio.Writer) {
	margin := "noise at " + percent(t.Confidence)
	if t.Intervals {
		margin = percent(t.Confidence) + " interval"
	}
	t.line(b, t.windowHead(), "key", "value", margin, "exactness")
	width := t.timeWidth + t.keyWidth + valueWidth + t.marginWidth() + 4
	if t.Target {
		width += targetWidth + 2
	}
	fmt.Fprintln(b, strings.Repeat("─", width))
}

// percent writes a share as a percentage: 0.95 as "95 %".
func percent(share float64) string {
	return strconv.FormatFloat(share*100, 'g', 4, 64) + " %"
}
