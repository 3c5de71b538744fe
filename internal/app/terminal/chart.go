package terminal

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/words"
)

// ChartOptions say what a chart covers.
type ChartOptions struct {
	From, To   time.Time     // windows that were settled
	Window     time.Duration // size of a window
	Confidence float64
	Target     bool     // there is one; else nothing is said of whether it was met
	Width      int      // columns; at least 40
	Height     int      // lines of a panel
	Keys       []string // order of the keys; nil: by size
	MaxKeys    int      // keys with panels at most
	Color      bool
}

// Chart draws one panel for each key and each of its statistics: a bar for each window with a
// whisker for its interval. It draws nothing without rows.
func Chart(w io.Writer, rows []Row, opt ChartOptions) error {
	if len(rows) == 0 {
		return nil
	}
	keys := panelOrder(rows, opt.Keys)
	left := len(keys) - min(len(keys), opt.MaxKeys)
	keys = keys[:len(keys)-left]

	grid := newGrid(opt)
	b := bufio.NewWriter(raw(w))
	less := ""
	if opt.Target {
		less = "   ┄ less exact"
	}
	fmt.Fprintf(b, "█ released value   │ %s %% interval%s   · nothing released\n", words.Digits(100*opt.Confidence),
		less)
	if grid.group > 1 {
		fmt.Fprintf(b, "each bar is the mean of %d windows\n", grid.group)
	}
	for _, rows := range keys {
		for _, one := range byStatistic(rows) {
			fmt.Fprintln(b)
			newPanel(panelTitle(one[0]), one, grid, opt).draw(b)
		}
	}
	fmt.Fprintln(b, grid.labels())
	if left > 0 {
		fmt.Fprintf(b, "keys without a chart: %s\n", Number(float64(left), 0))
	}
	return b.Flush()
}

// panelOrder returns the rows of each key: of the keys in the order given, then of all others by
// the size of their own values.
func panelOrder(rows []Row, given []string) [][]Row {
	groups := byKey(rows)
	slices.SortFunc(groups, func(a, b []Row) int { return cmp.Compare(a[0].Key, b[0].Key) })
	largestFirst(groups)
	rank := func(rows []Row) int {
		if at := slices.Index(given, rows[0].Key); at >= 0 {
			return at
		}
		return len(given)
	}
	slices.SortStableFunc(groups, func(a, b []Row) int { return cmp.Compare(rank(a), rank(b)) })
	return groups
}

// byStatistic groups the rows of a key by what they are values of, in the order of the first
// window.
func byStatistic(rows []Row) (groups [][]Row) {
	for _, r := range rows {
		at := slices.IndexFunc(groups, func(g []Row) bool { return g[0].Statistic == r.Statistic })
		if at < 0 {
			at = len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], r)
	}
	return groups
}

const gutter = 8 // columns of the axis

// grid maps windows to columns.
type grid struct {
	from   time.Time
	size   time.Duration
	count  int // windows
	group  int // windows a bar
	bars   int
	column int // columns a bar with its whisker
}

func newGrid(opt ChartOptions) grid {
	// Times may be thousands of years apart: more than a time.Duration can be.
	g := grid{from: opt.From, size: opt.Window,
		count: max(1, int((opt.To.UnixMilli()-opt.From.UnixMilli())/opt.Window.Milliseconds()))}
	room := max(opt.Width, 40) - gutter
	g.group = (g.count + room/2 - 1) / (room / 2)
	g.bars = (g.count + g.group - 1) / g.group
	g.column = min(6, room/g.bars)
	return g
}

// index returns the bar of a window.
func (g grid) index(start time.Time) int {
	return min(g.bars-1, max(0, int((start.UnixMilli()-g.from.UnixMilli())/g.size.Milliseconds())/g.group))
}

// labels returns the line of times below the last panel.
func (g grid) labels() string {
	layout := "01-02 15:04"
	switch {
	case g.size >= 24*time.Hour:
		layout = "2006-01-02"
	case g.size < time.Minute:
		layout = "15:04:05"
	}
	line := ""
	columns := 0
	for i := range g.bars {
		at := gutter + i*g.column
		text := time.UnixMilli(g.from.UnixMilli() + int64(i*g.group)*g.size.Milliseconds()).UTC().Format(layout)
		if columns > 0 && at < columns+3 || at+len(text) > gutter+g.bars*g.column && i > 0 {
			continue
		}
		line = pad(line, at) + text
		columns = at + len(text)
	}
	return line
}

// niceTop returns the least round number that is ≥ v.
func niceTop(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 1.2, 1.5, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9} {
		if v <= step*power {
			return step * power
		}
	}
	return 10 * power
}
