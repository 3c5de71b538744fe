package terminal

import (
	"bufio"
	"fmt"
	"math"
	"strings"
)

// bar is what one column of a panel shows.
type bar struct {
	released        int // windows that it stands for; 0: nothing was released
	value, low, top float64
	less            bool // some value is less exact than asked
}

// panel is the chart of one key.
type panel struct {
	key      string
	bars     []bar
	scale    float64 // value at the upper edge
	height   int
	column   int
	color    bool
	target   bool
	met, of  int
	min, max float64 // least and largest margin
}

func newPanel(key string, rows []Row, g grid, opt ChartOptions) panel {
	p := panel{
		key: key, bars: make([]bar, g.bars), height: max(opt.Height, 2), column: g.column, color: opt.Color, target: opt.Target,
		of: len(rows), min: math.Inf(1),
	}
	variance := make([]float64, g.bars)
	for _, r := range rows {
		i := g.index(r.Start)
		b := &p.bars[i]
		b.released++
		b.value += r.Value
		variance[i] += r.margin() * r.margin()
		b.less = b.less || opt.Target && !r.Met
		if r.Met {
			p.met++
		}
		p.min, p.max = min(p.min, r.margin()), max(p.max, r.margin())
	}
	for i := range p.bars {
		b := &p.bars[i]
		if b.released == 0 {
			continue
		}
		n := float64(b.released)
		b.value /= n
		margin := math.Sqrt(variance[i]) / n // independent noise: the margins add in squares
		b.low, b.top = b.value-margin, b.value+margin
		p.scale = max(p.scale, b.top)
	}
	p.scale = niceTop(p.scale)
	return p
}

func (p panel) draw(b *bufio.Writer) {
	margins := "noise ± " + short(p.min)
	if high := short(p.max); high != short(p.min) {
		margins += " to " + high
	}
	if p.target {
		margins += fmt.Sprintf("   as asked in %d of %d", p.met, p.of)
	}
	fmt.Fprintf(b, "%s   %s\n", p.bold(Key(p.key, 30)), margins)
	for line := p.height - 1; line >= 0; line-- {
		label, edge := "", "│"
		if line == p.height-1 {
			label, edge = short(p.scale), "┤"
		}
		fmt.Fprintf(b, "%s %s", right(label, gutter-2), edge)
		fmt.Fprintln(b, p.paint(strings.TrimRight(p.line(line), " ")))
	}
	fmt.Fprintf(b, "%s └%s\n", right("0", gutter-2), p.foot())
}

// line draws one line of all bars and whiskers; line 0 is the lowest.
func (p panel) line(line int) string {
	var b strings.Builder
	for _, bar := range p.bars {
		body, whisker := " ", " "
		if bar.released > 0 {
			body = p.block(bar.value, line)
			whisker = p.whisker(bar.low, bar.top, line)
		}
		gap := 0
		if p.column > 2 {
			gap = p.column/3 - 1
		}
		b.WriteString(strings.Repeat(body, p.column-1-gap))
		b.WriteString(whisker)
		b.WriteString(strings.Repeat(" ", gap))
	}
	return b.String()
}

// block returns the part of a bar that lies in a line, in eighths.
func (p panel) block(value float64, line int) string {
	eighths := int(math.Round(value / p.scale * float64(p.height) * 8))
	return string([]rune(" ▁▂▃▄▅▆▇█")[max(0, min(8, eighths-8*line))])
}

// whisker returns the part of an interval that lies in a line, in halves: a half is drawn
// when the interval covers its middle. The half line that contains the value is always drawn.
func (p panel) whisker(low, top float64, line int) string {
	unit := p.scale / float64(p.height) / 2
	middle := (low + top) / 2
	covers := func(half int) bool {
		from := float64(half) * unit
		at := from + unit/2
		return low <= at && at <= top || from <= middle && middle < from+unit
	}
	switch lower, upper := covers(2*line), covers(2*line+1); {
	case lower && upper:
		return "│"
	case lower:
		return "╷"
	case upper:
		return "╵"
	}
	return " "
}

// foot returns the axis, with a mark below the bars that are less exact than asked and where
// nothing was released.
func (p panel) foot() string {
	var b strings.Builder
	for _, bar := range p.bars {
		mark := "─"
		switch {
		case bar.released == 0:
			mark = "·"
		case bar.less:
			mark = "┄"
		}
		b.WriteString(mark)
		b.WriteString(strings.Repeat("─", p.column-1))
	}
	return b.String()
}

func (p panel) paint(text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[36m" + text + "\x1b[0m"
}

func (p panel) bold(text string) string {
	if !p.color {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}
