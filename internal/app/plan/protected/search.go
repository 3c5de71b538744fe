package protected

import (
	"math"
	"math/big"
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
}

// Found is the protected result of a search.
type Found struct {
	Users, UsersDeviation float64
	Events                float64 // all of them, as far as can be seen
	// Bounds are those that were chosen; zero where there are too few users to choose by.
	Bounds
	// Shown is how many events are counted well with them: of each count, what is counted beyond
	// the
	// noise and beyond two fifths of it.
	Shown, ShownDeviation float64
}

// Hopeless says that the noisy look at the chosen bounds saw little. It can be wrong where there
// are few
// users.
func (f *Found) Hopeless() bool { return f.Shown < worthwhile*f.Events }

// Shares of a search, of all: the table of users by events, their number, their events, the two
// choices, and what the chosen bounds show.
const (
	ofTable, ofUsers, ofEvents, ofFirst, ofSecond, ofShown, ofAll = 3, 1, 1, 10, 4, 1, 20
)

const (
	// first and second are the parts of a count that score nothing in the two choices: the first
	// one
	// tells something from nothing, the second one prefers counts that are nearly whole.
	first, second = 0.25, 0.4
	// steps are in how many an answer counts the most of one user.
	steps = 64
	// aboveNoise is how many deviations of its noise are taken from a count that is tried.
	aboveNoise = 2
	// ofOne is the part of all events that one user counts for at most: it limits how much a
	// score moves.
	ofOne = 0.0015
	// enough is the part of all events, as a score has it, from which on a setting is as
	// good as any: smaller windows are preferred then.
	enough = 0.55
	// smaller is what the next smaller windows may show less, as a part of all events.
	smaller = 0.01
	// worthwhile is the part of all events that a setting of use shows.
	worthwhile = 0.05
	// mostActs is about how many events are looked at: of more, a part of the users.
	mostActs = 5_000_000
)

// searcher is a search with what it knows so far.
type searcher struct {
	Search
	asker
	prices searchPrices
	found  *Found
	limit  int64   // events that one user counts for
	rate   float64 // the part of the users that trials look at
	noise  float64 // limited counts by real ones: noise is lessened as much
	extent float64 // events that trials look at, each user's up to the limit
}

// searchPrices are what numbers cost, and how far the choices can be told apart.
type searchPrices struct {
	table, users, events, shown units.Precision
	first, second               float64 // μ
}

func (o *Options) searchPrices() (p searchPrices, err error) {
	for _, v := range []struct {
		to         *units.Precision
		shares, by uint64
	}{{&p.table, ofTable, 1}, {&p.users, ofUsers, 1}, {&p.events, ofEvents, steps}, {&p.shown, ofShown, steps}} {
		if *v.to, err = o.paid(v.shares, ofAll, v.by); err != nil {
			return p, err
		}
	}
	part := func(shares float64) float64 { return o.Budget.Planned.Mu2.Mu() * math.Sqrt(shares/ofAll) }
	p.first, p.second = part(ofFirst), part(ofSecond)
	return p, nil
}

// Search chooses windows and bounds for users who are one individual for life. Its part of the
// budget is divided before anything is read. Use a nonce for one search only, and no release beside
// it.
func (c *Choice) Search(nonce Nonce, s Search) (*Found, error) {
	r, err := c.empty(nonce)
	if err != nil {
		return nil, err
	}
	f := &searcher{Search: s, asker: asker{c: c, id: r.ID}, found: &Found{}}
	if f.prices, err = c.o.searchPrices(); err != nil {
		return nil, err
	}
	if err := f.know(); err != nil || f.found.Events == 0 {
		return f.found, err
	}
	p, err := c.gather(f.rate)
	if err != nil {
		return nil, err
	}
	best, _, ok := f.choose(p, f.prices.first, first, f.coarse())
	if !ok {
		return f.found, nil
	}
	best, score, _ := f.choose(p, f.prices.second, second, f.near(best))
	answers, err := f.ask(f.prices.shown, []int64{new(big.Int).Div(new(big.Int).Mul(big.NewInt(score), big.NewInt(steps)), big.NewInt(scale*f.limit*fine)).Int64()})
	if err != nil {
		return nil, err
	}
	each := float64(f.limit) / steps * f.found.Events / f.extent
	f.found.Bounds, f.found.Shown, f.found.ShownDeviation = best, answers[0]*each, sigma(f.prices.shown)*each
	if f.found.Hopeless() {
		// The largest windows are the fewest, and the shortest life has the least noise.
		f.found.Window, f.found.Last = s.Sizes[len(s.Sizes)-1], max(1, s.Given.Last)
	}
	return f.found, nil
}

// know asks how many users and events there are, and limits what one user counts for.
func (f *searcher) know() error {
	exact, err := f.c.habits()
	if err != nil {
		return err
	}
	count := int64(0)
	for _, n := range exact {
		count += n
	}
	table, err := f.ask(f.prices.table, exact)
	if err != nil {
		return err
	}
	users, err := f.ask(f.prices.users, []int64{count})
	if err != nil {
		return err
	}
	n, all := 0.0, f.prices.users.Float()+f.prices.table.Float()/float64(len(table))
	for _, v := range table {
		n += v * f.prices.table.Float() / float64(len(table)) / all
	}
	n += users[0] * f.prices.users.Float() / all
	f.found.Users, f.found.UsersDeviation = n, 1/math.Sqrt(all)
	if n < 5*f.found.UsersDeviation {
		return nil
	}
	events, last := 0.0, 0
	for i, n := range table {
		if n >= visible*sigma(f.prices.table) {
			last = i
		}
	}
	for i, n := range table[:min(last+2, len(table))] { // a few users of the next row can have many events
		events += max(0, n) * middle(rowsOfID, i)
	}
	events = max(events, n)
	f.limit = int64(max(1, min(ofOne*events, float64(rowsOfID[min(last+1, len(rowsOfID)-1)]))))
	sum, err := f.c.extent(f.limit)
	if err != nil {
		return err
	}
	answers, err := f.ask(f.prices.events, []int64{sum})
	if err != nil {
		return err
	}
	f.extent = max(n, answers[0]*float64(f.limit)/steps)
	f.found.Events = max(events, f.extent)
	f.noise = f.extent / f.found.Events
	f.rate = min(1, mostActs/f.found.Events)
	f.extent *= f.rate
	return nil
}

// dials are the numbers of bounds.
var dials = []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000, 10000}

// coarse returns bounds of all sizes far apart: those that count something of what users do on
// average, and not much more than what they count for.
func (f *searcher) coarse() (out []Bounds) {
	dial := func(given, most int) (out []int) {
		if given != 0 {
			return []int{given}
		}
		for _, n := range []int{1, 3, 10, 30, 100, 300, 1000} {
			if n == 1 || n <= most {
				out = append(out, n)
			}
		}
		return out
	}
	free := f.Given == Bounds{}
	usual := f.found.Events / f.found.Users
	for _, size := range f.Sizes {
		for _, keys := range dial(f.Given.Keys, 100) {
			for _, events := range dial(f.Given.Events, 1000) {
				for _, last := range dial(f.Given.Last, int(longest/size)) {
					if b := (Bounds{size, keys, events, last}); !free || b.worst() <= 5*float64(f.limit) && b.worst() >= 0.3*usual {
						out = append(out, b)
					}
				}
			}
		}
	}
	return out
}

// longest is how long the worst case that bounds pay for lasts at most, unless it is given.
const longest = 365 * 24 * time.Hour

// near returns bounds with somewhat less or more of each.
func (f *searcher) near(b Bounds) (out []Bounds) {
	dial := func(given, n int) []int {
		if given != 0 {
			return []int{given}
		}
		at := slices.Index(dials, n)
		return slices.Compact([]int{dials[max(0, at-1)], n, dials[min(len(dials)-1, at+1)]})
	}
	for _, keys := range dial(f.Given.Keys, b.Keys) {
		for _, events := range dial(f.Given.Events, b.Events) {
			for _, last := range dial(f.Given.Last, b.Last) {
				if last <= b.Last || f.Given.Last != 0 || last <= int(longest/b.Window) {
					out = append(out, Bounds{b.Window, keys, events, last})
				}
			}
		}
	}
	return out
}

// choose tries some bounds, and chooses one by its score, which it returns beside it for no one to
// see. False where none of the bounds can be.
func (f *searcher) choose(p *people, mu, half float64, all []Bounds) (best Bounds, score int64, ok bool) {
	var trials []trial
	for _, b := range all {
		if noise, ok := f.Sigma(b); ok {
			trials = append(trials, trial{b, int64(math.Ceil(aboveNoise * noise * f.noise * f.rate * fine))})
		}
	}
	if len(trials) == 0 {
		return Bounds{}, 0, false
	}
	scores := p.try(f.c.o.Window, trials, f.limit*fine, int64(scale*half))
	worth := make([]float64, len(trials))
	for i, t := range trials {
		// A function of a score and of what is known: a user moves it by no more.
		enough := enough - smaller*float64(slices.Index(f.Sizes, t.Window))
		worth[i] = min(float64(scores[i]), scale*fine*enough*f.extent)
	}
	at := f.pick(mu, worth, apart(f.limit))
	return trials[at].Bounds, scores[at], true
}
