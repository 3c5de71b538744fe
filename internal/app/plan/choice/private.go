package choice

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/schemas/metrickind"
	"github.com/tollgate-dp/tollgate/schemas/secret"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// Private are the arguments of a choice that its users pay for. They are public, but for the key.
type Private struct {
	Sizes   []time.Duration // of windows, ascending; one: it is given
	Given   Setting         // Noise and Lasts 0: they are chosen
	Compile Compile         // must not depend on the data
	Budget  budgets.Budget  // its planned part is what is spent
	Kind    metrickind.Kind
	Range   bool   // that of values is chosen, too
	Read    string // names the source, the format and all else that decides which events there are
	Key     noisereduction.NoiseKey
}

// Found is the protected result of a choice.
type Found struct {
	Setting
	Users, UsersDeviation float64 // how many there are, with noise
	Few                   bool    // too few to choose by: the setting does not depend on the data
	// Useful says that much would come out: about 0.4 of all that there is to count lies above the
	// noise, or more.
	Useful bool
}

// What decisions may cost, of allParts of the planned budget.
const (
	ofUsers, ofLength, ofWindow, ofNoise, ofUse, ofValues = 2, 2, 6, 8, 2, 2
	allParts                                              = ofUsers + ofLength + ofWindow + ofNoise + ofUse + ofValues
)

const (
	// whole is the most that one user adds to all cells, and steps in how many a score counts it.
	whole = 1 << 20
	steps = 32
	// Parts of what there is to count, in 64ths, that a window must show above the noise: one that
	// the horizon holds many times, the largest that it holds four times, one that is of use at
	// all.
	showsMuch, showsEnough, showsSome = 48, 32, 26
	// lengthHolds is the part of the users' events that a horizon must hold, in 64ths.
	lengthHolds = 54
	// aboveNoise is how many deviations of the noise are taken from a count.
	aboveNoise = 0.7
	// limitCost is what a limit on a user costs in comparison: noise that is in proportion to it.
	limitCost = 100
	// mostWindows is how many windows a horizon has at most, where their size is chosen.
	mostWindows = 400
	rows        = 28  // of users by how much they add in all, in powers of 2
	visible     = 3.5 // deviations
)

// lengths are the horizons that can be chosen.
var lengths = func() (all []time.Duration) {
	for _, days := range []float64{.25, .5, 1, 2, 4, 7, 14, 30, 60, 120, 180, 365, 730, 1460, 2920, 5840, 11680, 23360} {
		all = append(all, time.Duration(days*float64(day)))
	}
	return all
}()

// chooser is a choice with what is known so far: released numbers alone.
type chooser struct {
	*Private
	*drawer
	events *Events
	limit  float64 // the most that counts of one user
	kept   float64 // the part of all that counts then
	found  *Found
}

// Choose chooses the horizon, the window and the noise for users who are one individual for life.
// Use a noise key for one choice only. Errors: ErrTooLittle.
func (e *Events) Choose(p Private) (*Found, error) {
	arguments, err := json.Marshal([]any{p.Sizes, p.Given, p.Given.Lasts, p.Budget, p.Kind.Name, p.Range, p.Read, e.from, e.to})
	if err != nil {
		return nil, fmt.Errorf("naming a choice: %w", err)
	}
	c := &chooser{Private: &p, events: e, found: &Found{Setting: p.Given}, drawer: &drawer{key: p.Key, planned: p.Budget.Planned.Mu2}}
	c.arguments = secret.Keyed(p.Key.Secret.Reveal(), "tollgate choice arguments v1", arguments)
	if err := c.users(); err != nil {
		return nil, err
	}
	if p.Range {
		if err := c.values(); err != nil {
			return nil, err
		}
	}
	if c.found.Few {
		return c.found, c.usual()
	}
	if p.Given.Lasts == 0 {
		if err := c.length(); err != nil {
			return nil, err
		}
	}
	return c.found, c.setting()
}

// users counts users by how much they add in all. From that follow their number, and the limit on
// what counts of one of them.
func (c *chooser) users() error {
	table, err := c.table()
	if err != nil {
		return err
	}
	noisy, deviation, err := c.noisy(ofUsers, 1, table)
	if err != nil {
		return err
	}
	f, all := c.found, 0.0
	f.UsersDeviation = deviation
	seen(noisy, visible*deviation)
	for i, n := range noisy {
		f.Users += n
		all += n * inRow(i)
	}
	best := 0.0
	for half := range 2 * rows {
		limit := math.Exp2(float64(half) / 2)
		kept := 0.0
		for i, n := range noisy {
			kept += n * min(limit, inRow(i))
		}
		if worth := kept - limitCost*limit; worth > best {
			best, c.limit, c.kept = worth, limit, kept/all
		}
	}
	f.Few = best == 0
	return nil
}

// table counts users by how much they add in all: each user is in one row.
func (c *chooser) table() ([]int64, error) {
	table := make([]int64, rows)
	return table, c.events.each(func(events []record, _ float64) (bool, error) {
		table[min(rows, bits.Len64(c.amount(events)))-1]++
		return true, nil
	})
}

// seen clears the rows of a noisy table that are not visible, and those that are apart from the
// greatest: far away, a visible row is noise alone, and would be taken for users who add very much.
func seen(noisy []float64, least float64) {
	top := 0
	for i, n := range noisy {
		if n > noisy[top] {
			top = i
		}
	}
	for _, step := range []int{-1, 1} {
		for i, hidden := top, 0; i >= 0 && i < len(noisy); i += step {
			if noisy[i] < least || hidden > 1 {
				noisy[i] = 0
				hidden++
			}
		}
	}
}

// inRow is what a user of a row adds in all: about the middle of it.
func inRow(row int) float64 { return math.Exp2(float64(row)) * 1.45 }

// amount is how much there is to count of a user in all; at least 1.
func (c *chooser) amount(events []record) uint64 {
	if !c.Kind.Sums() {
		return uint64(len(events))
	}
	sum := uint64(1)
	for _, r := range events {
		size := uint64(r.value)
		if r.value < 0 {
			size = -size
		}
		sum += min(size, math.MaxInt64-sum)
	}
	return sum
}

// usual is the setting where there are too few users to choose by.
func (c *chooser) usual() error {
	f := c.found
	f.Window = c.Sizes[0]
	for _, size := range c.Sizes {
		if size <= day {
			f.Window = size
		}
	}
	f.Lasts = cmp.Or(f.Lasts, max(365*day, 4*f.Window))
	if f.Noise == 0 {
		all, err := grid(c.Compile, f.Setting, 1<<10, 1<<10, gridStep)
		if err != nil {
			return err
		}
		f.Noise = all[min(4, len(all)-1)].Noise
	}
	return nil
}

// length chooses the horizon: the shortest that holds nearly all events of nearly all users.
func (c *chooser) length() error {
	scores, err := c.lengths()
	if err != nil {
		return err
	}
	at, err := c.pick(ofLength, width(lengthHolds, lengthHolds), scores)
	c.found.Lasts = lengths[at]
	return err
}

// lengths judges horizons, each at the best place for it.
func (c *chooser) lengths() ([]int64, error) {
	held := make([]map[int64]int64, len(lengths))
	for i := range held {
		held[i] = map[int64]int64{}
	}
	n := int64(0)
	err := c.events.each(func(events []record, _ float64) (bool, error) {
		n += whole
		for i, length := range lengths {
			step := length.Milliseconds() / eighths
			for rest := events; len(rest) > 0; {
				at, same := floor(rest[0].millis, step), 1
				for same < len(rest) && floor(rest[same].millis, step) == at {
					same++
				}
				held[i][at] += whole * int64(same) / int64(len(events))
				rest = rest[same:]
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	scores, before := make([]int64, len(lengths)), int64(0)
	for i := range lengths {
		most := int64(0)
		for at := range held[i] {
			for first := at - eighths + 1; first <= at; first++ {
				sum := int64(0)
				for k := range int64(eighths) {
					sum += held[i][first+k]
				}
				most = max(most, sum)
			}
		}
		scores[i] = score(min(64*most-lengthHolds*n, lengthHolds*n-64*before))
		before = most
	}
	return scores, nil
}

// eighths: a horizon begins at multiples of an eighth of its length.
const eighths = 8

// score returns a number of 64ths of what counts of a user in steps of a score, rounded down.
func score(n int64) int64 { return floor(n, 64*whole/steps) }

// width is by how much changes of scores by one user can differ, where the numbers under them, in
// 64ths of what counts of a user, rise by −below at the least and above at the most.
func width(below, above int) int { return ((below+above)*steps+63)/64 + 1 }

// setting chooses the window, and then the noise.
func (c *chooser) setting() error {
	f := c.found
	sizes, middle := c.sizes()
	at := middle
	if len(sizes) > 1 {
		scores, err := c.windows(sizes, middle)
		if err != nil {
			return err
		}
		picked, err := c.pick(ofWindow, c.width(showsMuch), scores)
		if err != nil {
			return err
		}
		if picked < len(sizes) {
			at = picked
		}
	}
	f.Window = sizes[at]
	t, err := c.try(f.Window, gridStep)
	if err != nil {
		return err
	}
	at = 0
	if f.Noise == 0 {
		parts := ofNoise
		if !c.Range {
			parts += ofValues // no table of values is made
		}
		if at, err = c.pick(parts, c.noiseWidth(), t.scores()); err != nil {
			return err
		}
		f.Noise = t.options[at].Noise
	}
	use, _, err := c.noisy(ofUse, c.useMoves(), []int64{t.use(at)})
	f.Useful = err == nil && use[0] > 0
	return err
}

// windows judges sizes of windows, and last that none of them shows enough. Each is to be the
// smallest that does: those before the middle must show more.
func (c *chooser) windows(sizes []time.Duration, middle int) (scores []int64, err error) {
	none := int64(math.MaxInt64)
	for i, size := range sizes {
		asked := int64(showsEnough)
		if i < middle {
			asked = showsMuch
		}
		t, err := c.try(size, gridStep*gridStep)
		if err != nil {
			return nil, err
		}
		enough := 64*slices.Max(t.shown) - asked*t.all
		scores = append(scores, score(min(enough, none)))
		none = min(none, -enough)
	}
	return append(scores, score(none)), nil
}

// signs is 2 if users can move a cell in both directions.
func (c *chooser) signs() int {
	if c.Kind.Sums() {
		return 2
	}
	return 1
}

// noiseWidth is that of the scores of noises.
func (c *chooser) noiseWidth() int { return steps*c.signs() + 1 }

// useMoves is by how much a user moves the answer on use at most.
func (c *chooser) useMoves() uint64 {
	if c.signs() == 2 {
		return (64+showsSome)*steps/64 + 1
	}
	return (64-showsSome)*steps/64 + 1
}

// width is that of numbers x − asked/64·y and their negatives, where a user raises y by at most
// whole, and x by at most as much as y, or moves it by that much.
func (c *chooser) width(asked int) int {
	below := max(asked, 64-asked)
	if c.signs() == 2 {
		below = 64 + asked
	}
	return width(below, below)
}

// sizes are those of windows that fit the horizon, and which of them is chosen if none shows
// enough: the largest that the horizon holds four times.
func (c *chooser) sizes() (all []time.Duration, middle int) {
	if len(c.Sizes) == 1 {
		return c.Sizes, 0
	}
	lasts := c.found.Lasts
	for _, size := range c.Sizes {
		if size <= lasts+lasts/10 && lasts/size <= mostWindows {
			all = append(all, size)
		}
	}
	if len(all) == 0 {
		return c.Sizes[len(c.Sizes)-1:], 0
	}
	for i, size := range all {
		if 4*size <= lasts {
			middle = i
		}
	}
	return all, middle
}

// tried is what windows of one size show with different noises, exactly. It never leaves the
// package.
type tried struct {
	options []option
	shown   []int64 // by option: over all cells, what lies above its noise
	all     int64   // what there is to count
}

// scores judges each noise by itself and those beside it: above the best one, values vanish below
// the threshold of private keys, and below it, fewer events are counted.
func (t *tried) scores() (scores []int64) {
	for i := range t.shown {
		scores = append(scores, score(64*slices.Min(t.shown[max(0, i-1):min(len(t.shown), i+2)])))
	}
	return scores
}

// use is above 0 if a noise shows something of use.
func (t *tried) use(at int) int64 { return score(64*t.shown[at] - showsSome*t.all) }

// try counts as a run would, with the grid's noises in windows of one size. Of each user, at most
// whole counts in all, in proportion.
func (c *chooser) try(size time.Duration, step float64) (*tried, error) {
	s := c.found.Setting
	s.Window = size
	t := &tried{}
	var err error
	if s.Noise > 0 { // it is given
		t.options, err = options(c.Compile, s, s.Noise)
	} else {
		t.options, err = grid(c.Compile, s, 8*c.limit, 1<<7, step)
	}
	if err != nil {
		return nil, err
	}
	trials, err := newTrials(t.options)
	if err != nil {
		return nil, err
	}
	counts := make([][]int64, len(trials))
	cut := newCutter(size, c.Kind)
	var parts []contribution
	err = c.events.each(func(events []record, _ float64) (bool, error) {
		p := cut.cut(events)
		parts = parts[:0]
		for i, n := range p.truth {
			parts = append(parts, contribution{p.cells[i], n})
		}
		most := int64(math.Ceil(whole * min(1, amountOf(parts)/c.limit)))
		t.all += most
		for i, one := range trials {
			if grown := len(cut.cells) - len(counts[i]); grown > 0 {
				counts[i] = append(counts[i], make([]int64, grown)...)
			}
			parts = parts[:0]
			// A user's own first window begins the horizon: others do not matter.
			if err := one.of(p, cut.size, p.windows[0].number, func(entry int, part spend.Part) {
				parts = append(parts, contribution{p.cells[entry], float64(part.Total)})
			}); err != nil {
				return false, err
			}
			for k, n := range c.limited(parts, most) {
				counts[i][parts[k].cell] += n
			}
		}
		return true, nil
	})
	louder := 1.0
	if c.Kind.Vector != nil {
		louder = 2.25 // of a mean a quarter of the range from its end, with the noise of both components
	}
	for i, of := range t.options {
		t.shown = append(t.shown, c.above(counts[i], louder*finest(of.d)))
	}
	return t, err
}

// contribution is what a user adds to a cell.
type contribution struct {
	cell int
	n    float64
}

// limited returns contributions in parts of the limit, together at most most of them.
func (c *chooser) limited(parts []contribution, most int64) (out []int64) {
	factor := whole / c.limit
	if sum := amountOf(parts); sum*factor > float64(most) {
		factor = float64(most) / sum
	}
	for _, p := range parts {
		out = append(out, int64(p.n*factor*(1-1e-9))) // the margin is for rounding
	}
	return out
}

func amountOf(parts []contribution) (sum float64) {
	for _, p := range parts {
		sum += math.Abs(p.n)
	}
	return sum
}

// above returns Σ max(0, |count| − the noise), in parts of the limit. The noise is lowered as
// counts are by the limit.
func (c *chooser) above(counts []int64, noise float64) (sum int64) {
	least := int64(math.Min(aboveNoise*c.kept*noise*whole/c.limit, 1<<60))
	for _, n := range counts {
		sum += max(0, max(n, -n)-least)
	}
	return sum
}
