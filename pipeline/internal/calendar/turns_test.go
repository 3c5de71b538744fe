package calendar

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/wallclock"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/schemas"
)

func testTurns(start, period int64, metrics ...windowSpec) *Turns {
	var slides []int64
	for _, m := range metrics {
		if m.size > 0 {
			slides = append(slides, m.slide)
		}
	}
	return &Turns{Start: start, first: 1, start: start, terms: terms(Coarse(slides)), period: period, metrics: metrics}
}

// inZone moves turns to a zone: their start becomes a reading there.
func (t *Turns) inZone(name string) *Turns {
	t.clock = wallclock.Of(name)
	t.Start = t.clock.Time(t.start)
	return t
}

// byHand lists the ends of all turns up to a time: the multiples of any slide.
func byHand(t *Turns, until int64) []int64 {
	ends := []int64{t.Start}
	for millis := t.Start + 1; millis <= until; millis++ {
		for _, m := range t.metrics {
			if m.size > 0 && Align(millis, m.slide) == millis {
				ends = append(ends, millis)
				break
			}
		}
	}
	return ends
}

var zones = []string{"", "Europe/Zurich", "America/Havana", "Australia/Lord_Howe", "Pacific/Apia"}

// Event times are of the years 1 to 9999: no number of a turn, and no end of one,
// leaves the range of its type there, whatever the slides.
func TestTurnsOfAllYears(t *testing.T) {
	const first, last = -62135596800000, 253402300799999
	rapid.Check(t, func(t *rapid.T) {
		var metrics []windowSpec
		for range rapid.IntRange(1, MaxSlides).Draw(t, "metrics") {
			slide := rapid.Int64Range(1, 366*86_400_000).Draw(t, "slide")
			metrics = append(metrics, windowSpec{size: slide, slide: slide})
		}
		w := testTurns(rapid.Int64Range(first, last-2*86_400_000).Draw(t, "start"), 0, metrics...)
		w.inZone(rapid.SampledFrom(zones).Draw(t, "zone"))
		millis := rapid.OneOf(rapid.Int64Range(w.Start, last), rapid.Just(w.Start), rapid.Just(int64(last))).Draw(t,
			"time")
		if turn := w.Of(millis); w.End(turn-1) > millis || w.End(turn) <= millis || w.LastEndedBy(millis) != turn-1 {
			t.Fatalf("time %d is put to turn %d, from %d to %d", millis, turn, w.End(turn-1), w.End(turn))
		}
	})
}

func TestTurnsAreTheUnionOfAllWindowEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const until = 400
		start := rapid.Int64Range(-200, 200).Draw(t, "start")
		var metrics []windowSpec
		for range rapid.IntRange(1, 4).Draw(t, "metrics") {
			slide := rapid.Int64Range(1, 30).Draw(t, "slide")
			metrics = append(metrics, windowSpec{size: slide * rapid.Int64Range(1, 5).Draw(t, "slides"), slide: slide})
			if rapid.Bool().Draw(t, "derived") {
				metrics = append(metrics, windowSpec{})
			}
		}
		w := testTurns(start, rapid.SampledFrom([]int64{0, 7, 50}).Draw(t, "period"), metrics...)
		ends := byHand(w, until)
		turn := uint64(0)
		for millis := start; millis < ends[len(ends)-1]; millis++ {
			if millis == ends[turn] {
				turn++
			}
			if got := w.Of(millis); got != turn {
				t.Fatalf("time %d is put to turn %d, not %d", millis, got, turn)
			}
			if got := w.LastEndedBy(millis); got != turn-1 {
				t.Fatalf("by %d, %d turns have ended, not %d", millis, got, turn-1)
			}
		}
		for n, end := range ends {
			if got := w.End(uint64(n)); got != end {
				t.Fatalf("turn %d ends at %d, not %d", n, got, end)
			}
		}
		for n := 1; n < len(ends) && ends[n]+160 < until; n++ {
			compareWindows(t, w, ends, n)
			compareAllEnd(t, w, ends, n)
		}
	})
}

// compareAllEnd searches for the first end of a turn without an open window; one before AllEnd is
// before the first window of some metric.
func compareAllEnd(t *rapid.T, w *Turns, ends []int64, n int) {
	got, begun := w.AllEnd(uint64(n)), w.start
	for _, m := range w.metrics {
		if m.size > 0 {
			begun = max(begun, Align(w.start-1, m.slide)+m.slide)
		}
	}
	for i, end := range ends[n:] {
		open := false
		for _, m := range w.metrics {
			for s := max(w.start, end-m.size+1); s < end; s++ {
				open = open || m.size > 0 && Align(s, m.slide) == s
			}
		}
		if end == got && open || end < got && !open && (i == 0 || end > begun) {
			t.Fatalf("from turn %d on, all windows end at %d; at %d one is open: %v", n, got, end, open)
		}
	}
}

// compareWindows enumerates every window that there could be.
func compareWindows(t *rapid.T, w *Turns, ends []int64, n int) {
	turn := uint64(n)
	needed, earliest := turn+1, int64(math.MaxInt64)
	var windows []schemas.MetricWindow
	for i, m := range w.metrics {
		open, holding := false, uint64(0)
		for s := w.start; m.size > 0 && s < ends[n]+m.size; s++ {
			if Align(s, m.slide) != s {
				continue
			}
			e := s + m.size
			if e == ends[n] {
				windows = append(windows, schemas.MetricWindow{Metric: uint32(i), WindowStart: s, WindowEnd: e})
			}
			if e > ends[n] && s < ends[n] {
				open = true
				needed = min(needed, w.Of(s))
			}
			if e > ends[n] {
				earliest = min(earliest, s)
			}
			if s <= ends[n-1] && e >= ends[n] {
				holding++
			}
		}
		if w.Open(uint32(i), turn) != open {
			t.Fatalf("turn %d, metric %d: open is %v", turn, i, !open)
		}
		if got := w.WindowsOf(i, turn); got != holding {
			t.Fatalf("turn %d lies in %d windows of metric %d, not %d", turn, holding, i, got)
		}
	}
	got := w.Ending(turn)
	if len(got) != len(windows) {
		t.Fatalf("turn %d ends %v, not %v", turn, windows, got)
	}
	for i, p := range windows {
		if got[i] != p {
			t.Fatalf("turn %d ends %v, not %v", turn, windows, got)
		}
		if first := w.First(p); w.End(first-1) != p.WindowStart {
			t.Fatalf("window %v begins with turn %d", p, first)
		}
	}
	if w.Needed(turn) != needed {
		t.Fatalf("after turn %d slices from %d on are needed, not %d", turn, needed, w.Needed(turn))
	}
	// No window that ends later holds a time of an earlier period.
	if least := w.LeastPeriod(turn); w.period > 0 &&
		(least > floorDivide(earliest, w.period) || least > floorDivide(ends[n], w.period)) {
		t.Fatalf("after turn %d period %d counts as the least; a window from %d on is open", turn, least, earliest)
	}
}

// A change does not restart the numbers of turns; no window of the next generation begins before
// it, and a window that ended before it or that it cut short does not end again.
func TestRuleNoWindowReachesOverAChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := schemas.Header{StartMillis: rapid.Int64Range(-50, 50).Draw(t, "start"), FromTurn: 1}
		h.SliceStart = h.StartMillis
		addMetric := func() {
			slide := rapid.Int64Range(1, 12).Draw(t, "slide")
			h.Metrics = append(h.Metrics,
				schemas.MetricSpec{WindowSize: slide * rapid.Int64Range(1, 5).Draw(t, "slides"), WindowSlide: slide})
		}
		addMetric()
		addMetric()
		ends := []int64{h.StartMillis}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			w := New(&h, 0)
			from := h.FromTurn + rapid.Uint64Range(0, 9).Draw(t, "turns")
			for turn := h.FromTurn; turn < from; turn++ {
				ends = append(ends, w.End(turn))
			}
			h.FromTurn, h.SliceStart = from, w.End(from-1)
			if rapid.Bool().Draw(t, "drop") {
				h.Metrics = h.Metrics[1:]
			}
			addMetric()
		}
		w := New(&h, 0)
		for turn := h.FromTurn; turn < h.FromTurn+30; turn++ {
			ends = append(ends, w.End(turn))
		}
		turn := h.FromTurn - 1
		for millis := h.StartMillis; millis < ends[len(ends)-1]; millis++ {
			for millis >= h.SliceStart && millis == ends[turn] {
				turn++
			}
			if got := w.Of(millis); got != turn {
				t.Fatalf("time %d is put to turn %d, not %d", millis, got, turn)
			}
			if got := w.LastEndedBy(millis); got != turn-1 {
				t.Fatalf("by %d, %d turns have ended, not %d", millis, got, turn-1)
			}
		}
		for n := h.FromTurn; n < h.FromTurn+20; n++ {
			compareWindows(t, w, ends, int(n))
			for _, ending := range w.Ending(n) {
				if ending.WindowStart < h.SliceStart || w.First(ending) < h.FromTurn {
					t.Fatalf("turn %d, after a change at %d, ends %v", n, h.SliceStart, ending)
				}
			}
		}
		if last := h.FromTurn - 1; w.AllEnd(last) != h.SliceStart || w.Needed(last) != h.FromTurn {
			t.Fatalf("at the change, turns from %d on are needed, and all windows end at %d", w.Needed(last),
				w.AllEnd(last))
		}
	})
}

// NextEnd agrees with the windows that end with every turn.
func TestTheNextWindowToEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(-200, 200).Draw(t, "start")
		var metrics []windowSpec
		for range rapid.IntRange(1, 3).Draw(t, "metrics") {
			slide := rapid.Int64Range(1, 20).Draw(t, "slide")
			metrics = append(metrics, windowSpec{},
				windowSpec{size: slide * rapid.Int64Range(1, 6).Draw(t, "times"), slide: slide})
		}
		w := testTurns(start, 0, metrics...)
		for turn := range uint64(20) {
			next := turn + 1
			for len(w.Ending(next)) == 0 {
				next++
			}
			if got := w.NextEnd(turn); got != w.End(next) {
				t.Fatalf("after turn %d: %d, and turn %d ends at %d", turn, got, next, w.End(next))
			}
		}
	})
}

// Days of a zone by the clock of people, as Python's zoneinfo has them: one turn for each, which
// covers what happens on it; windows and periods begin with them; and a change of the configuration
// at the end of any of them numbers the later ones as before.
func TestRuleTurnsAreDaysOfTheZone(t *testing.T) {
	const day = 86_400_000
	for zone, midnights := range map[string][]string{
		"Europe/Zurich": {"2025-03-28T23:00:00Z", "2025-03-29T23:00:00Z", "2025-03-30T22:00:00Z",
			"2025-03-31T22:00:00Z"},
		// 01:00 → 00:00
		"America/Havana": {"2025-11-01T04:00:00Z", "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z",
			"2025-11-04T05:00:00Z"},
		// no 00:00
		"Asia/Beirut": {"2024-03-29T22:00:00Z", "2024-03-30T22:00:00Z", "2024-03-31T21:00:00Z",
			"2024-04-01T21:00:00Z"},
		// no 30 December
		"Pacific/Apia": {"2011-12-28T10:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z",
			"2011-12-31T10:00:00Z"},
	} {
		var begin []int64
		for _, text := range midnights {
			moment := must.Have(time.Parse(time.RFC3339, text))
			begin = append(begin, moment.UnixMilli())
		}
		h := &schemas.Header{FromTurn: 1, SliceStart: begin[0], StartMillis: begin[0], Zone: zone,
			Metrics: []schemas.MetricSpec{{WindowSize: day, WindowSlide: day}}}
		turns := New(h, 24*time.Hour)
		turn := uint64(0)
		for i, day := range begin[:len(begin)-1] {
			first, last := turns.Of(day), turns.Of(begin[i+1]-1)
			if first != last || i > 0 && first <= turn {
				t.Errorf("%s, day %d: turns %d to %d, and %d is that of the day before", zone, i, first, last, turn)
			}
			turn = first
			if turns.End(turn) != begin[i+1] || turns.PeriodOf(day) != turns.PeriodOf(begin[i+1]-1) ||
				turns.PeriodOf(day) == turns.PeriodOf(begin[i+1]) {
				t.Errorf("%s, day %d: its turn ends at %d, and its periods are %d to %d", zone, i, turns.End(turn),
					turns.PeriodOf(day), turns.PeriodOf(begin[i+1]))
			}
			ending := turns.Ending(turn)
			if len(ending) != 1 {
				t.Fatalf("%s, day %d: windows %v", zone, i, ending)
			}
			if from, to := turns.Bounds(ending[0].WindowStart, ending[0].WindowEnd); from != day || to != begin[i+1] {
				t.Errorf("%s, day %d: its window is from %d to %d", zone, i, from, to)
			}
			next := *h
			next.FromTurn, next.SliceStart = turn+1, turns.End(turn)
			changed := New(&next, 24*time.Hour)
			for _, later := range begin[i+1:] {
				if changed.Of(later-1) != turns.Of(later-1) || changed.Of(later) != turns.Of(later) {
					t.Errorf("%s: after a change on day %d, turn %d is turn %d", zone, i, turns.Of(later),
						changed.Of(later))
				}
			}
		}
	}
}

// Apia had no 30 December 2011: no two windows of two days begin at one time, none is released
// twice, even after a change at any turn, and each event is tallied for those that end.
func TestWindowsOfSeveralDaysWhereADayIsMissing(t *testing.T) {
	const day = 86_400_000
	start := time.Date(2011, 12, 26, 10, 0, 0, 0, time.UTC).UnixMilli()
	h := &schemas.Header{FromTurn: 1, SliceStart: start, StartMillis: start, Zone: "Pacific/Apia",
		Metrics: []schemas.MetricSpec{{WindowSize: 2 * day, WindowSlide: day}}}
	for change := range uint64(8) {
		before, after, ended, begun, holding := New(h, 0), New(h, 0), map[int64]bool{}, map[int64]bool{},
			map[uint64]uint64{}
		if change > 0 {
			next := *h
			next.FromTurn, next.SliceStart = change+1, before.End(change)
			after = New(&next, 0)
		}
		for turn := uint64(1); turn < 10; turn++ {
			turns := before
			if turn > change {
				turns = after
			}
			for _, w := range turns.Ending(turn) {
				from, _ := turns.Bounds(w.WindowStart, w.WindowEnd)
				if ended[w.WindowEnd] || begun[from] {
					t.Errorf("change after turn %d: a second window that begins at %d or ends at the reading %d",
						change, from, w.WindowEnd)
				}
				ended[w.WindowEnd], begun[from] = true, true
				for in := turns.First(w); in <= turn; in++ {
					holding[in]++
				}
			}
		}
		for turn := uint64(1); turn < 9; turn++ {
			if from, to := after.End(turn-1), after.End(turn); from < to && after.WindowsOf(0, turn) != holding[turn] {
				t.Errorf("change after turn %d: turn %d is in %d windows, and %d end", change, turn,
					after.WindowsOf(0, turn), holding[turn])
			}
		}
	}
}

// Refills of an account are counted from its budget period or, with one budget for life, from 1970:
// no data decide it, not even the start of the deployment. In a zone, everything follows its clock.
func TestRuleNoRecordDecidesWhenAccountsAreRefilled(t *testing.T) {
	const hour, day = 3_600_000, 86_400_000
	// midnight in Zurich, where 30 March has 23 hours
	start := time.Date(2025, 3, 28, 23, 0, 0, 0, time.UTC).UnixMilli()
	for zone, offset := range map[string]int64{"": 0, "Europe/Zurich": hour} {
		h := &schemas.Header{FromTurn: 4, StartMillis: start, SliceStart: start + 3*day, Zone: zone,
			Metrics: []schemas.MetricSpec{{WindowSize: day, WindowSlide: day}}}
		end := start + offset + 10*day // a reading
		w := schemas.MetricWindow{WindowStart: end - day, WindowEnd: end}
		for _, earlier := range []int64{0, 400 * day} {
			h.StartMillis = start - earlier
			if got := New(h, 0).Elapsed(w, 0); got != end {
				t.Errorf("zone %q, for life, %d ms earlier: %d ms, want %d", zone, earlier, got, end)
			}
		}
		h.StartMillis = start
		turns := New(h, 7*24*time.Hour)
		period := turns.PeriodOf(start)
		for later := range int64(3) {
			want := end - Align(start+offset, 7*day) - 7*day*later
			if got := turns.Elapsed(w, period+later); got != want {
				t.Errorf("zone %q, %d periods later: %d ms, want %d", zone, later, got, want)
			}
		}
	}
}

// In Beirut, 31 March 2024 began at 01:00: a deployment that begins then has the whole day.
func TestADayThatBeginsAtOneIsWhole(t *testing.T) {
	const day = 86_400_000
	start := time.Date(2024, 3, 30, 22, 0, 0, 0, time.UTC).UnixMilli()
	turns := New(&schemas.Header{FromTurn: 1, SliceStart: start, StartMillis: start, Zone: "Asia/Beirut",
		Metrics: []schemas.MetricSpec{{WindowSize: day, WindowSlide: day}}}, 0)
	if ending := turns.Ending(1); len(ending) != 1 || turns.End(1)-start != 23*3_600_000 ||
		turns.WindowsOf(0, 1) != 1 || turns.NextEnd(0) != turns.End(1) {
		t.Errorf("turn 1 ends %v, after %d ms", ending, turns.End(1)-start)
	}
}
