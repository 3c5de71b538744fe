package noisereduction

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
)

// TestSweepReproducesKnownFigures: coverage and cost on a ladder of step 1.02
// from u*·10^-4, from an independent Monte Carlo simulation with n = 60,000
// (standard error 0.001 at 95 %, 0.0017 at 80 %).
func TestSweepReproducesKnownFigures(t *testing.T) {
	for _, test := range []struct {
		relative, confidence, kappa float64
		coverage, cost              float64
	}{
		{.05, .95, 1, .949, 1.01},
		{.1, .95, .982, .952, 1.05},
		{.2, .8, .955, .801, 1.10},
		{.2, .8, 1, .780, 1.00},
		{.2, .95, .926, .951, 1.18},
		{.2, .99, .903, .989, 1.24},
		{.5, .95, .707, .951, 2.01},
		{.5, .95, 1, .839, 0.97},
	} {
		r := sweptRule{Relative: test.relative, Confidence: test.confidence, Kappa: test.kappa, Step: 1.02, Shrink: 1, Widen: 1}
		starts := newSweeper().Sweep(r, sweptEnd{At: 16 * r.Barrier() * r.Barrier()}, 1e-4*r.Clairvoyant())
		got := starts[len(starts)-1]
		if math.Abs(1-got.Wrong-test.coverage) > 0.004 {
			t.Errorf("%+v: coverage %.4f", test, 1-got.Wrong)
		}
		if math.Abs(got.Cost-test.cost) > 0.016 {
			t.Errorf("%+v: cost %.4f", test, got.Cost)
		}
	}
}

// TestSweepAgreesWithSampling of the same ladder with a top and a floor: 5.5
// standard errors, false-reject rate below 1e-6 for the test.
func TestSweepAgreesWithSampling(t *testing.T) {
	random := rand.New(runseed.PCG(t, 7, 7))
	const n = 40_000
	for _, step := range []float64{0, 1.5} {
		r := sweptRule{Relative: .2, Confidence: .9, Kappa: .93, Margin: margin, Step: step, Shrink: 1, Widen: 1}
		a2 := r.Barrier() * r.Barrier()
		for _, c := range []sweptEnd{{At: 9 * a2}, {At: 0.9 * a2}, {At: a2, Floor: .2}} {
			starts := newSweeper().Sweep(r, c, 0.3)
			index := len(starts) - 1
			want := starts[index]
			wrongs, outs := 0, 0
			for range n {
				w, o := sample(random, r, c, starts, index)
				if w {
					wrongs++
				}
				if o {
					outs++
				}
			}
			for name, pair := range map[string][2]float64{
				"wrong": {float64(wrongs) / n, want.Wrong}, "out": {float64(outs) / n, want.Out},
			} {
				if limit := 5.5*math.Sqrt(pair[1]*(1-pair[1])/n) + 0.001; math.Abs(pair[0]-pair[1]) > limit {
					t.Errorf("step %v, cap %+v: %s %.4f sampled, %.4f computed", step, c, name, pair[0], pair[1])
				}
			}
		}
	}
}

// sample refines one ladder of the precisions in starts, from index to 0.
func sample(random *rand.Rand, r sweptRule, c sweptEnd, starts []swept, index int) (isWrong, isOut bool) {
	s := starts[index].S
	brownian := math.Sqrt(s) * random.NormFloat64()
	for {
		d := brownian / math.Sqrt(s)
		x := d + math.Sqrt(s)
		crossed := x >= r.Barrier() || index == 0 && c.Floor > 0
		if crossed || index == 0 {
			tolerance := math.Max(r.Relative, c.Floor) * math.Sqrt(s)
			return crossed && math.Abs(d) > tolerance, math.Abs(d) > r.Z()
		}
		index = max(index-r.Jump(x), 0)
		next := starts[index].S
		brownian += math.Sqrt(next-s) * random.NormFloat64()
		s = next
	}
}

func TestSolveFindsTheGreatest(t *testing.T) {
	for _, guess := range []float64{0.3, 0.7, 0.98} {
		x := solve(guess, func(x float64) float64 { return x * x / 0.49 })
		if x > 0.7 || x < 0.696 {
			t.Errorf("from %v: %v, want just below 0.7", guess, x)
		}
	}
}
