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

// MaxSlides limits the number of slides that Coarse returns for a deployment, because the number of
// a turn is computed by inclusion and exclusion over them.
const MaxSlides = 6

// Turns numbers the slices of event time between the ends of a generation's windows. Turn w covers
// [End(w−1), End(w)); the ends are the multiples of all slides after the start of the generation.
// Its first turn has the number after the last turn of the previous generation. No window begins
// before that start, and all earlier time counts as one turn, the last one of the previous
// generation. All times are Unix milliseconds; turns are numbered from 1, metrics by their indexes
// in the header. It implements spend.Windows. It is read-only, and safe for concurrent use.
//
// Windows, slides and periods have constant lengths by the clock of the deployment's time zone. So
// all numbers are computed from readings of that clock, and do not depend on when it is changed:
// metric windows begin and end at readings. Methods take and return readings unless their comments
// say that they use times.
type Turns struct {
	Start   int64 // start of the deployment; earlier events do not belong to a turn
	clock   *wallclock.Clock
	first   uint64 // the generation's first turn
	start   int64  // reading at the start of the first turn
	terms   []term
	metrics []windowed
	period  int64 // budget period in milliseconds; 0 for life
}

// term is a term of inclusion and exclusion: every is a common multiple of slides, and its
// multiples count with the sign.
type term struct{ every, sign int64 }

// windowed describes a metric's windows; size is 0 if it shares another metric's windows.
type windowed struct{ size, slide int64 }

// New returns the turns of the generation with header h. period is the budget period; 0: for life.
func New(h *schemas.Header, period time.Duration) *Turns {
	clock := wallclock.Of(h.Zone)
	t := &Turns{Start: h.StartMillis, clock: clock, first: h.FromTurn, start: clock.Begins(h.SliceStart),
		period: period.Milliseconds()}
	var slides []int64
	for i := range h.Metrics {
		var m windowed
		if spec := &h.Metrics[i]; metrickind.Of(spec.Kind).Admits() {
			m = windowed{spec.WindowSize, spec.WindowSlide}
			slides = append(slides, m.slide)
		}
		t.metrics = append(t.metrics, m)
	}
	t.terms = terms(Coarse(slides))
	return t
}

// Coarse returns the distinct slides that are not multiples of another, ascending. All must be > 0.
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

// lcm returns the least common multiple, or math.MaxInt64 on overflow, which no time reaches.
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

// ends counts the turns of the generation that end at or before a reading.
func (t *Turns) ends(reading int64) int64 {
	var n int64
	for _, m := range t.terms {
		n += m.sign * (floorDivide(reading, m.every) - floorDivide(t.start, m.every))
	}
	return n
}

// End returns the time when a turn ends; End(0) is the start.
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
	// The number of turns is at least the number that the least slide alone would give.
	least := t.terms[0].every
	limit := Align(t.start, least) + n*least - t.start
	after := sort.Search(int(limit), func(ms int) bool { return t.ends(t.start+int64(ms)) >= n })
	return t.start + int64(after)
}

// Of returns the turn that covers a time, which must not be before the start.
func (t *Turns) Of(millis int64) uint64 { return t.turnAt(t.clock.Reading(millis)) }

func (t *Turns) turnAt(reading int64) uint64 {
	if reading < t.start {
		return t.first - 1
	}
	return t.first + uint64(t.ends(reading))
}

// LastEndedBy returns the last turn that ends at or before a time; 0 if there is none.
func (t *Turns) LastEndedBy(millis int64) uint64 {
	if millis < t.Start {
		return 0
	}
	return t.Of(millis) - 1
}

// Bounds converts the readings at the start and end of a window to times.
func (t *Turns) Bounds(start, end int64) (from, to int64) {
	return t.clock.Time(start), t.clock.Time(end)
}

// Ending returns the metric windows that end with a turn, in the order of admission. It leaves out
// windows that would begin before the generation, or that do not begin at all.
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

// begins reports whether a window begins at a reading: if the clock jumps from there to the start
// of the metric's next window, only the next window begins. So no two windows of a metric begin at
// the same time.
func (t *Turns) begins(start, slide int64) bool {
	return t.clock == nil || t.clock.Time(start) < t.clock.Time(start+slide)
}

// NextEnd returns the end of the metric window that ends first after a turn. It ignores windows
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

// First implements spend.Windows: it returns the first turn of a metric window.
func (t *Turns) First(p schemas.MetricWindow) uint64 { return t.turnAt(p.WindowStart) }

// Open implements spend.Windows: it reports whether some window of a metric contains a turn's slice
// and ends after the turn.
func (t *Turns) Open(metric uint32, turn uint64) bool {
	_, open := t.open(int(metric), turn)
	return open
}

// earliest returns the reading at the start of a metric's first window.
func (t *Turns) earliest(m windowed) int64 { return Align(t.start-1, m.slide) + m.slide }

// open returns the start of a metric's earliest window that contains a turn's slice and ends after
// the turn, and whether there is such a window.
func (t *Turns) open(metric int, turn uint64) (int64, bool) {
	m := t.metrics[metric]
	if m.size == 0 || turn < t.first {
		return 0, false
	}
	begin, end := t.end(turn-1), t.end(turn)
	// The earliest start whose window ends after the turn's end.
	first := max(Align(end-m.size, m.slide)+m.slide, t.earliest(m))
	return first, first <= begin
}

// Needed implements spend.Windows: it returns the first turn whose slice is part of a window that
// ends after the given turn.
func (t *Turns) Needed(turn uint64) uint64 {
	needed := turn + 1
	for i := range t.metrics {
		if first, open := t.open(i, turn); open {
			needed = min(needed, t.turnAt(first))
		}
	}
	return needed
}

// farthest limits how far AllEnd and NextPeriod search, in milliseconds.
const farthest = 100 * 365 * 24 * 60 * 60 * 1000

// AllEnd returns the first time, at or after the end of a turn, when a turn ends and no window is
// open; Forever if there is none within a hundred years, or ever, because windows overlap.
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

// WindowsOf returns the number of windows of a metric that contain a turn's slice.
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

// MostWindows returns the greatest number of windows of a metric that contain one slice; 0 for a
// metric without its own windows.
func (t *Turns) MostWindows(metric int) uint64 {
	m := t.metrics[metric]
	if m.size == 0 {
		return 0
	}
	return uint64(m.size / m.slide)
}
