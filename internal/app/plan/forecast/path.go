package forecast

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/state/units"
)

// path is one walk along the windows, with noise of its own.
type path struct {
	*model
	totals
	normal func() float64
	picks  *rand.Rand // of the events that stay
	scale  float64    // of a contribution: users that one of the sample stands for
	order  uint64     // decides, with a user and a key, which keys stay; another one in each period

	spent   []uint64 // by user, account units
	named   []int32  // by user: pairs of window and key that δ was spent on
	out     []bool   // by user: left out once
	outs    int
	ever    []bool // by key: had a count
	came    []bool // by key: came out
	truth   []amount
	gross   []float64 // as truth, but of sizes: of what users add, whatever its sign
	counted []amount
	paid    []precisions // for all components
	passed  []bool       // by key: whether the value of the window comes out
	seen    []uint32     // keys of the window, each once

	value  parts   // of the cells that hold half
	others []parts // of the same cells, by model.statistics

	admitted []contribution // of the window
	own      []ranked       // of a user
	leaves   []leafCount    // of a user and key
}

type contribution struct {
	user, key uint32
	c         amount
}

// ranked is what a user did with a key: one cell for each value.
type ranked struct {
	hash  uint64
	cells []sample.Cell
}

// walk goes along all windows; it ends early where ctx is done.
func (m *model) walk(ctx context.Context, seed uint64) *totals {
	p := &path{
		model: m, normal: rand.New(rand.NewPCG(seed, 0x70_1a_70)).NormFloat64, picks: rand.New(rand.NewPCG(seed, 0x70_1a_71)), scale: 1 / m.w.Rate, order: sample.Mix(seed + golden),
		totals: totals{lost: make([]float64, 0, len(m.after)), key: make([]keySums, len(m.options.Keys)), beside: make([]Beside, len(m.statistics))}, others: make([]parts, len(m.statistics)),
		spent: make([]uint64, m.w.Users), named: make([]int32, m.w.Users), out: make([]bool, m.w.Users),
		ever: make([]bool, m.keys), came: make([]bool, m.keys), truth: make([]amount, m.keys), gross: make([]float64, m.keys), counted: make([]amount, m.keys),
		paid: make([]precisions, m.keys), passed: make([]bool, m.keys), own: make([]ranked, 0, 64),
	}
	period := int64(math.MinInt64)
	for window := range m.w.Len() {
		if window%64 == 0 && ctx.Err() != nil {
			return &p.totals
		}
		if m.period > 0 {
			if now := sample.Floor(m.w.Start+int64(window)*m.w.Size.Milliseconds(), m.period); now != period {
				period = now
				p.order = sample.Mix(sample.Mix(seed+golden) ^ uint64(now)*golden)
				clear(p.spent)
				clear(p.named)
			}
		}
		before := sums{p.wrong, p.of}
		p.window(window)
		if m.after[len(p.lost)] == window+1 {
			p.lost = append(p.lost, float64(p.outs)*p.scale)
			p.ends = append(p.ends, sums{p.wrong - before.wrong, p.of - before.of})
		}
	}
	if m.w.Len() == 0 {
		p.lost, p.ends = append(p.lost, 0), append(p.ends, sums{})
	}
	for k := range p.ever {
		if p.ever[k] {
			p.sum.KeysEver++
		}
		if p.came[k] {
			p.sum.KeysShown++
		}
	}
	p.sum.Typical, p.sum.Noise, p.sum.Left, p.sum.Cells = Median(p.value.errors), Median(p.value.noise), Median(p.value.left), float64(len(p.value.errors))
	for _, e := range p.value.errors {
		p.sum.Smooth += math.Log1p(e) / p.sum.Cells
	}
	for i := range p.others {
		of := &p.others[i]
		p.totals.beside[i] = Beside{Typical: Median(of.errors), Noise: Median(of.noise), Left: Median(of.left)}
	}
	return &p.totals
}

// window admits the users of a window, releases its counts, and charges. Noise is drawn in the
// order in which keys appear, which depends on nothing but the sample.
func (p *path) window(window int) {
	p.seen, p.admitted = append(p.seen[:0], p.listed...), p.admitted[:0]
	cells := p.w.At(window)
	for from := 0; from < len(cells); {
		end := from + 1
		for end < len(cells) && cells[end].User == cells[from].User {
			end++
		}
		p.user(cells[from:end])
		from = end
	}
	for _, k := range p.seen {
		p.release(k)
	}
	for _, c := range p.admitted {
		charge, _ := c.c.price(p.paid[c.key])
		if p.tree != nil && p.passed[c.key] {
			nodes, _ := p.tree.price(c.c[drawnNodes], p.paid[c.key][0])
			charge += nodes
		}
		p.spent[c.user] += uint64(charge)
	}
	for _, k := range p.seen {
		p.truth[k], p.gross[k], p.counted[k] = amount{}, 0, amount{}
	}
}

// user clips what one user did, and admits it if the user can pay for the worst of it.
func (p *path) user(cells []sample.Cell) {
	user := cells[0].User
	own := p.clip(cells)
	if len(own) == 0 {
		return
	}
	worst, fits := units.Mu2(0), true
	from, kept := len(p.admitted), 0.0
	for _, o := range own {
		c := p.within(o.cells)
		if fits {
			var price units.Mu2
			if price, fits = p.worstOf(c); fits {
				worst, fits = worst.Add(price)
			}
		}
		kept += math.Abs(c[0]) * p.scale
		p.admitted = append(p.admitted, contribution{user, o.cells[0].Key, c})
	}
	p.sum.Kept += kept
	if fits {
		worst, fits = worst.Add(units.Mu2(p.spent[user]))
	}
	if !fits || worst > p.budget.Mu2 || p.pays >= 0 && int(p.named[user])+len(own) > p.pays {
		p.admitted = p.admitted[:from]
		if !p.out[user] {
			p.out[user] = true
			p.outs++
		}
		return
	}
	p.share(cells)
	p.sum.Counted += kept
	p.named[user] = int32(min(int64(p.named[user])+int64(len(own)), math.MaxInt32))
	for _, c := range p.admitted[from:] {
		p.counted[c.key].add(c.c, p.scale)
	}
}

// worstOf is the price of a contribution at the top of all components.
func (p *path) worstOf(c amount) (units.Mu2, bool) {
	if n := math.Abs(c[0]); p.vector == nil && p.tree == nil && n < float64(len(p.worst)) {
		return units.Mu2(p.worst[int(n)]), true
	}
	sum, fits := c.price(p.tops)
	if p.tree == nil || !fits {
		return sum, fits
	}
	nodes, fits := p.tree.price(c[allNodes], p.tops[0])
	sum, both := sum.Add(nodes)
	return sum, fits && both
}

// share charges an admitted user for the share of counted events: all of the user's events, as if
// none were left out and the ladder went to its top, which is the most.
func (p *path) share(cells []sample.Cell) {
	if p.shared == nil {
		return
	}
	n := uint64(0)
	for rest := cells; len(rest) > 0; {
		var of []sample.Cell
		if of, rest = sample.ByKey(rest); p.taken == nil || p.taken[of[0].Key] {
			n += events(of)
		}
	}
	p.spent[cells[0].User] += p.shared[min(n, uint64(len(p.shared)-1))]
}

// clip adds to the truth and returns the cells whose keys stay. As in the product a hash of user,
// period and key decides, the same in all windows: users who come back with the same keys are
// counted for the same ones.
func (p *path) clip(cells []sample.Cell) []ranked {
	own := p.own[:0]
	for rest := cells; len(rest) > 0; {
		var of []sample.Cell
		of, rest = sample.ByKey(rest)
		key := of[0].Key
		if p.taken != nil && !p.taken[key] {
			continue
		}
		n := p.whole(of)
		size := math.Abs(n[0]) * p.scale
		if p.gross[key] == 0 && p.taken == nil {
			p.seen = append(p.seen, key)
		}
		p.truth[key].add(n, p.scale)
		p.gross[key] += size
		p.sum.Truth += size
		own = append(own, ranked{cells: of})
	}
	p.own = own
	if len(own) <= p.most {
		return own
	}
	order := sample.Mix(p.order ^ uint64(cells[0].User)*golden)
	for i := range own {
		own[i].hash = sample.Mix(order ^ uint64(own[i].cells[0].Key)*golden)
	}
	least(own, p.most)
	return own[:p.most]
}

// within is what a user's events of a key contribute within the bounds. Where values are added,
// those of the events with the least ranks are: of any that many, as likely as of others.
func (p *path) within(cells []sample.Cell) amount {
	n := events(cells)
	if !p.kind.Values {
		_, c := p.kind.Contribution(n, p.bounds)
		return amount{float64(c)}
	}
	stay, total := min(n, uint64(p.bounds.Events)), amount{}
	if p.tree != nil {
		p.leaves = p.leaves[:0]
	}
	for _, c := range cells {
		of := p.some(stay, uint64(c.Events), n)
		value := int64(math.Round(min(max(float64(c.Value), p.least), p.greatest)))
		for i, adds := range p.values {
			total[i] += float64(of) * float64(adds(value, p.bounds))
		}
		if p.tree != nil && of > 0 {
			p.leaves = append(p.leaves, leafCount{p.tree.leaf(c.Value), of})
		}
		stay, n = stay-of, n-uint64(c.Events)
	}
	if p.tree != nil {
		total[allNodes], total[drawnNodes] = p.tree.squares(p.leaves, cells[0].Key)
	}
	return total
}

// some draws how many of stay events, chosen out of n, are among certain m: the hypergeometric law,
// but for its mean beyond 4,096 events.
func (p *path) some(stay, m, n uint64) (of uint64) {
	if stay == n || m == n {
		return min(stay, m)
	}
	if n > 1<<12 {
		mean := uint64(math.Round(float64(stay) * float64(m) / float64(n)))
		return max(min(mean, stay, m), stay-min(stay, n-m))
	}
	for ; m > 0 && stay > 0; m, n = m-1, n-1 {
		if p.picks.Uint64N(n) < stay {
			of, stay = of+1, stay-1
		}
	}
	return of
}

func events(cells []sample.Cell) (n uint64) {
	for _, c := range cells {
		n += uint64(c.Events)
	}
	return n
}

// least moves the n least hashes to the front, in any order: quickselect (Hoare 1961). Hashes are
// random, so that the middle is a good pivot.
func least(own []ranked, n int) {
	for len(own) > 1 {
		pivot, i, j := own[len(own)/2].hash, 0, len(own)-1
		for i <= j {
			for own[i].hash < pivot {
				i++
			}
			for own[j].hash > pivot {
				j--
			}
			if i <= j {
				own[i], own[j] = own[j], own[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			own = own[:j+1]
		case n >= i:
			own, n = own[i:], n-i
		default:
			return
		}
	}
}

const golden = 0x9e3779b97f4a7c15

// release draws one count's value.
func (p *path) release(k uint32) {
	truth, counted := p.truth[k], p.counted[k]
	p.ever[k] = true
	p.sum.Counts++
	real, is := p.real(truth)
	var out drawn
	if p.vector != nil {
		out.exact = real // of nothing counted there is no mean
	}
	if counted[0] != 0 || p.taken != nil { // a private key of which nothing is counted exists nowhere
		out = p.draw(counted)
		p.paid[k] = out.paid
	}
	p.passed[k] = out.Passed
	if p.taken == nil {
		p.sum.Reach = max(p.sum.Reach, counted[0]/p.threshold)
	}
	wrong := math.Abs(out.value - real)
	p.typical(&out, truth, counted)
	if out.Passed {
		p.came[k] = true
		p.sum.Shown++
		p.sum.ShownTruth += p.gross[k]
		if out.Met {
			p.sum.Met++
		}
	}
	if out.Passed && is {
		p.compared++
		p.wrong += wrong
		if p.vector != nil {
			p.of += p.yardstick(truth)
		} else {
			p.of += p.gross[k]
		}
	}
	if told := p.told[k]; told > 0 && p.gross[k] > 0 {
		limit := max(p.metric.Spec.Relative*math.Abs(real), p.metric.Spec.Absolute)
		if p.options.Within > 0 {
			limit = p.options.Within * p.yardstick(truth)
		}
		p.key[told-1].add(&out, real, limit >= wrong)
	}
}
