package accounting_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// runOutcome is one interaction with an adversary who knows both inputs.
type runOutcome struct {
	exceeded bool    // there was a moment with a realised loss above the bound
	naive    bool    // the same for a bound that is not an odometer, if there is one
	ratio    float64 // greatest realised loss over bound
}

func tally(t *testing.T, name string, runs int, delta float64, play func() runOutcome) (exceeded, naive int,
	quantile float64) {
	t.Helper()
	ratios := make([]float64, runs)
	for i := range ratios {
		o := play()
		ratios[i] = o.ratio
		if o.exceeded {
			exceeded++
		}
		if o.naive {
			naive++
		}
	}
	slices.Sort(ratios)
	quantile = ratios[runs-1-int(delta*float64(runs))]
	ceiling := binomialCeiling(runs, delta)
	t.Logf("%s: exceeded in %d of %d runs (δ allows %d, false reject %g); but for a share of δ the loss comes to %.2f "+
		"of the bound", name, exceeded, runs, ceiling, falseReject, quantile)
	if exceeded > ceiling {
		t.Errorf("%s: exceeded in %d of %d runs, more than δ = %v allows", name, exceeded, runs, delta)
	}
	return exceeded, naive, quantile
}

// Randomised response of a small ε, asked until the loss is above the bound. The advanced
// composition theorem of fixed length, read as if it were an odometer, is exceeded far more often
// than its δ (the heuristic that Rogers et al. warn of); the odometer is not: where its bound is
// below Σε, the loss exceeds a third of it, except in a share of δ of the runs.
func TestAdvancedOdometerHoldsWhereAdvancedCompositionDoesNot(t *testing.T) {
	const (
		delta   = 0.1
		epsilon = 0.02
		rounds  = 2500
	)
	runs := 3000
	if !long.On() {
		runs = 500
	}
	o := must.Have(accounting.NewAdvancedOdometer(delta, 1000))
	bounds, composed := make([]float64, rounds), make([]float64, rounds)
	for k := range rounds {
		record(o, loss.Approx{Epsilon: epsilon}, 1)
		bounds[k] = o.Bound().Epsilon
		n := float64(k + 1)
		composed[k] = n*epsilon*math.Tanh(epsilon/2) + epsilon*math.Sqrt(2*n*math.Log(1/delta))
	}
	truth := math.Exp(epsilon) / (1 + math.Exp(epsilon))
	rng := rand.New(runseed.PCG(t, 3, 3))
	_, naive, quantile := tally(t, "randomised response", runs, delta, func() (out runOutcome) {
		realised := 0.0
		for k := range rounds {
			if rng.Float64() < truth {
				realised += epsilon
			} else {
				realised -= epsilon
			}
			size := math.Abs(realised) * (1 - 1e-12) // 2500 roundings
			out.exceeded = out.exceeded || size > bounds[k]
			out.naive = out.naive || size > composed[k]
			if bounds[k] < 0.99*epsilon*float64(k+1) { // where Σε is not the bound
				out.ratio = math.Max(out.ratio, size/bounds[k])
			}
		}
		return out
	})
	t.Logf("fixed-length composition is exceeded in %d of %d runs", naive, runs)
	if naive <= binomialCeiling(runs, delta) {
		t.Errorf("fixed-length composition is exceeded in only %d of %d runs: the adversary is too weak", naive, runs)
	}
	if quantile < 1.0/3 {
		t.Errorf("the loss comes to %v of the bound only", quantile)
	}
}

// Gaussian mechanisms whose μ the adversary chooses from the loss so far: large
// steps while it is low, small ones near the bound, over seven orders of magnitude
// of Σρ. Both time-uniform odometers hold.
func TestTimeUniformOdometersHoldAgainstAdaptiveChoice(t *testing.T) {
	const delta = 0.05
	runs := 6000
	if !long.On() {
		runs = 800
	}
	orders := []float64{1.5, 2, 3, 5, 9, 17, 33}
	play := func(rng *rand.Rand, record func(rho float64) float64) (out runOutcome) {
		realised, spent, step := 0.0, 0.0, 1e-4
		for spent < 1e3 {
			realised += step + math.Sqrt(2*step)*rng.NormFloat64()
			spent += step
			bound := record(step)
			out.ratio = math.Max(out.ratio, realised/bound)
			if realised > bound {
				out.exceeded = true
				return out
			}
			gap := (bound - realised) / 6 // six deviations to the bound
			step = math.Max(spent*0.01, math.Min(spent*0.3, gap*gap/2))
		}
		return out
	}
	for name, fresh := range map[string]func() func(float64) float64{
		"Concentrated": func() func(float64) float64 {
			o := must.Have(accounting.NewConcentratedOdometer(delta, 0.1))
			return func(rho float64) float64 {
				if err := o.Record(loss.ZCDP{Rho: rho}); err != nil {
					t.Fatal(err)
				}
				return o.Bound().Epsilon
			}
		},
		"Renyi": func() func(float64) float64 {
			o := must.Have(accounting.NewRenyiOdometer(delta, orders))
			l := make(loss.RDP, len(orders))
			return func(rho float64) float64 {
				for i, alpha := range orders {
					l[i] = loss.Order{Alpha: alpha, Epsilon: rho * alpha}
				}
				if err := o.Record(l); err != nil {
					t.Fatal(err)
				}
				return o.Bound().Epsilon
			}
		},
	} {
		rng := rand.New(runseed.PCG(t, 9, 9))
		exceeded, _, _ := tally(t, name, runs, delta, func() runOutcome { return play(rng, fresh()) })
		// Concentrated has the normal mixture, which spends half of δ on the other side.
		if name == "Concentrated" && exceeded < binomialFloor(runs, 0.3*delta) {
			t.Errorf("%s: exceeded in %d of %d runs, too few for 0.3·δ: the attack does not bite", name, exceeded, runs)
		}
	}
}

// Theorem 3.3 of Rogers et al. (2016) is not true of the realised losses of (ε, δ)-private
// mechanisms: the Gaussian mechanism of μ = 1 is (1, δ)-private with δ = 0.126936737506644 (Balle
// and Wang, 2018, Theorem 8), and its loss, normal with mean 1/2 and variance 1, is outside ±1 with
// probability 0.3753. Hence basic odometers take point-wise losses only, and PointWise makes them.
func TestPrivateIsLessThanPointWise(t *testing.T) {
	const delta = 0.126936737506644
	above := 0.5 * math.Erfc(0.5/math.Sqrt2)
	below := 0.5 * math.Erfc(1.5/math.Sqrt2)
	if above+below < 2.9*delta {
		t.Fatalf("the loss is outside ±1 with probability %v", above+below)
	}
	for _, epsilon := range []float64{1.5, 2, 3, 4, 5} {
		l := must.Have(accounting.PointWise(loss.Approx{Epsilon: 1, Delta: delta}, epsilon))
		outside := 0.5*math.Erfc((epsilon-0.5)/math.Sqrt2) + 0.5*math.Erfc((epsilon+0.5)/math.Sqrt2)
		if l.Delta < outside {
			t.Errorf("ε′ = %v: δ′ = %v, but the loss is outside with probability %v", epsilon, l.Delta, outside)
		}
	}
}
