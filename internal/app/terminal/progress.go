package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Progress reports the progress of a run on stderr: settled turns, released values and elapsed
// time, in a line at most every interval. No caller waits for long for a stderr that accepts
// nothing, nor for another goroutine's writes. Safe for concurrent use.
type Progress struct {
	out   *relay
	now   func() time.Time
	begin time.Time

	mu           sync.Mutex // never held while something is written or waited for
	written      time.Time  // when the state was last written
	writtenTurns int        // the number of turns in that line
	turns        int
	total        int // 0: not known
	released     int
	status       string        // what the run is waiting for
	pause        time.Duration // until the status is written again
}

const (
	interval = 2 * time.Second
	// While nothing is settled, the status is written at growing intervals.
	statusFirst = 30 * time.Second
	statusMost  = 10 * time.Minute
)

// NewProgress returns a Progress on w that starts now.
func NewProgress(w io.Writer, now func() time.Time) *Progress {
	begin := now()
	return &Progress{out: &relay{w: raw(w)}, now: now, begin: begin, written: begin}
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

// Write implements io.Writer for a logger: it does not wait for the lines.
func (p *Progress) Write(lines []byte) (n int, err error) {
	p.out.put(printable(string(lines)))
	return len(lines), nil
}

// Mention writes a line, without waiting for it.
func (p *Progress) Mention(format string, args ...any) {
	p.out.put(printable(fmt.Sprintf(format+"\n", args...)))
}

// Note writes a line, and waits for it like Flush.
func (p *Progress) Note(format string, args ...any) {
	p.Mention(format, args...)
	p.out.flush()
}

// Flush waits until all messages are written, so that later output of others follows them. It does
// not wait for long if stderr accepts nothing.
func (p *Progress) Flush() { p.out.flush() }

// Settled records that a turn was settled, and how many values it released.
func (p *Progress) Settled(turn, released int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns = max(p.turns, turn)
	p.released += released
	p.status, p.pause = "", 0
	p.writeAfter(interval)
}

// Status sets what the run is waiting for; callers repeat it about once a second. It is written at
// once and again at growing intervals, until a turn is settled.
func (p *Progress) Status(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = text
	if p.writeAfter(p.pause) {
		p.pause = min(max(2*p.pause, statusFirst), statusMost)
	}
}

// writeAfter writes the state if enough time has passed since it was last written.
func (p *Progress) writeAfter(pause time.Duration) bool {
	now := p.now()
	if now.Sub(p.written) < pause || p.out.busy() {
		return false
	}
	p.written, p.writtenTurns = now, p.turns
	p.out.put(p.text() + "\n")
	return true
}

// Done writes a final line: the last state, unless nothing was settled or the state was already
// written, and the text also, unless it is empty.
func (p *Progress) Done(also string) {
	p.mu.Lock()
	p.status = ""
	var parts []string
	if p.turns != p.writtenTurns {
		parts = append(parts, p.text())
	}
	if also != "" {
		parts = append(parts, printable(also))
	}
	if parts != nil {
		p.out.put(strings.Join(parts, "; ") + "\n")
	}
	p.mu.Unlock()
	p.out.flush()
}

func (p *Progress) text() string {
	settled := Count(p.turns, "turn")
	if p.total > 0 {
		settled = Number(float64(p.turns), 0) + " of " + Count(p.total, "turn")
	}
	text := fmt.Sprintf("%s settled, %s released, ", settled, Count(p.released, "value"))
	if p.status != "" {
		text += printable(p.status) + ", "
	}
	return text + p.Elapsed()
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
