package noisereduction

import "math"

// The grid of the deviation d = X − √s, standard normal at every rung.
const (
	gridStep = 0.08
	gridHalf = 90
	gridLen  = 2*gridHalf + 1
)

// sweptEnd ends a ladder at precision s = At. With Floor > 0, the cap reaches an absolute target
// Floor (in units of the count), so the ladder always counts as met there.
type sweptEnd struct {
	At    float64
	Last  float64 // ratio of the last step, 0 for a whole one (geometric only)
	Floor float64
}

// swept is what a ladder does when its first rung has precision S.
type swept struct {
	S     float64
	Wrong float64 // P(met and |value − f| > max(r·f, floor))
	Met   float64 // P(met)
	Cost  float64 // E[precision reached] / clairvoyant
	Out   float64 // P(|est − f| > Widen·z·σ), met or not: outside the printed interval
}

// kernel holds transition weights from a rung at deviation d to the next at d′ = d·√(s/s′) + N(0, 1
// − s/s′).
type kernel struct {
	w    [][]float64 // by source: weights of the targets from[i], from[i]+1, …
	from []int
}

func newKernel(ratio float64) *kernel {
	rho, sd := math.Sqrt(1/ratio), math.Sqrt(1-1/ratio)
	k := &kernel{w: make([][]float64, gridLen), from: make([]int, gridLen)}
	for i := range k.w {
		mean := rho * float64(i-gridHalf) * gridStep
		lo := max(int(math.Floor((mean-7*sd)/gridStep))+gridHalf, 0)
		hi := min(int(math.Ceil((mean+7*sd)/gridStep))+gridHalf, gridLen-1)
		w := make([]float64, hi-lo+1)
		for j := range w {
			w[j] = weight((float64(lo+j-gridHalf)*gridStep-mean)/sd) / sd
		}
		k.w[i], k.from[i] = w, lo
	}
	return k
}

// weight returns the quadrature weight of a grid point at x standard deviations.
// Densities, not masses of intervals: the sum converges faster than any power of
// the grid step, while lumping intervals adds a variance of gridStep²/12 a rung.
func weight(x float64) float64 {
	return gridStep / math.Sqrt(2*math.Pi) * math.Exp(-x*x/2)
}

// sweeper computes what ladders do, exactly up to the grid (no sampling): it goes down the ladder
// from its end and keeps, for every rung and deviation, the probability of a wrong release and the
// expected cost. Not safe for concurrent use.
type sweeper struct{ cache map[float64]*kernel }

// newSweeper returns an empty sweeper.
func newSweeper() *sweeper { return &sweeper{cache: map[float64]*kernel{}} }

func (w *sweeper) kernel(ratio float64) *kernel {
	ratio = math.Round(ratio*1e9) / 1e9 // one entry per step, not per rounding of it
	k, ok := w.cache[ratio]
	if !ok {
		k = newKernel(ratio)
		w.cache[ratio] = k
	}
	return k
}

// quantity is one of the expectations that a sweep carries down a ladder.
type quantity int

const (
	wrong quantity = iota
	met
	cost
	out
	quantities
)

// layer holds expectations for a ladder that has reached a rung, per quantity and deviation. A
// quantity that was not requested is nil.
type layer [quantities][]float64

// Sweep returns what ladders do, one for every first rung on the grid that ends at
// c.At, down to s = lowest, greatest first.
func (w *sweeper) Sweep(r sweptRule, c sweptEnd, lowest float64) []swept {
	return w.sweep(r, c, lowest, wrong, met, cost, out)
}

func (w *sweeper) sweep(r sweptRule, c sweptEnd, lowest float64, want ...quantity) []swept {
	ratio := r.ratio()
	scale := []float64{c.At}
	if c.Last != 0 && c.Last != 1 {
		scale = append(scale, c.At/c.Last)
	}
	for scale[len(scale)-1] > lowest {
		scale = append(scale, scale[len(scale)-1]/ratio)
	}
	layers := make([]layer, len(scale))
	starts := make([]swept, len(scale))
	for n, s := range scale {
		layers[n] = w.layer(r, c, scale, layers, n, want)
		var sums [quantities]float64
		for _, q := range want {
			for i, v := range layers[n][q] {
				sums[q] += v * weight(float64(i-gridHalf)*gridStep)
			}
		}
		starts[n] = swept{
			S: s, Wrong: sums[wrong], Met: sums[met], Out: sums[out],
			Cost: sums[cost] / r.Clairvoyant(),
		}
	}
	return starts
}

// bounds are the deviations between which things happen at a rung.
type bounds struct {
	cross                  float64 // the rule is met from here up
	published              float64 // the ladder ends from here up
	wrongBelow, wrongAbove float64 // the value is wrong outside
	wide                   float64 // the interval misses beyond ± this
}

func (r sweptRule) bounds(c sweptEnd, s float64, last bool) bounds {
	root := math.Sqrt(s)
	tol := math.Max(r.Relative, c.Floor)
	b := bounds{
		cross:      r.Barrier() - root,
		wrongAbove: root*(1+tol)/r.Shrink - root,
		wrongBelow: root*(1-tol)/r.Shrink - root,
		wide:       r.Widen * r.Z(),
	}
	if last && c.Floor > 0 {
		b.cross = math.Inf(-1)
	}
	b.published = b.cross
	if last {
		b.published = math.Inf(-1)
	}
	return b
}

// quantities returns the four quantities of a ladder that ends at a rung with a
// deviation spread evenly over [lo, hi], s being its precision.
func (b bounds) quantities(lo, hi, s float64) (q [quantities]float64) {
	inf := math.Inf(1)
	q[wrong] = overlap(lo, hi, math.Max(b.cross, b.wrongAbove), inf) + overlap(lo, hi, b.cross, b.wrongBelow)
	q[met] = overlap(lo, hi, b.cross, inf)
	q[cost] = s * overlap(lo, hi, b.published, inf)
	q[out] = overlap(lo, hi, math.Max(b.published, b.wide), inf) + overlap(lo, hi, b.published, -b.wide)
	return q
}

func (w *sweeper) layer(r sweptRule, c sweptEnd, scale []float64, layers []layer, n int, want []quantity) layer {
	s := scale[n]
	b := r.bounds(c, s, n == 0)
	var l layer
	for _, q := range want {
		l[q] = make([]float64, gridLen)
	}
	for i := range gridLen {
		d := float64(i-gridHalf) * gridStep
		lo, hi := d-gridStep/2, d+gridStep/2
		here := b.quantities(lo, hi, s)
		goesOn := 1 - overlap(lo, hi, b.published, math.Inf(1))
		if goesOn <= 0 {
			for _, q := range want {
				l[q][i] = here[q]
			}
			continue
		}
		to := max(n-r.Jump(d+math.Sqrt(s)), 0)
		k := w.kernel(scale[to] / s)
		for _, q := range want {
			l[q][i] = here[q] + goesOn*dot(k.w[i], layers[to][q][k.from[i]:])
		}
	}
	return l
}

func dot(weights, values []float64) float64 {
	var sum float64
	values = values[:len(weights)]
	for i, w := range weights {
		sum += w * values[i]
	}
	return sum
}

// overlap returns the part of [lo, hi] that lies in [a, b].
func overlap(lo, hi, a, b float64) float64 {
	return math.Max(0, math.Min(hi, b)-math.Max(lo, a)) / (hi - lo)
}
