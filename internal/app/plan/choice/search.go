package choice

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
)

// Usual are the sizes of windows that are tried if none is given.
var Usual = []time.Duration{time.Hour, 6 * time.Hour, day, 7 * day, 30 * day, 90 * day, 365 * day}

const (
	// Useful is the typical error up to which values are of use. Where several sizes of windows
	// have at most good, the smallest of them is recommended.
	Useful, good = 0.25, 0.1
	// plannedWindows is how many windows the events are in at most, where their size is not given.
	plannedWindows = 1500
	// span is by how much the noises that are tried differ at most.
	span = 1 << 14
)

// Question asks for the best setting.
type Question struct {
	Sizes    []time.Duration // of windows, to choose from; nil: the usual ones
	Given    Setting         // Noise and Lasts 0: they are chosen
	Compile  Compile
	Progress func(settings int) // is called with the number of tried settings; may be nil
}

// Advice is the result of Advise.
type Advice struct {
	Best  Outcome
	Sizes []Outcome // the best of each size that was tried, ascending
	// Epsilon are the best noises in the same window with other ε: half of it, and more.
	Epsilon []Outcome
	Rate    float64 // the part of the users that was looked at
}

// Advise searches for the best noise in windows of each size, and for the best size, by the counts
// of a run's code. The result is computed from raw data, for the trusted side only. Errors:
// ErrNothing, the errors of compile if nothing can be tried, or ctx's.
func (e *Events) Advise(ctx context.Context, q Question) (*Advice, error) {
	if e.Count == 0 {
		return nil, ErrNothing
	}
	if q.Progress == nil {
		q.Progress = func(int) {}
	}
	if q.Given.Lasts == 0 {
		var err error
		if q.Given.Lasts, err = e.stay(); err != nil {
			return nil, err
		}
	}
	a, tables, failed := &Advice{}, []*table{}, error(nil)
	for _, size := range slices.Backward(e.sizes(&q)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q.Given.Window = size
		o, t, err := e.best(&q)
		if err != nil {
			failed = err
			continue
		}
		a.Sizes, tables = append(a.Sizes, o), append(tables, t)
		if o.Typical > good && len(a.Sizes) > 1 && q.Sizes == nil && a.least(good) != nil {
			break // smaller windows are worse still
		}
	}
	if len(a.Sizes) == 0 {
		return nil, failed
	}
	slices.Reverse(a.Sizes)
	slices.Reverse(tables)
	best := a.least(good)
	if best == nil {
		least := slices.MinFunc(a.Sizes, func(x, y Outcome) int { return cmp.Compare(x.Typical, y.Typical) })
		best = &least
	}
	a.Best = *best
	t := tables[slices.IndexFunc(a.Sizes, func(o Outcome) bool { return o.Window == best.Window })]
	a.Rate, a.Epsilon = t.rate, t.epsilons(&q, best)
	return a, nil
}

// Forecast returns what one setting gives.
func (e *Events) Forecast(s Setting, compile Compile) (*Outcome, error) {
	all, err := options(compile, s, s.Noise)
	if err != nil {
		return nil, err
	}
	t, err := e.try(s.Window, all)
	if err != nil {
		return nil, err
	}
	o := t.outcome(0, all[0])
	return &o, nil
}

// least returns the outcome in the smallest windows that has at most an error.
func (a *Advice) least(limit float64) (best *Outcome) {
	for i := range a.Sizes {
		if o := &a.Sizes[i]; o.Typical <= limit && (best == nil || o.Window < best.Window) {
			best = o
		}
	}
	return best
}

// sizes are the tried window sizes.
func (e *Events) sizes(q *Question) (all []time.Duration) {
	if q.Sizes != nil {
		return slices.Sorted(slices.Values(q.Sizes))
	}
	long := time.Duration(e.Last-e.First) * time.Millisecond
	for _, size := range Usual {
		ms := size.Milliseconds()
		fits := long/size <= plannedWindows && size <= long*3/2 && e.from%ms == 0 && e.to%ms == 0
		if fits && (size >= day || !e.Dates) {
			all = append(all, size)
		}
	}
	if all == nil {
		return []time.Duration{day}
	}
	return all
}

// stay is how long after the first event of their users 19 of 20 events come: a budget that is paid
// out over more time than users stay is never paid out.
func (e *Events) stay() (time.Duration, error) {
	after := map[int64]uint64{}
	err := e.each(func(events []record, _ float64) (bool, error) {
		for _, r := range events {
			after[coarse(r.millis-events[0].millis)]++
		}
		return true, nil
	})
	return time.Duration(spreadOf(after).high)*time.Millisecond/day*day + day, err
}

// most is the greatest amount of one user.
func (e *Events) most(kind metrickind.Kind) (most uint64, err error) {
	c := &chooser{Private: &Private{Kind: kind}}
	return most, e.each(func(events []record, _ float64) (bool, error) {
		most = max(most, c.amount(events))
		return true, nil
	})
}

// best finds the best noise for windows of a size, in two rounds.
func (e *Events) best(q *Question) (Outcome, *table, error) {
	s := q.Given
	if s.Noise > 0 {
		all, err := options(q.Compile, s, s.Noise)
		if err != nil {
			return Outcome{}, nil, err
		}
		t, best, err := e.tryBest(q, all)
		return best, t, err
	}
	all, err := e.wide(q)
	if err != nil {
		return Outcome{}, nil, err
	}
	t, best, err := e.tryBest(q, all)
	if err != nil {
		return best, t, err
	}
	var near []float64
	for _, factor := range []float64{-.75, -.5, -.25, .25, .5, .75} {
		near = append(near, best.Noise*math.Exp2(factor))
	}
	if all, err = options(q.Compile, s, near...); err != nil {
		return best, t, nil //nolint:nilerr // there are none nearby
	}
	second, nearer, err := e.tryBest(q, all)
	if err == nil && nearer.Typical < best.Typical {
		best = nearer
	}
	t.near = second
	return best, t, err
}

// wide are settings with all noises that can be of use.
func (e *Events) wide(q *Question) ([]option, error) {
	s := q.Given
	d, err := payable(q.Compile, s)
	if err != nil {
		return nil, err
	}
	most, err := e.most(metrickind.Of(d.Metrics[0].Spec.Kind))
	if err != nil {
		return nil, err
	}
	return grid(q.Compile, s, float64(most), span, 2)
}

// tryBest returns the best outcome of some settings.
func (e *Events) tryBest(q *Question, all []option) (*table, Outcome, error) {
	t, err := e.try(q.Given.Window, all)
	if err != nil {
		return nil, Outcome{}, err
	}
	q.Progress(len(all))
	best := Outcome{Typical: math.Inf(1)}
	for i, option := range all {
		if o := t.outcome(i, option); o.Typical < best.Typical || o.Typical == best.Typical && o.Within > best.Within {
			best = o
		}
	}
	return t, best, nil
}

// epsilons returns what other ε give in the same windows. The same events count if the noise is
// lower by the factor by which the root of the budget is greater.
func (t *table) epsilons(q *Question, best *Outcome) (all []Outcome) {
	base := t.trials[0].d.Budget.Mu2.Float()
	for _, times := range []float64{.5, 2, 4, 8} {
		s := best.Setting
		s.Epsilon *= times
		d, err := q.Compile(s)
		if err != nil {
			continue
		}
		factor, least := math.Sqrt(base/d.Budget.Mu2.Float()), Outcome{Typical: math.Inf(1)}
		for from := t; from != nil; from = from.near {
			for i, one := range from.trials {
				if of, err := options(q.Compile, s, one.Noise*factor); err == nil {
					if o := from.outcome(i, of[0]); o.Typical < least.Typical {
						least = o
					}
				}
			}
		}
		if !math.IsInf(least.Typical, 1) {
			all = append(all, least)
		}
	}
	return all
}
