package calendar

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/schemas"
	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Unix milliseconds that represent the ends of time.
const (
	Never   = math.MinInt64 // before every other time
	Forever = math.MaxInt64 // after every other time
)

// MaxSlides is the maximum number of slides that Coarse may return for a deployment. The number of
// a turn is computed by inclusion and exclusion over them, in time exponential in their number.
const MaxSlides = 6

// Turns numbers the slices of event time between the ends of a generation's windows. Turn w covers
// [End(w−1), End(w)); the ends are the multiples of all slides after the start of the generation.
// The first turn of a generation follows the last turn of the previous one. No window begins before
// the start of the generation, and all earlier time counts as one turn, the last one of the
// previous generation. All times are Unix milliseconds. Turns are numbered from 1, metrics by their
// indexes in the header. Turns implements spend.Windows. It is read-only, and safe for concurrent
// use.
//
// Windows, slides and periods have constant lengths by the clock of the deployment's time zone, and
// windows begin and end at readings of that clock. All numbers are computed from readings, so they
// do not depend on when the clock is changed. Methods take and return readings unless their
// comments say that they use times.
type Turns struct {
	Start   int64 // start of the deployment; earlier events do not belong to a turn
	clock   *wallclock.Clock
	first   uint64 // the generation's first turn
	start   int64  // reading at the start of the first turn
	terms   []term
	metrics []windowSpec
	period  int64 // budget period in milliseconds; 0 for life
}

// term is a term of inclusion and exclusion. every is a common multiple of slides; each of its
// multiples counts as sign, which is 1 or −1.
type term struct{ every, sign int64 }

// windowSpec describes the windows of a metric. size is 0 if another metric defines them.
type windowSpec struct{ size, slide int64 }

// New returns the turns of the generation with header h. period is the budget period; 0: for life.
func New(h *schemas.Header, period time.Duration) *Turns {
	clock := wallclock.Of(h.Zone)
	t := &Turns{Start: h.StartMillis, clock: clock, first: h.FromTurn, start: clock.Begins(h.SliceStart),
		period: period.Milliseconds()}
	var slides []int64
	for i := range h.Metrics {
		var m windowSpec
		if spec := &h.Metrics[i]; metrickind.Of(spec.Kind).Admits() {
			m = windowSpec{spec.WindowSize, spec.WindowSlide}
			slides = append(slides, m.slide)
		}
		t.metrics = append(t.metrics, m)
	}
	t.terms = terms(Coarse(slides))
	return t
}

// Coarse returns, ascending, the distinct slides > 0 that are not multiples of another slide.
func Coarse(slides []int64) []int64 {
	slides = slices.Clone(slides)
	slices.Sort(slides)
	slides = slices.Compact(slides)
	var out []int64
	for _, s := range slides {
		if !slices.ContainsFunc(out, func(o int64) bool { return s%o == 0 }) {
			out = append(out, s)
		}
	}
	return out
}

func terms(slides []int64) []term {
	var out []term
	for set := 1; set < 1<<len(slides); set++ {
		every, sign := int64(1), int64(-1)
		for i, s := range slides {
			if set>>i&1 == 1 {
				every, sign = lcm(every, s), -sign
			}
		}
		out = append(out, term{every, sign})
	}
	return out
}

// lcm returns the least common multiple; on overflow math.MaxInt64, which no time reaches.
func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if q := b / x; a <= math.MaxInt64/q {
		return a * q
	}
	return math.MaxInt64
}

// Align rounds a reading down to a multiple of size, which must be above 0.
func Align(millis, size int64) int64 { return floorDivide(millis, size) * size }

func floorDivide(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// ends returns the number of turns of the generation that end at or before a reading.
func (t *Turns) ends(reading int64) int64 {
	var n int64
	for _, m := range t.terms {
		n += m.sign * (floorDivide(reading, m.every) - floorDivide(t.start, m.every))
	}
	return n
}

// End returns the time at which a turn ends. End(0) is the start.
func (t *Turns) End(turn uint64) int64 { return t.clock.Time(t.end(turn)) }

// end returns the reading at the end of a turn.
func (t *Turns) end(turn uint64) int64 {
	if turn < t.first {
		return t.start
	}
	n := int64(turn - t.first + 1)
	if len(t.terms) == 1 {
		return Align(t.start, t.terms[0].every) + n*t.terms[0].every
	}
	// The other slides only add ends, so turn ends no later than with the least slide alone.
	least := t.terms[0].every
	limit := Align(t.start, least) + n*least - t.start
	offset := sort.Search(int(limit), func(ms int) bool { return t.ends(t.start+int64(ms)) >= n })
	return t.start + int64(offset)
}

// Of returns the turn that covers a time. The time must not be before Start.
func (t *Turns) Of(millis int64) uint64 { return t.turnAt(t.clock.Reading(millis)) }

func (t *Turns) turnAt(reading int64) uint64 {
	if reading < t.start {
		return t.first - 1
	}
	return t.first + uint64(t.ends(reading))
}

// LastEndedBy returns the last turn that ends at or before a time, or 0 if there is none.
func (t *Turns) LastEndedBy(millis int64) uint64 {
	if millis < t.Start {
		return 0
	}
	return t.Of(millis) - 1
}

// Bounds converts the readings at which a window starts and ends to times.
func (t *Turns) Bounds(start, end int64) (from, to int64) {
	return t.clock.Time(start), t.clock.Time(end)
}

// Ending returns the metric windows that end with a turn, in the order of admission. It leaves out
// windows that would begin before the generation, and those that do not begin at all: see begins.
func (t *Turns) Ending(turn uint64) []schemas.MetricWindow {
	end := t.end(turn)
	var windows []schemas.MetricWindow
	for i, m := range t.metrics {
		if m.size > 0 && Align(end, m.slide) == end && end-m.size >= t.start && t.begins(end-m.size, m.slide) {
			windows = append(windows,
				schemas.MetricWindow{Metric: uint32(i), WindowStart: end - m.size, WindowEnd: end})
		}
	}
	return windows
}

// begins reports whether a window begins at a reading. If the clock jumps from there to the start
// of the metric's next window, only that one begins: no two begin at the same time.
func (t *Turns) begins(start, slide int64) bool {
	return t.clock == nil || t.clock.Time(start) < t.clock.Time(start+slide)
}

// NextEnd returns the time of the first end of a metric window after a turn. It ignores windows
// that would begin before the generation.
func (t *Turns) NextEnd(turn uint64) int64 {
	end, next := t.end(turn), int64(Forever)
	for _, m := range t.metrics {
		if m.size > 0 {
			next = min(next, max(Align(end, m.slide)+m.slide, t.earliest(m)+m.size))
		}
	}
	if next == Forever {
		return next
	}
	return t.clock.Time(next)
}

// First implements spend.Windows. It returns the first turn of a metric window.
func (t *Turns) First(p schemas.MetricWindow) uint64 { return t.turnAt(p.WindowStart) }

// Open implements spend.Windows. It reports whether a window of a metric contains a turn's slice
// and ends after the turn.
func (t *Turns) Open(metric uint32, turn uint64) bool {
	_, open := t.firstOpen(int(metric), turn)
	return open
}

// earliest returns the reading at the start of a metric's first window.
func (t *Turns) earliest(m windowSpec) int64 { return Align(t.start-1, m.slide) + m.slide }

// firstOpen returns the start of the earliest window of a metric that contains a turn's slice and
// ends after the turn. It returns false if there is no such window.
func (t *Turns) firstOpen(metric int, turn uint64) (int64, bool) {
	m := t.metrics[metric]
	if m.size == 0 || turn < t.first {
		return 0, false
	}
	begin, end := t.end(turn-1), t.end(turn)
	// The earliest start whose window ends after the turn's end.
	first := max(Align(end-m.size, m.slide)+m.slide, t.earliest(m))
	return first, first <= begin
}

// Needed implements spend.Windows. It returns the first turn whose slice is part of a window that
// ends after the given turn.
func (t *Turns) Needed(turn uint64) uint64 {
	needed := turn + 1
	for i := range t.metrics {
		if first, open := t.firstOpen(i, turn); open {
			needed = min(needed, t.turnAt(first))
		}
	}
	return needed
}

// farthest is how far ahead AllEnd and NextPeriod search, in milliseconds: a hundred years.
const farthest = 100 * 365 * 24 * 60 * 60 * 1000

// AllEnd returns the first time, at or after the end of a turn, at which a turn ends and no window
// is open. It returns Forever if there is none within a hundred years.
func (t *Turns) AllEnd(turn uint64) int64 {
	end, every := t.end(turn), int64(1)
	if t.Needed(turn) > turn {
		return t.clock.Time(end)
	}
	for _, m := range t.metrics {
		if m.size > 0 {
			every = lcm(every, m.slide)
		}
		if m.size > m.slide || every > farthest {
			return Forever
		}
	}
	return t.clock.Time(Align(end, every) + every)
}

// WindowsOf returns how many windows of a metric contain a turn's slice.
func (t *Turns) WindowsOf(metric int, turn uint64) uint64 {
	m := t.metrics[metric]
	if m.size == 0 {
		return 0
	}
	begin := t.end(turn - 1)
	last := Align(begin, m.slide)
	first := max(Align(begin-m.size, m.slide)+m.slide, t.earliest(m))
	if first > last {
		return 0
	}
	n := uint64((last-first)/m.slide) + 1
	for start := first; t.clock != nil && start <= last; start += m.slide {
		if !t.begins(start, m.slide) {
			n--
		}
	}
	return n
}

// MostWindows returns the maximum number of windows of a metric that contain the same slice. It
// returns 0 for a metric without windows of its own.
func (t *Turns) MostWindows(metric int) uint64 {
	m := t.metrics[metric]
	if m.size == 0 {
		return 0
	}
	return uint64(m.size / m.slide)
}
