package terminal

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// bar is what one column of a panel shows.
type bar struct {
	released        int // windows that it stands for; 0: nothing was released
	value, low, top float64
	less            bool // some value is less exact than asked
	lopsided        bool // see Row
}

// panel is the chart of one value of a key.
type panel struct {
	title    string
	bars     []bar
	unit     float64 // values a line
	above    int     // lines above zero
	below    int     // lines below zero
	column   int
	color    bool
	target   bool
	met, of  int
	min, max float64 // least and largest margin
}

func newPanel(title string, rows []Row, g grid, opt ChartOptions) panel {
	p := panel{
		title: title, bars: make([]bar, g.bars), column: g.column, color: opt.Color, target: opt.Target &&
			!slices.ContainsFunc(rows, func(r Row) bool { return r.Unasked }),
		of: len(rows), min: math.Inf(1),
	}
	down, up := make([]float64, g.bars), make([]float64, g.bars)
	for _, r := range rows {
		i := g.index(r.Start)
		b := &p.bars[i]
		b.released++
		b.value += r.Value
		b.lopsided = b.lopsided || r.Lopsided
		b.low, b.top = b.low+r.Low, b.top+r.High
		down[i] += (r.Value - r.Low) * (r.Value - r.Low)
		up[i] += (r.High - r.Value) * (r.High - r.Value)
		b.less = b.less || p.target && !r.Met
		if r.Met {
			p.met++
		}
		p.min, p.max = min(p.min, r.margin()), max(p.max, r.margin())
	}
	least, most := 0.0, 0.0
	for i := range p.bars {
		b := &p.bars[i]
		if b.released == 0 {
			continue
		}
		n := float64(b.released)
		b.value /= n
		b.low, b.top = b.low/n, b.top/n
		if !b.lopsided { // independent normal noise: the margins add in squares
			b.low, b.top = b.value-math.Sqrt(down[i])/n, b.value+math.Sqrt(up[i])/n
		}
		if most = max(most, b.top); b.value < 0 {
			least = min(least, b.low)
		}
	}
	p.fit(least, most, max(opt.Height, 2))
	return p
}

// fit divides the lines between values above and below zero, so that a line stands for as little as
// possible. Without a value below zero, all lines are above it.
func (p *panel) fit(least, most float64, height int) {
	if least == 0 {
		p.above, p.unit = height, niceTop(most)/float64(height)
		return
	}
	p.unit = math.Inf(1)
	for below := 1; below <= height; below++ {
		if above := height - below; above > 0 || most <= 0 {
			unit := -least / float64(below)
			if above > 0 {
				unit = max(unit, most/float64(above))
			}
			if unit < p.unit {
				p.unit, p.above, p.below = unit, above, below
			}
		}
	}
	p.unit = niceTop(p.unit)
}

func (p panel) draw(b *bufio.Writer) {
	margins := "noise ± " + short(p.min)
	if high := short(p.max); high != short(p.min) {
		margins += " to " + high
	}
	if p.target {
		margins += fmt.Sprintf("   as asked in %d of %d", p.met, p.of)
	}
	fmt.Fprintf(b, "%s   %s\n", p.bold(p.title), margins)
	for line := p.above - 1; line >= -p.below; line-- {
		label, edge := "", "│"
		if line == p.above-1 || line == -1 { // the upper edge of a line is labelled
			label, edge = short(p.unit*float64(line+1)), "┤"
		}
		fmt.Fprintf(b, "%s %s", right(label, gutter-2), edge)
		fmt.Fprintln(b, p.paint(strings.TrimRight(p.line(line), " ")))
	}
	fmt.Fprintf(b, "%s └%s\n", right(short(-p.unit*float64(p.below)), gutter-2), p.foot())
}

// titleOf returns the title of a chart of a key.
func titleOf(key string) string { return cmp.Or(Key(key, 30), "all together") }

// panelTitle returns the title of the chart that has a row.
func panelTitle(r Row) string {
	if r.Statistic == "" {
		return titleOf(r.Key)
	}
	return titleOf(r.Key) + ", " + r.Statistic
}

// line draws one line of all bars and whiskers; line 0 is the first one above zero.
func (p panel) line(line int) string {
	var b strings.Builder
	for _, bar := range p.bars {
		body, whisker := " ", " "
		if bar.released > 0 {
			body = p.block(bar.value, line)
			whisker = p.whisker(bar, line)
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

// block returns the part of a bar that lies in a line, in eighths above zero and in halves below.
func (p panel) block(value float64, line int) string {
	if line < 0 {
		halves := int(math.Round(-value / p.unit * 2))
		return string([]rune(" ▀█")[max(0, min(2, halves-2*(-line-1)))])
	}
	eighths := int(math.Round(value / p.unit * 8))
	return string([]rune(" ▁▂▃▄▅▆▇█")[max(0, min(8, eighths-8*line))])
}

// whisker returns the part of an interval that lies in a line, in halves: a half is drawn
// when the interval covers its middle. The half line that contains the value is always drawn.
func (p panel) whisker(b bar, line int) string {
	unit := p.unit / 2
	covers := func(half int) bool {
		from := float64(half) * unit
		at := from + unit/2
		return b.low <= at && at <= b.top || from <= b.value && b.value < from+unit
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
