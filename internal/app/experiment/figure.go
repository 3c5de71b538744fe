package experiment

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// The dimensions of a figure, in SVG units; the figure scales with its page.
const (
	figureWidth           = 760.0
	plotLeft, plotRight   = 70.0, 740.0
	plotTop, plotBottom   = 40.0, 300.0
	legendTop, legendLine = 350.0, 18.0
	curves                = 8 // number of colours
)

// figureStyle uses the colours of the pages of package report.
const figureStyle = `<style>
:root{--card:#fff;--text:#1a2029;--soft:#566070;--line:#d5dae2;--grid:#e6e9ee;
--s0:#1f6fb4;--s1:#c2410c;--s2:#0f7b5f;--s3:#a2339b;--s4:#8a6100;--s5:#4a5568;--s6:#b3123f;--s7:#5b3fd6}
@media (prefers-color-scheme:dark){:root{--card:#1a2029;--text:#e6eaf0;--soft:#a3adbb;--line:#364050;
--grid:#2a323e;--s0:#6cb6ff;--s1:#ff9e64;--s2:#4fd1a5;--s3:#e58bdd;--s4:#e3b341;--s5:#b3bccb;--s6:#ff7b93;--s7:#a89bff}}
.fig{font:13px system-ui,sans-serif}.fig text{fill:var(--soft)}
.fig .title{fill:var(--text);font-size:15px;font-weight:600}
.fig .grid{stroke:var(--grid);fill:none}.fig .axis{stroke:var(--line);fill:none}
.fig .curve{fill:none;stroke-width:2;stroke-linejoin:round}
.fig .c0{stroke:var(--s0)}.fig .c1{stroke:var(--s1)}.fig .c2{stroke:var(--s2)}
.fig .c3{stroke:var(--s3)}.fig .c4{stroke:var(--s4)}.fig .c5{stroke:var(--s5)}
.fig .c6{stroke:var(--s6)}.fig .c7{stroke:var(--s7)}
.fig .dash{stroke-dasharray:6 4}
.back{fill:var(--card)}
</style><rect class="back" width="100%" height="100%"/>`

// SVG returns a drawing of the figure.
func (f Figure) SVG() string {
	var b strings.Builder
	height := legendTop + legendLine*float64(len(f.Series))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="fig" viewBox="0 0 %g %g" role="img" `+
		`aria-label="%s">`, figureWidth, height, html.EscapeString(f.Title))
	b.WriteString(figureStyle)
	text := func(x, y float64, anchor, class, content string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`, x, y, anchor, class,
			html.EscapeString(content))
	}
	x, y := f.axes()
	text(plotLeft, 20, "start", "title", f.Title)
	for _, v := range x.ticks() {
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %gV%g"/>`, x.position(v), plotTop, plotBottom)
		text(x.position(v), plotBottom+18, "middle", "tick", tick(v))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(&b, `<path class="grid" d="M%g %.1fH%g"/>`, plotLeft, y.position(v), plotRight)
		text(plotLeft-8, y.position(v)+4, "end", "tick", tick(v))
	}
	fmt.Fprintf(&b, `<path class="axis" d="M%g %gV%gH%g"/>`, plotLeft, plotTop, plotBottom, plotRight)
	text((plotLeft+plotRight)/2, plotBottom+36, "middle", "name", f.X)
	fmt.Fprintf(&b, `<text transform="translate(16 %g) rotate(-90)" text-anchor="middle" class="name">%s</text>`,
		(plotTop+plotBottom)/2, html.EscapeString(f.Y))
	for i, s := range f.Series {
		class := fmt.Sprintf("curve c%d", i%curves)
		if i >= curves {
			class += " dash"
		}
		b.WriteString(`<path class="` + class + `" d="`)
		for j := range s.X {
			step := byte('L')
			if j == 0 {
				step = 'M'
			}
			fmt.Fprintf(&b, "%c%.1f %.1f", step, x.position(s.X[j]), y.position(s.Y[j]))
		}
		if len(s.X) == 1 {
			b.WriteString("h6") // a point
		}
		b.WriteString(`"/>`)
		top := legendTop + legendLine*float64(i)
		fmt.Fprintf(&b, `<path class="%s" d="M%g %.1fh22"/>`, class, plotLeft, top)
		text(plotLeft+30, top+4, "start", "name", s.Name)
	}
	b.WriteString("</svg>")
	return b.String()
}

// axis maps values between low and high to positions between from and to.
type axis struct {
	low, high, from, to float64
	log                 bool
}

func (f Figure) axes() (x, y axis) {
	x = axis{math.Inf(1), math.Inf(-1), plotLeft, plotRight, f.LogX}
	y = axis{math.Inf(1), math.Inf(-1), plotBottom, plotTop, f.LogY}
	for _, s := range f.Series {
		for i := range s.X {
			x.include(s.X[i])
			y.include(s.Y[i])
		}
	}
	if !f.LogY {
		y.include(0)
	}
	x.widen()
	y.widen()
	return x, y
}

func (a *axis) include(v float64) { a.low, a.high = min(a.low, v), max(a.high, v) }

// widen extends an axis that has only a single value, so that it has a length.
func (a *axis) widen() {
	if a.low == a.high {
		if a.log {
			a.low, a.high = a.low/2, a.high*2
		} else {
			a.low, a.high = a.low-0.5, a.high+0.5
		}
	}
}

func (a axis) position(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// ticks returns round numbers on the axis. On a linear axis, there are four to ten of them. On a
// logarithmic axis, they are the powers of ten and, if there are fewer than three, also 2 and 5
// times the powers of ten.
func (a axis) ticks() (all []float64) {
	if a.log && a.high > 8*a.low {
		for _, steps := range [][]float64{{1}, {1, 2, 5}} {
			all = nil
			for p := math.Floor(math.Log10(a.low)); p <= math.Ceil(math.Log10(a.high)); p++ {
				for _, s := range steps {
					if v := s * math.Pow(10, p); v >= a.low*(1-1e-9) && v <= a.high*(1+1e-9) {
						all = append(all, v)
					}
				}
			}
			if len(all) >= 3 {
				break
			}
		}
		return all
	}
	power := math.Pow(10, math.Floor(math.Log10(a.high-a.low)))
	step := power / 5
	for _, s := range []float64{0.2, 0.5, 1, 2} {
		if step = s * power; (a.high-a.low)/step <= 8 {
			break
		}
	}
	for i := math.Ceil(a.low/step - 1e-9); i*step <= a.high+step*1e-9; i++ {
		all = append(all, i*step+0) // no −0
	}
	return all
}

func tick(v float64) string {
	text := strconv.FormatFloat(v, 'g', 6, 64)
	if v != 0 && (math.Abs(v) >= 1e6 || math.Abs(v) < 1e-3) {
		text = strings.Replace(strconv.FormatFloat(v, 'e', -1, 64), "e-0", "e-", 1)
		text = strings.Replace(text, "e+0", "e", 1)
	}
	return text
}
