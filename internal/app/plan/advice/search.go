package advice

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
)

const (
	// finalists are how many of the best settings are looked at again.
	finalists = 12
	// looks is over how many cells and paths of noise a recommendation is forecast: a median of few
	// cells needs more paths.
	looks, mostPaths = 400, 20
	// toldPaths are those of what is told: over 20 paths, the median of seven counts of the edits
	// of a wiki was 13 % from that over 300, and over 100 it is within 5 %.
	toldPaths = 100
	// choosing and telling are the first seeds of two sets of paths.
	choosing, telling = 1000, 2000
)

// score is what a search makes small.
type score func(*Point) float64

// byError is the mean of the typical errors of the value and of the statistics beside it. It adds a
// part that changes even if the median does not yet and, if nothing comes out, one for how far the
// largest count is from the threshold.
func byError(p *Point) float64 {
	typical := math.Log1p(p.Typical)
	for _, b := range p.Beside {
		typical += math.Log1p(min(1, b.Typical)) // at most that of a value that does not come out
	}
	return typical/float64(1+len(p.Beside)) + 0.5*p.smooth + 0.1*(1-min(1, p.reach()))
}

// byKeys is the keys that come out, and among as many the error.
func byKeys(p *Point) float64 { return -math.Log1p(p.KeysShown) + 0.05*byError(p) }

// byLife is how long users can take part, as long as the error is within a limit.
func byLife(limit float64) score {
	return func(p *Point) float64 {
		if p.Typical > limit || p.Shown < 0.5 {
			return 100 + byError(p)
		}
		return -math.Log(float64(p.LastAtLeast)) + 0.05*byError(p)
	}
}

func (p *Point) reach() float64 {
	if p.Reach == 0 && p.Shown > 0 {
		return 1 // public keys
	}
	return p.Reach
}

// better says whether a point has a smaller score, or as small a one with less asked of users.
func better(a, b *Point, of score) bool {
	if x, y := of(a), of(b); math.Abs(x-y) > little {
		return x < y
	}
	if a.LastAtLeast != b.LastAtLeast {
		return a.LastAtLeast > b.LastAtLeast
	}
	return a.bounds().price() < b.bounds().price()
}

// place is a setting: an index into each dial.
type place [5]int

// search has the settings of one size of windows that were tried. Neighbours differ by some steps
// of one dial.
type search struct {
	*Question
	w      *sample.Windows
	cells  *forecast.Cells
	key    []uint32 // that the score needs
	keys   []int
	events []int
	lasts  []int
	target []float64 // relative; for kinds of several components, which lie in a range, parts of it
	values [][2]int64

	base  Setting
	known map[place]*Point // nil where a setting cannot be
	err   error            // why the first one cannot
}

func newSearch(q *Question, w *sample.Windows, s *sample.Stats) *search {
	f := &search{Question: q, w: w, known: map[place]*Point{}, base: q.Given,
		keys:   dial(q.Given.KeysPerUser, s.Keys.Max),
		events: dial(q.Given.EventsPerKey, s.PerKey.Max),
		lasts:  dial(q.Given.LastAtLeast, max(24, float64(w.Len()))),
		target: []float64{q.Given.Relative}, values: q.ranges(s),
	}
	f.base.Window = w.Size
	if !q.kind().EventBound {
		f.events = []int{max(q.Given.EventsPerKey, 1)} // others would give the same
	}
	negative := slices.ContainsFunc(f.values, func(r [2]int64) bool { return r[0] < 0 })
	switch {
	case q.KeepTarget || q.kind().Tree != nil: // whose target is no error of a count
	case negative && q.kind().Sums():
		f.target = []float64{0} // what may be negative has no relative target
	default:
		f.target = []float64{0, 0.02, 0.05, 0.1, 0.2, 0.3}
		if q.kind().Vector != nil {
			f.target = []float64{0, 0.005, 0.01, 0.02, 0.05, 0.1}
		}
	}
	return f
}

// dial returns the round numbers from 1 to the first that is not below most, or the one that is
// given.
func dial(given int, most float64) (out []int) {
	if given > 0 {
		return []int{given}
	}
	for power := 1; ; power *= 10 {
		for _, digit := range []int{1, 2, 3, 5, 7} {
			n := digit * power
			if out = append(out, n); float64(n) >= most || n > 1<<28 {
				return out
			}
		}
	}
}

// ranges returns what values may be clamped to: to what some, most or all of them do not exceed.
// Two sides cost no more than one. One range of zeros where there are no values.
func (q *Question) ranges(s *sample.Stats) (out [][2]int64) {
	switch {
	case q.Given.Min != 0 || q.Given.Max != 0:
		return [][2]int64{{q.Given.Min, q.Given.Max}}
	case s.Above == nil:
		return make([][2]int64, 1)
	case q.kind().Tree != nil:
		return [][2]int64{around(nearly(s.Spread))}
	case q.kind().Vector != nil:
		v := s.Spread
		for _, ends := range [][2]float64{{v.P25, v.P75}, {v.P5, v.P95}, {v.P1, v.P99}, {v.Min, v.Max}} {
			out = append(out, around(ends[0], ends[1]))
		}
		return slices.Compact(out)
	}
	for _, of := range []func(sample.Quantiles) float64{
		func(q sample.Quantiles) float64 { return q.P50 }, func(q sample.Quantiles) float64 { return q.P75 }, func(q sample.Quantiles) float64 { return q.P90 },
		func(q sample.Quantiles) float64 { return q.P99 }, func(q sample.Quantiles) float64 { return q.Max },
	} {
		sizes := dial(0, max(of(*s.Below), of(*s.Above), 1))
		r, size := [2]int64{}, int64(sizes[len(sizes)-1])
		// A relative target that was asked for keeps the range above 0. Where no value is above 0
		// there can be no such target, and the error says so.
		if s.Below.Max > 0 && (!q.KeepTarget || q.Given.Relative == 0 || s.Above.Max == 0) {
			r[0] = -size
		}
		if s.Above.Max > 0 || r[0] == 0 {
			r[1] = size
		}
		out = append(out, r)
	}
	return slices.Compact(out)
}

// nearly returns the least and the greatest value, without those that are far beyond nearly all: a
// range costs nothing, but it is divided into steps of one width.
func nearly(s *sample.Spread) (low, high float64) {
	far := 10 * (s.P99 - s.P1)
	if far == 0 {
		return s.Min, s.Max
	}
	return max(s.Min, s.P1-far), min(s.Max, s.P99+far)
}

// around returns a range of round numbers, some ten steps long, that has two values in it.
func around(low, high float64) [2]int64 {
	step := 1.0
	for digit := 0; step < (high-low)/10; digit++ {
		step = []float64{1, 2, 5}[digit%3] * math.Pow(10, float64(digit/3))
	}
	r := [2]int64{int64(step * math.Floor(low/step)), int64(step * math.Ceil(high/step))}
	if r[0] == r[1] {
		r[1]++
	}
	return r
}

func (f *search) sizes() place {
	return place{len(f.keys), len(f.events), len(f.lasts), len(f.target), len(f.values)}
}

func (f *search) setting(at place) Setting {
	s := f.base
	s.KeysPerUser, s.EventsPerKey, s.LastAtLeast, s.Relative = f.keys[at[0]], f.events[at[1]], f.lasts[at[2]], f.target[at[3]]
	s.Min, s.Max = f.values[at[4]][0], f.values[at[4]][1]
	if f.kind().Vector != nil && !f.KeepTarget {
		from, to := f.kind().Vector.Span(float64(s.Min), float64(s.Max))
		s.Relative, s.Absolute = 0, twoDigits(s.Relative*(to-from))
	}
	return s
}

// run tries settings from several beginnings on, always the best neighbour, in steps that become
// smaller, so many times. Errors: ctx's, and that of Compile where no setting can be.
func (f *search) run(ctx context.Context, of score, descents int) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	if err := f.try(ctx, f.starts()); err != nil {
		return err
	}
	from := f.ranked(of)
	if len(from) == 0 {
		return f.err
	}
	if f.hopeless() {
		return nil
	}
	for _, at := range from[:min(descents, len(from))] {
		if err := f.descend(ctx, at, of); err != nil {
			return err
		}
	}
	return nil
}

// begin computes what all forecasts share.
func (f *search) begin(ctx context.Context) error {
	if f.cells != nil || ctx.Err() != nil {
		return ctx.Err()
	}
	for _, at := range f.starts() {
		d, err := f.Compile(f.setting(at))
		if err != nil {
			f.err = cmp.Or(f.err, err) // the first asks least of users
			continue
		}
		f.cells, err = forecast.Measure(f.w, d)
		return err
	}
	return f.err
}

// starts are settings that differ much: what few, most and nearly all users do, for a short and a
// long life.
func (f *search) starts() (out []place) {
	middle := func(n int, part float64) int { return int(math.Round(part * float64(n-1))) }
	n := f.sizes()
	for _, bounds := range []float64{0, 0.35, 0.7} {
		for _, last := range []float64{0, 0.4, 0.8} {
			at := place{middle(n[0], bounds), middle(n[1], bounds), middle(n[2], last), middle(n[3], 0.6), middle(n[4], 0.5)}
			if !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// hopeless says that nothing comes near the threshold, whatever is tried: the least asked of users
// has the lowest one.
func (f *search) hopeless() bool {
	for _, p := range f.known {
		if p != nil && (p.Shown >= 0.5 || p.reach() > 0.3) {
			return false
		}
	}
	return true
}

func (f *search) descend(ctx context.Context, at place, of score) error {
	n := f.sizes()
	for step := 4; step > 0; {
		var next []place
		for dial := range at {
			for _, by := range []int{-step, step} {
				to := at
				if to[dial] = max(0, min(n[dial]-1, at[dial]+by)); to != at {
					next = append(next, to)
				}
			}
		}
		if err := f.try(ctx, next); err != nil {
			return err
		}
		best := at
		for _, to := range next {
			if f.compare(to, best, of) < 0 {
				best = to
			}
		}
		if best == at {
			step /= 2
		}
		at = best
	}
	return nil
}

// compare orders settings by the score of what is known of them; those that cannot be come last.
func (f *search) compare(a, b place, of score) int {
	x, y := f.known[a], f.known[b]
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return 1
	case y == nil || of(x) < of(y):
		return -1
	case of(x) > of(y):
		return 1
	}
	return 0
}

// try forecasts the settings that were not tried yet.
func (f *search) try(ctx context.Context, all []place) error {
	var open []place
	for _, at := range all {
		if _, known := f.known[at]; !known && !slices.Contains(open, at) {
			open = append(open, at)
		}
	}
	points, errs := make([]*Point, len(open)), make([]error, len(open))
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, at := range open {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			points[i], errs[i] = f.point(ctx, f.w, f.setting(at), forecast.Options{Paths: 1, Seed: 1, Keys: f.key, Cells: f.cells})
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, at := range open {
		f.known[at] = points[i]
		if errs[i] != nil && f.err == nil {
			f.err = errs[i]
		}
	}
	if f.Progress != nil {
		f.Progress(len(open))
	}
	return nil
}

// ranked returns what can be, the best first.
func (f *search) ranked(of score) (out []place) {
	for at, p := range f.known {
		if p != nil {
			out = append(out, at)
		}
	}
	slices.SortFunc(out, func(a, b place) int { return cmp.Or(f.compare(a, b, of), slices.Compare(a[:], b[:])) })
	return out
}

// points returns what was tried, the best first.
func (f *search) points(of score) (out []Point) {
	for _, at := range f.ranked(of) {
		out = append(out, *f.known[at])
	}
	return out
}

// verified forecasts a setting over as many paths as its cells need, from a seed on.
func (q *Question) verified(ctx context.Context, w *sample.Windows, s Setting, keys []uint32, seed uint64, most int) (*Point, error) {
	o := forecast.Options{Paths: 3, Seed: seed, Keys: keys, Lost: []int{1, 10, 100}}
	d, err := q.Compile(s)
	if err != nil {
		return nil, err
	}
	if o.Cells, err = forecast.Measure(w, d); err != nil {
		return nil, err
	}
	p, err := q.point(ctx, w, s, o)
	if err == nil && p.Counts*p.ShownTruth < looks*100 {
		o.Paths = most
		p, err = q.point(ctx, w, s, o)
	}
	return p, err
}

// point forecasts a setting.
func (q *Question) point(ctx context.Context, w *sample.Windows, s Setting, o forecast.Options) (*Point, error) {
	s.WindowText = config.Duration(s.Window)
	if q.Key != "" && q.kind().Vector != nil {
		o.Within = q.Within // which is no relative target
	}
	d, err := q.Compile(s)
	if err != nil {
		return nil, err
	}
	f, err := forecast.Of(ctx, w, d, o)
	if err != nil {
		return nil, err
	}
	p := &Point{Setting: s, kind: q.kind(), Typical: f.Typical, Noise: f.Noise, LeftOut: f.Left, Counts: f.Counts, Shown: f.Shown, Keys: f.KeysEver, KeysShown: f.KeysShown,
		Error: f.Error, Reach: f.Reach, FirstSigma: f.FirstSigma, TopSigma: f.TopSigma, smooth: f.Smooth, keys: f.Keys}
	if f.Truth > 0 { // else no event has a key of the list
		p.Kept, p.Counted, p.ShownTruth = f.Kept/f.Truth, f.Counted/f.Truth, f.ShownTruth/f.Truth
	}
	if f.Shown > 0 {
		p.Met = f.Met / f.Shown
	}
	if !math.IsInf(f.Threshold, 0) {
		p.Threshold = f.Threshold
	}
	for _, b := range f.Beside {
		p.Beside = append(p.Beside, Beside{b.Of, b.Typical, b.Noise, b.Left})
	}
	for _, l := range f.Lost {
		p.Lost = append(p.Lost, Lost{l.Window, l.Users / q.Sample.Users})
	}
	return p, nil
}
