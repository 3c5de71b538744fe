package choice

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// score converts n, in 64ths of a user's maximum contribution, to steps of a score, rounded down.
func score(n int64) int64 { return floor(n, 64*whole/steps) }

// width returns the greatest difference between the changes that one user causes in two scores. A
// user changes the numbers behind the scores by −below to above, in 64ths of a user's maximum
// contribution.
func width(below, above int) int { return ((below+above)*steps+63)/64 + 1 }

// candidate is a setting with its exact results. It never leaves the package.
type candidate struct {
	option
	shown int64 // the part of the large cells' amount that exceeds the noise
	all   int64 // the countable amount of all cells
}

// score rates a candidate. penalty is subtracted for the size of the candidate's windows.
func (t *candidate) score(penalty int64) int64 {
	return score(min(32*t.shown, enough/2*t.all) + 32*t.shown - penalty)
}

// use returns a number that is positive if a candidate shows enough to be useful.
func (t *candidate) use() exact { return exact{useDecision, []int64{score(64*t.shown - useful*t.all)}} }

// chooseSetting chooses the window and the noise together.
func (c *chooser) chooseSetting() error {
	all, scores, err := c.candidates(c.sizes())
	if err != nil {
		return err
	}
	if !c.Range {
		scores.parts += valuesDecision.parts // no table of values was paid for
	}
	picked, err := c.pick(scores)
	if err != nil {
		return err
	}
	c.found.Window, c.found.Noise = all[picked].Window, all[picked].Noise
	use, _, err := c.noisy(all[picked].use())
	c.found.Useful = err == nil && use[0] > 0
	return err
}

// candidates returns the candidates for windows of the given ascending sizes, and their scores.
func (c *chooser) candidates(sizes []time.Duration) (all []candidate, scores exact, err error) {
	scores.decision = settingDecision
	for _, size := range sizes {
		tried, err := c.try(size)
		if err != nil {
			return nil, scores, err
		}
		part := longer*math.Log2(float64(size)/float64(sizes[0])) + beyond*max(0,
			math.Log2(4*float64(size)/float64(c.found.Lasts)))
		penalty := int64(64 * large / 4 * part * c.counts / c.limit * whole)
		for i := range tried {
			all, scores.numbers = append(all, tried[i]), append(scores.numbers, tried[i].score(penalty))
		}
	}
	return all, scores, nil
}

// sizes returns the window sizes that fit the horizon.
func (c *chooser) sizes() (all []time.Duration) {
	if len(c.Sizes) == 1 {
		return c.Sizes
	}
	lasts := c.found.Lasts
	for _, size := range c.Sizes {
		if size <= lasts+lasts/10 && lasts/size <= mostWindows {
			all = append(all, size)
		}
	}
	if len(all) == 0 {
		return c.Sizes[len(c.Sizes)-1:]
	}
	return all
}

// try counts events like a run, in windows of one size with each noise of the grid. Each user's
// amount is scaled to at most whole. Only every second noise is tried; the others are interpolated.
func (c *chooser) try(size time.Duration) ([]candidate, error) {
	s := c.found.Setting
	s.Window = size
	var all []option
	var err error
	if s.Noise > 0 { // the noise is given
		all, err = options(c.Compile, s, s.Noise)
	} else {
		all, err = grid(c.Compile, s, 8*c.limit, 1<<7, gridStep)
	}
	if err != nil {
		return nil, err
	}
	var everySecond []option
	for i := 0; i < len(all); i += 2 {
		everySecond = append(everySecond, all[i])
	}
	trials, err := newTrials(everySecond)
	if err != nil {
		return nil, err
	}
	counts, real, sum := make([][]int64, len(trials)), []int64(nil), int64(0)
	cut := newCutter(size, c.Kind)
	var userParts []int64
	err = c.events.each(func(events []record, _ float64) (bool, error) {
		p := cut.cut(events)
		added := 0.0
		for _, n := range p.truth {
			added += math.Abs(n)
		}
		most := int64(math.Ceil(whole * min(1, added/c.limit)))
		sum += most
		part := func(n float64) int64 {
			return int64(math.Abs(n) * float64(most) / max(1, added) * (1 - 1e-9)) // margin for rounding
		}
		userParts = userParts[:0]
		real = append(real, make([]int64, len(cut.cells)-len(real))...)
		for i, n := range p.truth {
			userParts = append(userParts, part(n))
			real[p.cells[i]] += userParts[i]
		}
		for i, trial := range trials {
			counts[i] = append(counts[i], make([]int64, len(cut.cells)-len(counts[i]))...)
			// The horizon begins with the user's first window, independently of other users.
			if err := trial.count(p, cut.size, p.windows[0].number, func(entry int, added spend.Part) {
				counts[i][p.cells[entry]] += min(userParts[entry], part(float64(added.Total)))
			}); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	level := aboveNoise * c.countedShare * whole / c.limit
	if c.Kind.Vector != nil {
		level *= 2.25 // noise of both components for a mean that lies a quarter of the range from one end
	}
	from, tried := largeFrom(real, sum), make([]candidate, len(all))
	for i, o := range all {
		between := min(i/2+i%2, len(counts)-1)
		least := int64(math.Min(level*finest(o.d), 1<<50))
		tried[i] = candidate{o, from.above(counts[i/2], counts[between], least), sum}
	}
	return tried, err
}

// cellSize is the size a/b of a cell.
type cellSize struct{ a, b int64 }

// largeFrom returns the size s for which Σ max(0, cell − s) is large/4 of all. It returns 0 if the
// cells add up to less than that.
func largeFrom(cells []int64, all int64) cellSize {
	cells = slices.Sorted(slices.Values(cells))
	sum := int64(0)
	for i, n := range slices.Backward(cells) {
		sum += n
		next, many := int64(0), int64(len(cells)-i)
		if i > 0 {
			next = cells[i-1]
		}
		if 4*(sum-many*next) >= large*all {
			return cellSize{4*sum - large*all, 4 * many}
		}
	}
	return cellSize{0, 1}
}

// above returns Σ max(0, count − noise − size) for counts that lie two fifths of the way from
// counts to noisier. If noisier has twice the noise of counts, allowances pay for about that much
// with √2 times the noise.
func (s cellSize) above(counts, noisier []int64, noise int64) int64 {
	sum, many, least := int64(0), uint64(0), 5*s.a/s.b
	for i, n := range counts {
		if n = 3*n + 2*noisier[i] - 5*noise; n > least {
			sum, many = sum+n, many+5
		}
	}
	high, low := bits.Mul64(many, uint64(s.a))
	less, _ := bits.Div64(high, low, uint64(s.b))
	return (sum - int64(less)) / 5
}
