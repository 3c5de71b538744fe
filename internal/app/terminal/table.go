package terminal

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-dp/tollgate/internal/app/words"

	"github.com/rivo/uniseg"
)

// TableOptions describe the contents of a table, so that its columns have the right widths.
type TableOptions struct {
	Width      int           // columns
	Window     time.Duration // approximate size of a window
	Zone       string        // time zone of the windows, for the head; "": UTC
	Confidence float64       // in (0, 1)
	Target     bool          // there is a target: the table shows whether values met it
	Fine       bool          // values are not counts, so that decimals are meaningful
	Intervals  bool          // some values are lopsided, see Row: the table has intervals, not margins
	Keys       []string      // all possible keys; nil: not known
	// Statistics maps the names of the statistics of each key to a short form, or "".
	Statistics map[string]string
}

// Table writes releases as they arrive. Not safe for concurrent use.
type Table struct {
	TableOptions
	w         io.Writer
	keyWidth  int // grows with keys that were not known beforehand
	timeWidth int
	window    time.Time         // start of the last window that was written
	begun     bool              // the head was written
	labels    map[string]string // of statistics
}

const valueWidth, targetWidth = 12, 10

// indent precedes the name of a statistic, which is written below its key.
const indent = "  "

// marginWidth returns the width of the column for the noise.
func (t *Table) marginWidth() int {
	if t.Intervals {
		return 20
	}
	return 14
}

// NewTable returns a table that writes to w.
func NewTable(w io.Writer, o TableOptions) *Table {
	sample := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	t := &Table{TableOptions: o, w: w, timeWidth: utf8.RuneCountInString(windowText(sample, sample.Add(o.Window))),
		keyWidth: 8}
	t.timeWidth = max(t.timeWidth, len(t.windowHead()))
	for _, key := range o.Keys {
		t.fit(key)
	}
	t.labels = map[string]string{}
	for statistic, brief := range o.Statistics {
		label := indent + statistic
		if len(label) > t.room() {
			label = indent + cmp.Or(brief, statistic)
		}
		t.labels[statistic] = label
		t.fit(label)
	}
	return t
}

// room returns the greatest width of the column of keys.
func (t *Table) room() int {
	room := t.Width - t.timeWidth - valueWidth - t.marginWidth() - 4
	if t.Target {
		room -= targetWidth + 2
	}
	return room
}

// fit widens the column of keys to fit a key, as far as there is room.
func (t *Table) fit(key string) {
	t.keyWidth = max(t.keyWidth, uniseg.StringWidth(Key(key, t.room())))
}

// Rows writes releases; the first call also writes the head. One call must have all rows of a
// window, one after the other. The name of a window is written once.
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

// Empty writes one line for consecutive windows without values.
func (t *Table) Empty(start, end time.Time, windows int) error {
	b := bufio.NewWriter(t.w)
	t.head(b)
	text := windowText(start, end)
	if windows > 1 {
		text = Count(windows, "window") + " until " + end.UTC().Format("2006-01-02 15:04")
	}
	fmt.Fprintf(b, "%s  nothing released\n", pad(text, t.timeWidth))
	return b.Flush()
}

// rows writes the rows of a window.
func (t *Table) rows(b *bufio.Writer, rows []Row) {
	if t.Keys == nil {
		for _, r := range rows {
			t.fit(r.Key)
		}
	}
	t.head(b)
	for _, r := range rows {
		name := ""
		if !r.Start.Equal(t.window) {
			name, t.window = windowText(r.Start, r.End), r.Start
		}
		exactness := "less exact"
		switch {
		case r.Unasked:
			exactness = "no target"
		case r.Met:
			exactness = "as asked"
		}
		digits := decimals(r.margin(), t.Fine || r.Lopsided)
		margin := "± " + Number(r.margin(), digits)
		if t.Intervals {
			margin = r.interval(digits)
		}
		key := r.Key
		if r.Statistic != "" {
			key = t.labels[r.Statistic]
		}
		t.line(b, name, key, Number(r.Value, digits), margin, exactness)
	}
}

// line writes one line; there is a last column only with a target. A key that is too long for its
// column also uses the space that the value leaves.
func (t *Table) line(b *bufio.Writer, window, key, value, margin, exactness string) {
	key = pad(Key(key, t.keyWidth+max(0, valueWidth-uniseg.StringWidth(value))), t.keyWidth)
	fmt.Fprintf(b, "%s  %s %s %s", pad(window, t.timeWidth), key,
		right(value, t.keyWidth+valueWidth-uniseg.StringWidth(key)), right(margin, t.marginWidth()))
	if t.Target {
		fmt.Fprint(b, "  "+exactness)
	}
	fmt.Fprintln(b)
}

func (t *Table) windowHead() string { return "window (" + cmp.Or(t.Zone, "UTC") + ")" }

// head writes the head, once.
func (t *Table) head(b *bufio.Writer) {
	if t.begun {
		return
	}
	t.begun = true
	margin := "noise at " + words.Digits(100*t.Confidence) + "%"
	if t.Intervals {
		margin = words.Digits(100*t.Confidence) + "% interval"
	}
	t.line(b, t.windowHead(), "key", "value", margin, "exactness")
	width := t.timeWidth + t.keyWidth + valueWidth + t.marginWidth() + 4
	if t.Target {
		width += targetWidth + 2
	}
	fmt.Fprintln(b, strings.Repeat("─", width))
}
