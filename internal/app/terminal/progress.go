package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress says on stderr how far a run is: turns settled, values released and
// the time it took. On a terminal one line is drawn again and again; elsewhere
// a plain line appears at most every interval. No caller waits for a stderr that takes
// nothing, nor for what another goroutine is writing. Safe for concurrent use.
type Progress struct {
	out      *relay
	terminal bool
	width    int // of the terminal when the clock was started
	now      func() time.Time
	begin    time.Time

	mu    sync.Mutex // never held while something is written or waited for
	drawn time.Time
	shown string // the line on the screen
	// drawnTurns is what the last line said of turns.
	drawnTurns int
	hidden     int // Interrupts that are running: no line is drawn meanwhile
	turns      int
	total      int // 0: not known
	released   int
	status     string        // what is waited for
	pause      time.Duration // elsewhere: until the status is written again
}

const (
	redraw   = 100 * time.Millisecond // on a terminal
	interval = 2 * time.Second        // elsewhere
	// Where nothing is settled, the status is written at intervals that grow.
	statusFirst = 30 * time.Second
	statusMost  = 10 * time.Minute
)

// NewProgress starts the clock; now is the clock.
func NewProgress(w io.Writer, terminal bool, now func() time.Time) *Progress {
	begin := now()
	_, width := Terminal(w)
	return &Progress{out: &relay{w: raw(w)}, terminal: terminal, width: width, now: now, begin: begin, drawn: begin}
}

// Expect says how many turns there will be; 0 where it is not known.
func (p *Progress) Expect(turns int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = turns
}

// Elapsed returns the time since the start, as it is shown.
func (p *Progress) Elapsed() string {
	return p.now().Sub(p.begin).Round(100 * time.Millisecond).String()
}

// Write lets a log write lines that stay, without waiting for them.
func (p *Progress) Write(line []byte) (n int, err error) {
	p.stay(string(line))
	return len(line), nil
}

// Mention writes one line that stays, without waiting for it.
func (p *Progress) Mention(format string, args ...any) {
	p.stay(fmt.Sprintf(format+"\n", args...))
}

// Note writes one line that stays.
func (p *Progress) Note(format string, args ...any) {
	p.Mention(format, args...)
	p.out.flush()
}

// Flush waits until all messages are written, so that what others write comes after them;
// not for long where stderr takes nothing.
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

// clear takes the line off the screen.
const clear = "\r\x1b[K"

// Settled takes the number of a turn that was settled, and how many values it released.
func (p *Progress) Settled(turn, released int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns = max(p.turns, turn)
	p.released += released
	p.status, p.pause = "", 0
	p.drawAfter(interval)
}

// Status takes what is waited for, about once a second: on a terminal the line shows it;
// elsewhere it is written at once and again at growing intervals, until something is
// settled.
func (p *Progress) Status(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = text
	if p.drawAfter(p.pause) && !p.terminal {
		p.pause = min(max(2*p.pause, statusFirst), statusMost)
	}
}

// drawAfter draws the line if that was not done for some time: the given one where there
// is no terminal.
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

// Interrupt runs fn, which writes to a stream. Where that is the terminal that shows
// the line, the line is off the screen meanwhile; only the caller waits for it.
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

// Done writes the summary, one line: the last state, unless nothing was settled or it stands
// there already, and what else there is to say, if anything.
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
	if runes := []rune(line); len(runes) >= p.width { // a line that is wrapped cannot be drawn over
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

// Count writes how many there are of something: "1 value", "2,000 values".
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
