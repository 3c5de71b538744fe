package protected

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Search is what [Choice.Search] looks for. All of it is public.
type Search struct {
	// Sizes are the windows that can be chosen: multiples of the choice's, the smallest first.
	Sizes []time.Duration
	Given Bounds // what is not to be chosen; zero for what is
	// Sigma is the deviation of a count's noise under some bounds, or more where a high threshold
	// asks for more; false where these bounds cannot be. It must not depend on the data.
	Sigma func(Bounds) (sigma float64, ok bool)
	// Progress is told how many bounds were tried, after each pass over the events; nil: not.
	Progress func(done int)
}

// Found is the protected result of a search.
type Found struct {
	Users, UsersDeviation float64
	Events                float64 // all of them, as far as can be seen
	// Bounds are the best ones that were tried; zero where there are too few users to choose by.
	Bounds
	// Shown is how many events are above the noise with bounds like these: Σ max(0, count − 2 σ).
	Shown, ShownDeviation float64
}

// Hopeless says that no setting that was tried shows much: the bounds are of the largest windows.
func (f *Found) Hopeless() bool { return f.Shown-cautious*f.ShownDeviation < worthwhile*f.Events }

const (
	// A search pays two fifths of its part for the tables of habits, and three for trials.
	ofHabits, ofTrials, ofAll = 2, 3, 5
	// ofEvents is how many times as much the table of users by events costs as another table.
	ofEvents = 4
	// aboveNoise is how many deviations of its noise are taken from a count that is tried.
	aboveNoise = 2
	// precise is how many of all events the deviation of a trial may be: it limits what one user
	// can add to the answer.
	precise = 0.07
	// cautious is how many deviations of its noise are taken from an answer: of settings that look
	// alike the one with the smaller bounds is preferred, because more is known of it.
	cautious = 0.3
	// nearly is the part of the best answer from which on smaller windows are preferred.
	nearly = 0.8
	// worthwhile is the part of all events that an answer must show for a setting to be of use.
	worthwhile = 0.4
)

// refinements are how many trials follow the first one of each size, in rounds: each costs a pass
// over the events.
var refinements = [...]int{3, 2, 2}

// allRefinements is their sum.
const allRefinements = 7

var errUnpaid = errors.New("a search asks for more trials than it has paid for")

// searcher is a search with what it knows so far.
type searcher struct {
	Search
	asker
	prices searchPrices
	habits map[time.Duration][3][]float64
	found  *Found
	tried  []tried
}

type tried struct {
	Bounds
	shown, deviation float64
}

func (t *tried) surely() float64 { return t.shown - cautious*t.deviation }

// Search chooses windows and bounds for users who are one individual for life. It first asks for
// tables of what users do, and then, by what these show, how many events single settings would
// show: one of each size, and others near the best. Each answer is paid by a share that is fixed
// before anything is read. Use a noise key for one search only, and no release beside it.
func (c *Choice) Search(s Search) (*Found, error) {
	r, err := c.empty()
	if err != nil {
		return nil, err
	}
	f := &searcher{Search: s, asker: asker{c: c, id: r.ID}, found: &Found{}, habits: map[time.Duration][3][]float64{}}
	if f.prices, err = c.o.searchPrices(len(s.Sizes)); err != nil {
		return nil, err
	}
	if err := f.know(); err != nil || f.found.Events == 0 {
		return f.found, err
	}
	var first []Bounds
	for _, size := range s.Sizes {
		first = append(first, f.usual(size, 0.9, 0.75, 0.75))
	}
	if err := f.try(first); err != nil {
		return nil, err
	}
	for _, n := range refinements {
		var next []Bounds
		for _, b := range f.near() {
			if len(next) < n && f.can(b) && !f.knows(b) && !slices.Contains(next, b) {
				next = append(next, b)
			}
		}
		if len(next) == 0 {
			break
		}
		if err := f.try(next); err != nil {
			return nil, err
		}
	}
	best := f.best()
	if best == nil {
		return f.found, nil
	}
	if f.found.Shown, f.found.ShownDeviation = best.shown, best.deviation; f.found.Hopeless() {
		// Which answer is the best is noise: the largest windows are the fewest.
		largest := slices.MaxFunc(f.tried, func(a, b tried) int {
			return cmp.Or(cmp.Compare(a.Window, b.Window), cmp.Compare(a.surely(), b.surely()))
		})
		best = &largest
	}
	if f.found.Bounds = best.Bounds; !f.found.Hopeless() && f.can(f.wider(best.Bounds)) {
		f.found.Bounds = f.wider(best.Bounds)
	}
	return f.found, nil
}

// searchPrices are what numbers cost: of a table of habits, of the table of users by events, and
// of a trial.
type searchPrices struct{ habits, events, trial units.Precision }

// searchPrices divides the planned part: every user is in one row of each table, and moves each
// trial by at most steps.
func (o *Options) searchPrices(sizes int) (p searchPrices, err error) {
	tables := ofAll * uint64(3*sizes+ofEvents)
	for _, v := range []struct {
		to              *units.Precision
		shares, all, by uint64
	}{{&p.habits, ofHabits, tables, 1}, {&p.events, ofHabits * ofEvents, tables, 1}, {&p.trial, ofTrials, ofAll * uint64(trialsOf(sizes)), steps}} {
		if *v.to, err = o.paid(v.shares, v.all, v.by); err != nil {
			return p, err
		}
	}
	return p, nil
}

// trialsOf is how many trials are paid for.
func trialsOf(sizes int) int { return sizes + allRefinements }

// know asks for the tables of habits.
func (f *searcher) know() error {
	exact, err := f.c.habits(f.Sizes)
	if err != nil {
		return err
	}
	tables := make([][]float64, len(exact))
	n, weights := 0.0, 0.0 // every user is in each table once
	for i, t := range exact {
		price := f.prices.habits
		if i == 0 {
			price = f.prices.events
		}
		if tables[i], err = f.ask(price, t); err != nil {
			return err
		}
		weight := price.Float() / float64(len(t))
		for _, v := range tables[i] {
			n += weight * v
		}
		weights += weight
	}
	n /= weights
	f.found.Users, f.found.UsersDeviation = n, 1/math.Sqrt(weights)
	if n < 5*f.found.UsersDeviation {
		return nil
	}
	last := 0
	for i, n := range tables[0] {
		if n >= visible*sigma(f.prices.events) {
			last = i
		}
	}
	for i, n := range likeliest(tables[0], n)[:last+1] {
		f.found.Events += n * middle(rowsOfID, i)
	}
	rest := tables[1:]
	for _, size := range f.Sizes {
		var of [3][]float64
		for j := range of {
			// Far beyond the last visible row there is noise alone, and it would be taken for users
			// who do very much.
			of[j] = likeliest(rest[j], n)
			clear(of[j][min(f.last(rest[j])+2, len(rowsOf)):])
		}
		f.habits[size], rest = of, rest[3:]
	}
	return nil
}

// last returns the last row that is visible, or else the one with the largest number.
func (f *searcher) last(table []float64) (last int) {
	for i, v := range table {
		if v >= visible*sigma(f.prices.habits) || table[last] < visible*sigma(f.prices.habits) && v > table[last] {
			last = i
		}
	}
	return last
}

// likeliest returns the numbers from 0 on that add up to n and are nearest to noisy ones: the same
// is taken from all, and what is below 0 then is 0.
func likeliest(noisy []float64, n float64) []float64 {
	sorted := slices.Clone(noisy)
	slices.SortFunc(sorted, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	sum, take := 0.0, 0.0
	for i, v := range sorted {
		sum += v
		if by := (sum - n) / float64(i+1); v > by {
			take = by
		}
	}
	out := make([]float64, len(noisy))
	for i, v := range noisy {
		out[i] = max(0, v-take)
	}
	return out
}

// usual returns bounds that parts of the users keep to, and those that were given.
func (f *searcher) usual(size time.Duration, keys, events, last float64) Bounds {
	number := func(table int, part float64) int {
		of, all, sum := f.habits[size][table], 0.0, 0.0
		for _, n := range of {
			all += n
		}
		for i, n := range of {
			if sum += n; sum >= part*all {
				return rowsOf[i]
			}
		}
		return rowsOf[len(rowsOf)-1]
	}
	return f.given(Bounds{size, number(0, keys), number(1, events), number(2, last)})
}

func (f *searcher) given(b Bounds) Bounds {
	for _, of := range [][2]*int{{&b.Keys, &f.Given.Keys}, {&b.Events, &f.Given.Events}, {&b.Last, &f.Given.Last}} {
		if *of[0] = max(1, *of[0]); *of[1] != 0 {
			*of[0] = *of[1]
		}
	}
	return b
}

// near returns bounds near the best of what was tried, the most promising first.
func (f *searcher) near() (out []Bounds) {
	best := f.best()
	if best == nil {
		return nil
	}
	with := func(change func(b *Bounds)) {
		b := best.Bounds
		change(&b)
		out = append(out, f.given(b))
	}
	size := best.Window
	most, many, few := f.usual(size, 0.9, 0.97, 0.9), f.usual(size, 0.9, 0.9, 0.5), f.usual(size, 0.5, 0.5, 0.5)
	with(func(b *Bounds) { b.Events = many.Events })
	with(func(b *Bounds) { b.Last = most.Last })
	with(func(b *Bounds) { b.Events, b.Last = most.Events, few.Last })
	with(func(b *Bounds) { b.Keys = few.Keys })
	with(func(b *Bounds) { b.Events, b.Last = few.Events, 1 })
	with(func(b *Bounds) { b.Events *= 2 })
	with(func(b *Bounds) { b.Last *= 2 })
	with(func(b *Bounds) { b.Keys *= 2 })
	with(func(b *Bounds) { b.Events /= 2 })
	with(func(b *Bounds) { b.Last /= 2 })
	return out
}

// wider allows half as many events again. A trial looks at all counts, but the typical error is
// that of the largest ones: they bear more noise, and lose less by it than by events that are left
// out.
func (f *searcher) wider(b Bounds) Bounds {
	if b.Events > 1 {
		b.Events += (b.Events + 1) / 2
	}
	return f.given(b)
}

func (f *searcher) knows(b Bounds) bool {
	return slices.ContainsFunc(f.tried, func(t tried) bool { return t.Bounds == b })
}

func (f *searcher) can(b Bounds) bool {
	_, ok := f.Sigma(b)
	return ok
}

// try asks how many events are shown with some bounds.
func (f *searcher) try(all []Bounds) error {
	each := sigma(f.prices.trial) / steps // deviation of an answer by what one user may add to it
	var trials []trial
	for _, b := range all {
		noise, ok := f.Sigma(b)
		if !ok || f.knows(b) {
			continue
		}
		limit := min(b.worst(), max(1, precise*f.found.Events/each))
		trials = append(trials, trial{b, int64(limit * fine), int64(math.Ceil(aboveNoise * noise * fine))})
	}
	if len(f.tried)+len(trials) > trialsOf(len(f.Sizes)) {
		return errUnpaid
	}
	exact, err := f.c.try(trials)
	if err != nil {
		return err
	}
	answers, err := f.ask(f.prices.trial, exact)
	for i, n := range answers {
		limit := float64(trials[i].limit) / fine
		f.tried = append(f.tried, tried{trials[i].Bounds, n * limit / steps, each * limit})
	}
	if f.Progress != nil {
		f.Progress(len(answers))
	}
	return err
}

// best returns the best bounds of the smallest size that is nearly as good as any; nil where
// nothing was tried.
func (f *searcher) best() *tried {
	of := map[time.Duration]*tried{}
	var top *tried
	for i := range f.tried {
		t := &f.tried[i]
		if of[t.Window] == nil || t.surely() > of[t.Window].surely() {
			of[t.Window] = t
		}
		if top == nil || t.surely() > top.surely() {
			top = t
		}
	}
	for _, size := range f.Sizes {
		if t := of[size]; t != nil && t.surely() >= nearly*top.surely() {
			return t
		}
	}
	return top
}
