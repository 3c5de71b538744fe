package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress reports the progress of a run on stderr: settled turns, released values and elapsed
// time. On a terminal it redraws one line; elsewhere it writes a plain line at most every interval.
// No caller waits for long for a stderr that accepts nothing, nor for another goroutine's writes.
// Safe for concurrent use.
type Progress struct {
	out      *relay
	terminal bool
	width    int // of the terminal at the start
	now      func() time.Time
	begin    time.Time

	mu    sync.Mutex // never held while something is written or waited for
	drawn time.Time  // when the line was last drawn
	shown string     // the line on the screen
	// drawnTurns is the number of turns in the last line.
	drawnTurns int
	hidden     int // number of running Interrupts: no line is drawn meanwhile
	turns      int
	total      int // 0: not known
	released   int
	status     string        // what the run is waiting for
	pause      time.Duration // not on a terminal: until the status is written again
}

const (
	redraw   = 100 * time.Millisecond // on a terminal
	interval = 2 * time.Second        // elsewhere
	// While nothing is settled, the status is written at growing intervals.
	statusFirst = 30 * time.Second
	statusMost  = 10 * time.Minute
)

// NewProgress returns a Progress on w that starts now. terminal reports whether w is a terminal.
func NewProgress(w io.Writer, terminal bool, now func() time.Time) *Progress {
	begin := now()
	_, width := Terminal(w)
	return &Progress{out: &relay{w: raw(w)}, terminal: terminal, width: width, now: now, begin: begin, drawn: begin}
}

// Expect sets the number of turns that there will be; 0 if it is not known.
func (p *Progress) Expect(turns int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = turns
}

// Elapsed returns the time since the start, rounded for display.
func (p *Progress) Elapsed() string {
	return p.now().Sub(p.begin).Round(100 * time.Millisecond).String()
}

// Write implements io.Writer for a logger: it writes lines that stay, without waiting for them.
func (p *Progress) Write(line []byte) (n int, err error) {
	p.stay(string(line))
	return len(line), nil
}

// Mention writes a line that stays, without waiting for it.
func (p *Progress) Mention(format string, args ...any) {
	p.stay(fmt.Sprintf(format+"\n", args...))
}

// Note writes a line that stays, and waits for it like Flush.
func (p *Progress) Note(format string, args ...any) {
	p.Mention(format, args...)
	p.out.flush()
}

// Flush waits until all messages are written, so that later output of others follows them. It does
// not wait for long if stderr accepts nothing.
func (p *Progress) Flush() { p.out.flush() }

func (p *Progress) stay(lines string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines = printable(lines)
	if p.shown != "" {
		lines = clear + lines + p.shown
	}
	p.out.put(lines)
}

// clear removes the line from the screen.
const clear = "\r\x1b[K"

// Settled records that a turn was settled, and how many values it released.
func (p *Progress) Settled(turn, released int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns = max(p.turns, turn)
	p.released += released
	p.status, p.pause = "", 0
	p.drawAfter(interval)
}

// Status sets what the run is waiting for; callers repeat it about once a second. On a terminal the
// line shows it; elsewhere it is written at once and again at growing intervals, until a turn is
// settled.
func (p *Progress) Status(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = text
	if p.drawAfter(p.pause) && !p.terminal {
		p.pause = min(max(2*p.pause, statusFirst), statusMost)
	}
}

// drawAfter draws the line if enough time has passed since it was last drawn: redraw on a terminal,
// otherwise every.
func (p *Progress) drawAfter(every time.Duration) bool {
	if p.terminal {
		every = redraw
	}
	now := p.now()
	if now.Sub(p.drawn) < every || p.hidden > 0 || p.out.busy() {
		return false
	}
	p.drawn = now
	p.draw()
	return true
}

// Interrupt runs fn, which writes to a stream. If that is the terminal that shows the line, the
// line is off the screen meanwhile. Only the caller waits for fn.
func (p *Progress) Interrupt(to io.Writer, fn func() error) error {
	if !p.terminal || !sameTerminal(to, p.out.w) {
		return fn()
	}
	p.mu.Lock()
	p.hidden++
	drawn := p.shown != ""
	if drawn {
		p.out.put(clear)
		p.shown = ""
	}
	p.mu.Unlock()
	p.out.flush()
	err := fn()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hidden--; drawn && p.hidden == 0 {
		p.shown = p.text()
		p.out.put(p.shown)
	}
	return err
}

// Done writes a final line: the last state, unless nothing was settled or the state was already
// written, and the text also, unless it is empty.
func (p *Progress) Done(also string) {
	p.mu.Lock()
	p.status = ""
	var parts []string
	if p.turns > 0 && (p.terminal || p.turns != p.drawnTurns) {
		parts = append(parts, p.text())
	}
	if also != "" {
		parts = append(parts, printable(also))
	}
	line := strings.Join(parts, "; ")
	if line != "" {
		line += "\n"
	}
	if p.shown != "" {
		line = clear + line
		p.shown = ""
	}
	if line != "" {
		p.out.put(line)
	}
	p.mu.Unlock()
	p.out.flush()
}

func (p *Progress) draw() {
	line := p.text()
	p.drawnTurns = p.turns
	if !p.terminal {
		p.out.put(line + "\n")
		return
	}
	if runes := []rune(line); len(runes) >= p.width { // a wrapped line could not be redrawn
		line = string(runes[:p.width-2]) + "…"
	}
	p.out.put(clear + line)
	p.shown = line
}

func (p *Progress) text() string {
	var b strings.Builder
	if p.terminal && p.total > 0 {
		const cells = 20
		full := min(cells, cells*p.turns/p.total)
		b.WriteString(strings.Repeat("█", full) + strings.Repeat("░", cells-full) + " ")
	}
	fmt.Fprintf(&b, "%s", Number(float64(p.turns), 0))
	expected := p.turns
	if p.total > 0 {
		expected = p.total
		fmt.Fprintf(&b, " of %s", Number(float64(p.total), 0))
	}
	fmt.Fprintf(&b, " %s settled, %s released, ", plural(expected, "turn"), Count(p.released, "value"))
	if p.status != "" {
		b.WriteString(printable(p.status) + ", ")
	}
	b.WriteString(p.Elapsed())
	return b.String()
}

// Count formats a number of things: "1 value", "2,000 values".
func Count[N int | uint64](n N, noun string) string {
	return Number(float64(n), 0) + " " + plural(n, noun)
}

// plural returns the form of a noun that goes with n.
func plural[N int | uint64](n N, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
