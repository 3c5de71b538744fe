package advice

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/config"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/pipeline/deployment"
)

// Question is what is asked.
type Question struct {
	Terms
	Sample *sample.Sample
	// Sizes of windows; multiples of the sample's step. Empty: the first of Usual that the step and
	// the range of the events allow and that shows something.
	Sizes []time.Duration
	// Given settings are not varied: zero for those that are.
	Given  Setting
	Key    string  // that reverse questions are about; "": the largest and the median one shown
	Within float64 // relative error that they ask for; 0 is that of the target
	// Compile makes a deployment of a setting whose first metric is forecast. An error says that
	// the setting cannot be.
	Compile func(Setting) (*deployment.Deployment, error)
	// Progress is told how many forecasts are made of how many; nil: not.
	Progress func(done, of int)
}

// Usual are sizes of windows that people ask for.
var Usual = []time.Duration{time.Hour, 6 * time.Hour, day, 7 * day, 30 * day, 90 * day, 365 * day}

const day = 24 * time.Hour

// Point is a setting with what it gives.
type Point struct {
	Setting
	Kept       float64 `json:"kept"`        // share of the truth within the bounds
	Counted    float64 `json:"counted"`     // and of users who could pay
	Counts     float64 `json:"counts"`      // pairs of window and key with a truth
	Shown      float64 `json:"shown"`       // of them, those that come out
	ShownTruth float64 `json:"shown_truth"` // share of the truth of what comes out
	Keys       float64 `json:"keys"`
	KeysShown  float64 `json:"keys_shown"`
	Error      float64 `json:"error"`          // of a count that comes out, in events
	Relative   float64 `json:"relative_error"` // the same by the truth of what comes out
	Wrong      float64 `json:"wrong"`          // share of the truth that is hidden or wrong
	FirstSigma float64 `json:"first_sigma"`
	TopSigma   float64 `json:"top_sigma"`
	Threshold  float64 `json:"threshold,omitempty"`
	Lost       []Lost  `json:"users_lost"`
	// Reach is the largest count by the threshold of private keys: below 1 nothing comes out but by
	// chance.
	Reach float64 `json:"reach,omitempty"`
	keys  []forecast.Key
}

// Lost is the share of users who were left out for their budget by the end of a window.
type Lost struct {
	Window int     `json:"window"`
	Share  float64 `json:"share"`
}

// KeyLine is what is to be expected of a key under a setting.
type KeyLine struct {
	Key     string  `json:"key"`
	Windows float64 `json:"windows"`
	Truth   float64 `json:"truth"`    // events a window
	Bias    float64 `json:"bias"`     // of them, those that are not counted
	Noise95 float64 `json:"noise_95"` // half of the interval that is printed
	Shown   float64 `json:"shown"`    // windows
	Within  float64 `json:"within"`   // windows in which the value is within the target of the truth
}

// Advice is the answer.
type Advice struct {
	Trusted    string       `json:"trusted"` // what all this is
	Users      float64      `json:"users"`
	UsersError float64      `json:"users_error_95,omitempty"`
	Rate       float64      `json:"share_of_users_looked_at"`
	Events     uint64       `json:"events"`
	Outside    uint64       `json:"events_outside_range,omitempty"`
	Keys       int          `json:"keys"`
	From       time.Time    `json:"first_event"`
	To         time.Time    `json:"last_event"`
	Sizes      []SizeAdvice `json:"windows"`
	Chosen     string       `json:"chosen_window"` // that the blocks are for
	Blocks     []Block      `json:"blocks"`
	Reverse    []Reverse    `json:"reverse"`
}

// SizeAdvice is the grid of one size of windows, and the largest keys under its most accurate
// setting.
type SizeAdvice struct {
	Window string       `json:"window"`
	Stats  sample.Stats `json:"stats"`
	Grid   []Point      `json:"grid"`
	Keys   []KeyLine    `json:"keys"`

	size    time.Duration
	windows *sample.Windows
	best    int // the most accurate point of the grid
}

// Best returns which point of the grid is the most accurate one.
func (s *SizeAdvice) Best() int { return s.best }

var (
	// ErrNothing says that there is nothing to give advice on.
	ErrNothing = errors.New("there are no events to plan with")
	// ErrUnknownKey says that no event, of those that are looked at, has the key of the question.
	ErrUnknownKey = errors.New("no event has this key")
)

const trusted = "made from raw data: not for publication. Settings that were chosen by looking at it are not protected"

// Answer forecasts the grid and chooses. Errors: ErrNothing, ErrUnknownKey, that of a sample that
// cannot be cut, that of Compile where no setting can be, or ctx's.
func Answer(ctx context.Context, q Question) (*Advice, error) {
	s := q.Sample
	if s.Events == 0 || s.Kept == 0 {
		return nil, ErrNothing
	}
	if q.Key != "" && !slices.Contains(s.Names, q.Key) {
		return nil, ErrUnknownKey
	}
	a := &Advice{Trusted: trusted, Users: s.Users, UsersError: s.UsersError, Rate: s.Rate, Events: s.Events, Outside: s.Outside, Keys: len(s.Names),
		From: time.UnixMilli(s.First).UTC(), To: time.UnixMilli(s.Last).UTC()}
	sizes, open := q.Sizes, len(q.Sizes) == 0
	if open {
		sizes = usual(s)
	}
	for _, size := range sizes {
		w, err := s.Windows(size)
		if err != nil {
			return nil, err
		}
		of, err := q.grid(ctx, w)
		if err != nil {
			return nil, err
		}
		a.Sizes = append(a.Sizes, *of)
		if open && of.Grid[of.best].Wrong < 0.5 {
			break // larger windows show more, and say less about time
		}
	}
	chosen := a.Sizes[0]
	for _, of := range a.Sizes[1:] {
		if open && better(&of.Grid[of.best], &chosen.Grid[chosen.best]) {
			chosen = of
		}
	}
	a.Chosen = chosen.Window
	var err error
	if a.Blocks, err = q.blocks(ctx, &chosen); err != nil {
		return nil, err
	}
	a.Reverse, err = q.reverse(ctx, &chosen)
	return a, err
}

// usual returns the sizes to try where none is given: those with at least two windows, and one
// more.
func usual(s *sample.Sample) (sizes []time.Duration) {
	span := time.Duration(s.Last-s.First) * time.Millisecond
	for _, size := range Usual {
		if !s.Aligned(size) {
			continue
		}
		sizes = append(sizes, size)
		if size > span/2 {
			break
		}
	}
	return sizes
}

// grid forecasts every candidate of a size.
func (q *Question) grid(ctx context.Context, w *sample.Windows) (*SizeAdvice, error) {
	out := &SizeAdvice{Window: config.Duration(w.Size), Stats: w.Stats(), size: w.Size, windows: w}
	largest := w.Largest(10)
	if k := slices.Index(w.Names, q.Key); q.Key != "" && k >= 0 && !slices.Contains(largest, uint32(k)) {
		largest = append(largest, uint32(k))
	}
	candidates := q.candidates(w, &out.Stats)
	points, errs := make([]*Point, len(candidates)), make([]error, len(candidates))
	var wait sync.WaitGroup
	var mu sync.Mutex
	done, slots := 0, make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, c := range candidates {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			points[i], errs[i] = q.point(ctx, w, c, largest, 1)
			mu.Lock()
			defer mu.Unlock()
			if done++; q.Progress != nil {
				q.Progress(done, len(candidates))
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, p := range points {
		if p != nil {
			out.Grid = append(out.Grid, *p)
		}
	}
	if len(out.Grid) == 0 {
		return nil, fmt.Errorf("planning windows of %s: no setting can be: %w", out.Window, errors.Join(errs[:1]...))
	}
	for i := range out.Grid {
		if better(&out.Grid[i], &out.Grid[out.best]) {
			out.best = i
		}
	}
	for _, k := range out.Grid[out.best].keys {
		out.Keys = append(out.Keys, line(w, k))
	}
	return out, nil
}

// ByBounds returns the most accurate point of each pair of bounds, in the order of the grid.
func (s *SizeAdvice) ByBounds() (out []Point) {
	at := map[bounds]int{}
	for i := range s.Grid {
		p := &s.Grid[i]
		switch known, ok := at[p.bounds()]; {
		case !ok:
			at[p.bounds()] = len(out)
			out = append(out, *p)
		case better(p, &out[known]):
			out[known] = *p
		}
	}
	return out
}

// hidden is what Wrong is at least where next to nothing comes out.
const hidden = 0.99

// better says whether a point hides and errs less, or as little with less asked of users.
func better(a, b *Point) bool {
	if a.Wrong > hidden && b.Wrong > hidden && a.Reach != b.Reach {
		return a.Reach > b.Reach // the one that comes closest
	}
	if math.Abs(a.Wrong-b.Wrong) > 0.005 {
		return a.Wrong < b.Wrong
	}
	if a.LastAtLeast != b.LastAtLeast {
		return a.LastAtLeast > b.LastAtLeast
	}
	return a.bounds().price() < b.bounds().price()
}

func line(w *sample.Windows, k forecast.Key) KeyLine {
	return KeyLine{Key: w.Names[k.Key], Windows: k.Windows, Truth: k.Truth, Bias: k.Bias, Noise95: k.Noise, Shown: k.Shown, Within: k.Within}
}

// point forecasts a setting.
func (q *Question) point(ctx context.Context, w *sample.Windows, s Setting, keys []uint32, paths int) (*Point, error) {
	s.WindowText = config.Duration(s.Window)
	d, err := q.Compile(s)
	if err != nil {
		return nil, err
	}
	f, err := forecast.Of(ctx, w, d, forecast.Options{Paths: paths, Seed: 1, Keys: keys, Lost: []int{1, 10, 100}})
	if err != nil {
		return nil, err
	}
	p := &Point{Setting: s, Kept: f.Kept / f.Truth, Counted: f.Counted / f.Truth, Counts: f.Counts, Shown: f.Shown, ShownTruth: f.ShownTruth / f.Truth,
		Keys: f.KeysEver, KeysShown: f.KeysShown, Error: f.Error, Reach: f.Reach, Relative: f.RelativeError, FirstSigma: f.FirstSigma, TopSigma: f.TopSigma, keys: f.Keys}
	if f.Truth == 0 { // no event has a key of the list
		p.Kept, p.Counted, p.ShownTruth = 0, 0, 0
	}
	p.Wrong = 1 - p.ShownTruth + min(1, p.Relative)*p.ShownTruth
	if !math.IsInf(f.Threshold, 0) {
		p.Threshold = f.Threshold
	}
	for _, l := range f.Lost {
		p.Lost = append(p.Lost, Lost{l.Window, l.Users / q.Sample.Users})
	}
	return p, nil
}
