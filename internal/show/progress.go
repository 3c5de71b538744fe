package show

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress says on stderr how far a run is: turns settled, values released and
// the time it took. On a terminal one line is drawn again and again; elsewhere
// a plain line appears at most every interval. Safe for concurrent use.
type Progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	now      func() time.Time
	begin    time.Time
	drawn    time.Time
	shown    string // the line on the screen
	turns    int
	total    int // 0: not known
	released int
}

const (
	redraw   = 100 * time.Millisecond // on a terminal
	interval = 2 * time.Second        // elsewhere
)

// NewProgress starts the clock; now is the clock.
func NewProgress(w io.Writer, terminal bool, now func() time.Time) *Progress {
	at := now()
	return &Progress{w: w, terminal: terminal, now: now, begin: at, drawn: at}
}

// Expect says how many turns there will be; 0 where it is not known.
func (p *Progress) Expect(turns int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = turns
}

// Elapsed is the time since the start, as it is shown.
func (p *Progress) Elapsed() string { return seconds(p.now().Sub(p.begin)) }

// Write lets a log write lines that stay.
func (p *Progress) Write(line []byte) (n int, err error) {
	err = p.Interrupt(func() error {
		n, err = p.w.Write(line)
		return err
	})
	return n, err
}

// Settled says that a turn was settled with so many released values.
func (p *Progress) Settled(turn, released int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns = max(p.turns, turn)
	p.released += released
	every := interval
	if p.terminal {
		every = redraw
	}
	if at := p.now(); at.Sub(p.drawn) >= every {
		p.drawn = at
		p.draw()
	}
}

// Interrupt runs fn while the line is off the screen: for output that goes to
// the same terminal.
func (p *Progress) Interrupt(fn func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	err := fn()
	if p.shown != "" {
		fmt.Fprint(p.w, p.shown)
	}
	return err
}

// Note writes one line that stays.
func (p *Progress) Note(format string, args ...any) {
	p.Interrupt(func() error { //nolint:errcheck // fn returns none
		fmt.Fprintf(p.w, format+"\n", args...)
		return nil
	})
}

// Done writes the last state and ends the line.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw()
	if p.shown != "" {
		fmt.Fprintln(p.w)
		p.shown = ""
	}
}

func (p *Progress) draw() {
	line := p.text()
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	fmt.Fprint(p.w, "\r\x1b[K", line)
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
	if p.total > 0 {
		fmt.Fprintf(&b, " of %s", Number(float64(p.total), 0))
	}
	fmt.Fprintf(&b, " turns settled, %s values released, %s", Number(float64(p.released), 0), seconds(p.now().Sub(p.begin)))
	return b.String()
}

// seconds writes an elapsed time to a tenth of a second below a minute.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
