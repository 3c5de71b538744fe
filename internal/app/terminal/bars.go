package terminal

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/rivo/uniseg"
)

// Bars writes values of a key in one window as a table, in their order, with a bar for each. The
// key of a row is its label; what says what the values are. Of the options, Confidence, Target,
// Width and Color have an effect. It writes nothing without rows.
func Bars(w io.Writer, key, what string, rows []Row, opt ChartOptions) error {
	if len(rows) == 0 {
		return nil
	}
	lines := [][]string{{"", "value", percent(opt.Confidence) + " interval", "exactness"}}
	most := 0.0
	for _, r := range rows {
		digits, exactness := decimals(r.margin(), r.Lopsided), "as asked"
		if !r.Met {
			exactness = "less exact"
		}
		lines = append(lines, []string{Key(r.Key, 30), Number(r.Value, digits), r.interval(digits), exactness})
		most = max(most, r.Value)
	}
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	p := panel{color: opt.Color}
	b := bufio.NewWriter(raw(w))
	fmt.Fprintf(b, "%s   %s: %s\n", p.bold(titleOf(key)), windowText(rows[0].Start, rows[0].End), what)
	for i, cells := range lines {
		line := pad(cells[0], widths[0]) + "  " + right(cells[1], widths[1]) + "  " + right(cells[2], widths[2])
		if opt.Target {
			line += "  " + pad(cells[3], widths[3])
		}
		if i > 0 {
			room := min(40, opt.Width-uniseg.StringWidth(line)-2)
			line += "  " + p.paint(lying(rows[i-1].Value, most, room))
		}
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
	return b.Flush()
}

// lying returns a bar from left to right, in eighths of a column; most has the whole width.
func lying(value, most float64, width int) string {
	if !(value > 0) || width < 1 {
		return ""
	}
	eighths := int(math.Round(value / most * float64(8*width)))
	return strings.Repeat("█", eighths/8) + strings.TrimSpace(string([]rune(" ▏▎▍▌▋▊▉")[eighths%8]))
}
