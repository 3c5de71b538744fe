package choice

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// Usual lists the window sizes that are tried by default.
var Usual = []time.Duration{time.Hour, 6 * time.Hour, day, 7 * day, 30 * day, 90 * day, 365 * day}

const (
	// Useful is the greatest typical error with which values are useful. The smallest window size
	// whose typical error is at most good is recommended.
	Useful, good   = 0.25, 0.1
	plannedWindows = 1500 // maximum number of windows of events if their size is not given
)

// Question describes the settings among which Advise searches.
type Question struct {
	Sizes    []time.Duration // window sizes to choose from; nil: Usual
	Given    Setting         // Noise and Lasts are chosen if they are 0
	Compile  Compile
	Progress func(settings int) // called with the number of settings tried; may be nil
}

// Advice is the result of Advise.
type Advice struct {
	Best    Outcome
	Sizes   []Outcome // the best outcome for each tried window size, by ascending size
	Epsilon []Outcome // the best outcome for the best window with half, twice, four and eight times ε
	Rate    float64   // share of the users whose events were examined
}

// Advise searches for the best noise in windows of each size, and for the best size. It uses the
// counting code of a run. The result is not protected: it is for the trusted side only. Errors:
// ErrNothing, the error of ctx, and the error of Compile if no setting is possible.
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
	a, tables, compileErr := &Advice{}, []*table{}, error(nil)
	for _, size := range slices.Backward(e.sizes(&q)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		q.Given.Window = size
		o, t, err := e.best(&q)
		if err != nil {
			compileErr = err
			continue
		}
		a.Sizes, tables = append(a.Sizes, o), append(tables, t)
		if o.Typical > good && len(a.Sizes) > 1 && q.Sizes == nil && a.least(good) != nil {
			break // smaller windows have even greater errors
		}
	}
	if len(a.Sizes) == 0 {
		return nil, compileErr
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
	a.Rate, a.Epsilon = t.rate, e.epsilons(&q, t, best)
	return a, nil
}

// Forecast returns the outcome of one setting.
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

// least returns the outcome with the smallest windows whose error is at most limit.
func (a *Advice) least(limit float64) (best *Outcome) {
	for i := range a.Sizes {
		if o := &a.Sizes[i]; o.Typical <= limit && (best == nil || o.Window < best.Window) {
			best = o
		}
	}
	return best
}

// sizes returns the window sizes to try.
func (e *Events) sizes(q *Question) (all []time.Duration) {
	if q.Sizes != nil {
		return slices.Sorted(slices.Values(q.Sizes))
	}
	duration := time.Duration(e.Last-e.First) * time.Millisecond
	for _, size := range Usual {
		ms := size.Milliseconds()
		fits := duration/size <= plannedWindows && size <= duration*3/2 && e.from%ms == 0 && e.to%ms == 0
		if fits && (size >= day || !e.Dates) {
			all = append(all, size)
		}
	}
	if all == nil {
		return []time.Duration{day}
	}
	return all
}

// stay returns the time after a user's first event within which 19 in 20 events happen. A budget
// that is paid out over a longer time than users stay is never paid out in full.
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

// epsilons returns the outcomes for other values of ε in the same windows. If the noise is not
// given, it changes inversely to the root of the budget, so that the same events count. If the
// noise is given, other events count.
func (e *Events) epsilons(q *Question, t *table, best *Outcome) (all []Outcome) {
	base := t.trials[0].d.Budget.Mu2.Float()
	for _, times := range []float64{.5, 2, 4, 8} {
		s := best.Setting
		s.Epsilon *= times
		if q.Given.Noise > 0 {
			if o, err := e.Forecast(s, q.Compile); err == nil {
				all = append(all, *o)
			}
			continue
		}
		d, err := q.Compile(s)
		if err != nil {
			continue
		}
		factor, least := math.Sqrt(base/d.Budget.Mu2.Float()), Outcome{Typical: math.Inf(1)}
		for from := t; from != nil; from = from.near {
			for i, trial := range from.trials {
				if scaled, err := options(q.Compile, s, trial.Noise*factor); err == nil {
					if o := from.outcome(i, scaled[0]); o.Typical < least.Typical {
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
