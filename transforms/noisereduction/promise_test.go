package noisereduction

import (
	"math"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/chance"
	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/state/units"
)

// optimum returns the clairvoyant precision (z/(r·f))².
func optimum(target Target, count float64) float64 {
	z := math.Sqrt2 * math.Erfinv(target.Confidence)
	return math.Pow(z/(target.Relative*count), 2)
}

func precisionOf(t testing.TB, u float64) units.Precision {
	t.Helper()
	p, err := units.PrecisionFromFloat(u, units.RoundUp)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tally sums up many releases of one count.
type tally struct {
	n, met, wrong, outside int
	precision              float64 // sum
}

func run(t testing.TB, p *Plan, count int64, n int, seed byte) tally {
	t.Helper()
	var all tally
	k, id := testKey(), testIdentity()
	id.Incarnation[1] = seed
	f, target := float64(count), p.spec.Target
	tolerance := math.Max(target.Relative*f, target.Absolute)
	for i := range n {
		id.WindowStart = int64(i)
		r, err := p.Release(k, id, count)
		if err != nil {
			t.Fatal(err)
		}
		all.n++
		all.precision += r.Precision.Float()
		if r.Met {
			all.met++
			if math.Abs(math.Ldexp(float64(r.Value), -valueBits)-f) > tolerance {
				all.wrong++
			}
		}
		if r.Low > f || r.High < f {
			all.outside++
		}
	}
	return all
}

// promiseCase is one cell of the grid that TestRuleAccuracyPromise walks.
type promiseCase struct {
	kind     Kind
	factor   float64
	target   Target
	tight    bool // the top lies where the target of a count of 60 is met, else of 1000
	fromAfar bool // the first rung is made for 10^7, else close to the count
}

func (c promiseCase) plan(t *testing.T, count int64) *Plan {
	t.Helper()
	top := optimum(c.target, 1000)
	if c.tight {
		top = optimum(c.target, 60)
	}
	first := optimum(c.target, 1e7) / 3
	if !c.fromAfar {
		first = min(top, optimum(c.target, math.Max(1, float64(count)))) / 200
	}
	return compile(t, Spec{
		Kind: c.kind, Factor: c.factor, Target: c.target,
		First: precisionOf(t, first), Top: precisionOf(t, top),
	})
}

// promiseCases covers every pair of the tables' targets and confidences,
// alternating between ladders, floors and tops.
func promiseCases() []promiseCase {
	shapes := []promiseCase{
		{kind: Adaptive, fromAfar: true},
		{kind: Adaptive, fromAfar: true, target: Target{Absolute: 1000}},
		{kind: Geometric, factor: 1.1},
		{kind: Geometric, factor: 2, fromAfar: true},
		{kind: Geometric, factor: 2, target: Target{Absolute: 1000}},
	}
	var all []promiseCase
	for _, r := range tableTargets() {
		for _, confidence := range tableConfidences() {
			c := shapes[len(all)%len(shapes)]
			c.tight = len(all)%2 == 0
			c.target = Target{Relative: r, Absolute: r * c.target.Absolute, Confidence: confidence}
			all = append(all, c)
		}
	}
	return all
}

// TestRuleAccuracyPromise runs the real ladder, noise and stop rule over the grid of targets and
// confidences, ladders and absolute floors, for counts from 0 to 10^7, and fails if more than 1 −
// confidence of the releases are wrong or of the intervals miss. A cell fails 4.9 deviations above
// that: false-reject rate 5e-7 for one whose probability is exactly the allowed one, below 1e-3 for
// the whole test. For some counts, the top just suffices to meet the target. Every cell of the grid
// takes every other count, its neighbours the ones between; with -v every cell takes all of them.
func TestRuleAccuracyPromise(t *testing.T) {
	const n = 1000
	seed := byte(0)
	wrong, outside := 0.0, 0.0
	for i, c := range promiseCases() {
		usesItsFactors(t, c)
		if !long.On() && i%17 != 0 {
			continue
		}
		allowed := 1 - c.target.Confidence
		limit := n*allowed + 4.9*math.Sqrt(n*allowed*c.target.Confidence) + 2
		for j, count := range []int64{0, 1, 3, 60, 1000, 30_000, 1_000_000, 10_000_000} {
			seed++
			if !testing.Verbose() && (i/2+j)%2 != 0 { // i%2 is the top
				continue
			}
			all := run(t, c.plan(t, count), count, n, seed)
			if float64(all.wrong) > limit {
				t.Errorf("%+v, count %d: %d of %d met releases wrong, limit %.0f", c, count, all.wrong, n, limit)
			}
			if float64(all.outside) > limit {
				t.Errorf("%+v, count %d: %d of %d intervals miss, limit %.0f", c, count, all.outside, n, limit)
			}
			wrong = max(wrong, float64(all.wrong)/n/allowed)
			outside = max(outside, float64(all.outside)/n/allowed)
		}
	}
	t.Logf("worst cells, as a multiple of what is allowed: %.2f wrong, %.2f outside (n = %d each)", wrong, outside, n)
}

// usesItsFactors checks the stop rule and the intervals of a case against the fitted factors. They
// save a few per cent, which this many releases cannot resolve.
func usesItsFactors(t *testing.T, c promiseCase) {
	t.Helper()
	p := c.plan(t, 1000)
	indexOf := func(nodes []float64, v float64) int { return slices.Index(nodes, v) }
	targets, confidences := tableTargets(), tableConfidences()
	f := fitted()[indexOf(confidences[:], c.target.Confidence)][indexOf(targets[:],
		c.target.Relative)][ladderClass(p.spec)]
	kappa := f.kappa
	if c.target.Absolute != 0 {
		kappa = f.floor
	}
	z := math.Sqrt2 * math.Erfinv(c.target.Confidence)
	if want := z / (c.target.Relative * float64(kappa) / 1000); math.Abs(
		math.Ldexp(float64(p.barrier), -scoreBits)/want-1) > 1e-6 {
		t.Errorf("%+v: stops at a score of %v, want %v", c, math.Ldexp(float64(p.barrier), -scoreBits), want)
	}
	r := &p.rungs[0]
	if want := z * float64(f.widen) / 1000 * r.deviation; math.Abs(math.Ldexp(float64(r.half), -valueBits)-want) >
		1e-6*want+3*0x1p-10 {
		t.Errorf("%+v: half of an interval is %v, want %v", c, math.Ldexp(float64(r.half), -valueBits), want)
	}
}

// TestFactorsKeepThePromise computes, without sampling, the worst over all counts, tops and floors
// for the table's factors: at most 1 − confidence, at the sweep's accuracy.
func TestFactorsKeepThePromise(t *testing.T) {
	long.Test(t)
	sweeper := newSweeper()
	for c, confidence := range tableConfidences() {
		for r, relative := range tableTargets() {
			if (c+3*r)%7 != 0 {
				continue
			}
			for class, step := range ladders() {
				f := fitted()[c][r][class]
				rule := sweptRule{
					Relative: relative, Confidence: confidence, Step: step, Margin: margin, Shrink: 1,
					Kappa: float64(f.kappa) / 1000, Widen: float64(f.widen) / 1000,
				}
				if w := sweeper.WorstPlain(rule); math.Max(w.Wrong, w.Out) > 1-confidence {
					t.Errorf("r = %v, confidence %v, ladder %v: %.5f wrong, %.5f outside", relative, confidence, step,
						w.Wrong, w.Out)
				}
				rule.Kappa = float64(f.floor) / 1000
				if w := sweeper.WorstFloor(rule); math.Max(w.Wrong, w.Out) > 1-confidence {
					t.Errorf("r = %v, confidence %v, ladder %v with floor: %.5f wrong, %.5f outside", relative,
						confidence, step, w.Wrong, w.Out)
				}
			}
		}
	}
}

// TestPlanAgreesWithSweep: the mechanism and the computation behind its factors give the same error
// rate and the same cost (5 standard errors, false-reject rate 6e-7 each; the cost's deviation is
// below 0.5).
func TestPlanAgreesWithSweep(t *testing.T) {
	n := chance.Trials(40_000)
	sweeper := newSweeper()
	for i, target := range []Target{
		{Relative: .05, Confidence: .95}, {Relative: .2, Confidence: .8}, {Relative: .5, Confidence: .95},
	} {
		const count = 1000
		u := optimum(target, count)
		p := compile(t,
			Spec{Kind: Adaptive, First: precisionOf(t, u/(1<<20)), Top: precisionOf(t, 20*u), Target: target})
		a := math.Ldexp(float64(p.barrier), -scoreBits)
		first := p.First().Float() * count * count
		points := math.Round(octave * math.Log2(16*a*a/first))
		rule := sweptRule{Relative: target.Relative, Confidence: target.Confidence, Kappa: p.kappa, Margin: margin,
			Shrink: 1, Widen: 1}
		starts := sweeper.Sweep(rule, sweptEnd{At: first * math.Exp2(points/octave)}, first*1.01)
		want := starts[len(starts)-1]
		got := run(t, p, count, n, byte(200+i))
		chance.CheckRate(t, "wrong", got.wrong, n, want.Wrong)
		cost := got.precision / float64(n) / u
		if math.Abs(cost-want.Cost) > 2.5/math.Sqrt(float64(n)) {
			t.Errorf("%+v: cost %.4f, sweep says %.4f", target, cost, want.Cost)
		}
		t.Logf("%+v: wrong %.4f (sweep %.4f), cost %.4f (sweep %.4f), n = %d", target, float64(got.wrong)/float64(n),
			want.Wrong, cost, want.Cost, n)
	}
}
