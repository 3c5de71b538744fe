package odometer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/odometer"
)

// falseReject is the probability with which a test of this package that counts
// events of probability at most δ fails although all is well.
const falseReject = 1e-9

// binomialCeiling returns the least c with P(Bin(n, p) > c) ≤ falseReject.
func binomialCeiling(n int, p float64) int {
	logTerm := float64(n) * math.Log1p(-p)
	below := math.Exp(logTerm)
	for c := 0; c < n; c++ {
		if 1-below <= falseReject {
			return c
		}
		logTerm += math.Log(float64(n-c)/float64(c+1)) + math.Log(p) - math.Log1p(-p)
		below += math.Exp(logTerm)
	}
	return n
}

// binomialFloor returns the greatest c with P(Bin(n, p) < c) ≤ falseReject.
func binomialFloor(n int, p float64) int {
	logTerm, below := float64(n)*math.Log1p(-p), 0.0
	for c := 0; c < n; c++ {
		if below += math.Exp(logTerm); below > falseReject {
			return c
		}
		logTerm += math.Log(float64(n-c)/float64(c+1)) + math.Log(p) - math.Log1p(-p)
	}
	return n
}

// stop makes one run of a Brownian mechanism on a ladder of precisions, with an
// adversary who knows both candidate inputs and sees every rung: it returns for
// every boundary whether there was a rung at which to stop with a realised loss
// above it, and one as far on the other side of the mean loss.
//
// The loss is that of everything shown, from the densities of the increments, not
// from the last estimate.
func stop(rng *rand.Rand, count, neighbour float64, precisions []float64, psi [][]float64) (above, below []bool) {
	above, below = make([]bool, len(psi)), make([]bool, len(psi))
	realised, previous := 0.0, 0.0
	for k, u := range precisions {
		step := u - previous
		previous = u
		y := count + rng.NormFloat64()/math.Sqrt(step)
		realised += step / 2 * ((y-neighbour)*(y-neighbour) - (y-count)*(y-count))
		for i := range psi {
			above[i] = above[i] || realised > psi[i][k]
			below[i] = below[i] || realised < u*(count-neighbour)*(count-neighbour)-psi[i][k]
		}
	}
	return above, below
}

// ladder returns precisions from first to top by a factor.
func ladder(first, top, factor float64) []float64 {
	var precisions []float64
	for u := first; u <= top; u *= factor {
		precisions = append(precisions, u)
	}
	return precisions
}

// An adversary who stops a noise reduction whenever its realised loss is beyond the
// boundary succeeds with probability at most δ, and does so nearly as often on a
// fine ladder: for the linear boundary with probability δ itself in the limit, for
// the mixture with δ on both sides together. The ladder here costs a quarter of that
// (it misses excursions between rungs): 0.7·δ is asked for.
func TestBoundariesHoldAgainstAdversarialStops(t *testing.T) {
	const (
		delta       = 0.05
		sensitivity = 3.0
		count       = 1000.0
	)
	runs := 30000
	if !long.On() {
		runs = 4000
	}
	precisions := ladder(1e-5/9, 1e4/9, 1.03)
	boundaries := []odometer.Boundary{
		must(odometer.NewLinearFor(delta, 9)),
		must(odometer.NewLinearFor(delta, 0.9)),
		must(odometer.NewMixtureFor(delta, 9)),
	}
	psi := make([][]float64, len(boundaries))
	for i, b := range boundaries {
		for _, u := range precisions {
			psi[i] = append(psi[i], must(b.At(sensitivity, 1/u)).Epsilon)
		}
	}
	for _, c := range []struct {
		name      string
		neighbour float64
	}{
		{"removed", count - sensitivity},
		{"added", count + sensitivity},
	} {
		rng := rand.New(runseed.PCG(t, 5, uint64(c.neighbour)))
		oneSided, twoSided := make([]int, len(psi)), make([]int, len(psi))
		for range runs {
			above, below := stop(rng, count, c.neighbour, precisions, psi)
			for i := range psi {
				if above[i] {
					oneSided[i]++
				}
				if above[i] || below[i] {
					twoSided[i]++
				}
			}
		}
		ceiling := binomialCeiling(runs, delta)
		t.Logf("%s: of %d runs above ψ_L(T=9), ψ_L(T=0.9), ψ_M: %v; that far on either side: %v; δ allows %d (false reject %g)",
			c.name, runs, oneSided, twoSided, ceiling, falseReject)
		for i, n := range oneSided {
			if n > ceiling {
				t.Errorf("%s: boundary %d is exceeded in %d of %d runs, more than δ = %v allows", c.name, i, n, runs, delta)
			}
		}
		if n := twoSided[2]; n > ceiling {
			t.Errorf("%s: the mixture is exceeded on either side in %d of %d runs, more than δ = %v allows", c.name, n, runs, delta)
		}
		for i, n := range []int{oneSided[0], oneSided[1], twoSided[2]} {
			if n < binomialFloor(runs, 0.7*delta) {
				t.Errorf("%s: boundary %d is exceeded in %d of %d runs only, too few for 0.7·δ: the attack does not bite", c.name, i, n, runs)
			}
		}
	}
}

// The bound of one variance alone, ρ + 2√(ρ·ln(1/δ)) at whatever variance the run
// stopped, is not an ex-post bound: the same adversary exceeds it far more often than δ.
func TestBoundOfTheStoppedVarianceAloneIsExceeded(t *testing.T) {
	const delta = 0.05
	const runs = 4000
	precisions := ladder(1e-5, 1e4, 1.03)
	naive := make([]float64, len(precisions))
	for k, u := range precisions {
		rho := u / 2
		naive[k] = rho + 2*math.Sqrt(-rho*math.Log(delta))
	}
	rng := rand.New(runseed.PCG(t, 7, 7))
	exceeded := 0
	for range runs {
		if above, _ := stop(rng, 0, -1, precisions, [][]float64{naive}); above[0] {
			exceeded++
		}
	}
	t.Logf("exceeded in %d of %d runs, δ allows %d", exceeded, runs, binomialCeiling(runs, delta))
	if exceeded <= binomialCeiling(runs, delta) {
		t.Errorf("only %d of %d runs exceed a bound that is not uniform over stops: the adversary is too weak", exceeded, runs)
	}
}

// Between two rungs the realised loss is a Brownian bridge, and the linear boundary
// is a straight line in the precision: the probability that it is crossed there has
// a closed form, e^(−2·gap·gap/variance). With it the probability of ever being
// above the boundary is seen to be δ, from below and from above.
func TestLinearBoundaryGivesNothingAway(t *testing.T) {
	const delta = 0.05
	runs := 20000
	if !long.On() {
		runs = 4000
	}
	precisions := ladder(1e-4, 1e4, 1.1)
	b := must(odometer.NewLinearFor(delta, 1))
	rng := rand.New(runseed.PCG(t, 11, 11))
	crossed := 0
	for range runs {
		centred, previous := 0.0, 0.0 // loss minus its mean u/2, whose variance is u
		line := func(u float64) float64 { return must(b.At(1, 1/u)).Epsilon - u/2 }
		gap := line(1e-30)
		for _, u := range precisions {
			centred += rng.NormFloat64() * math.Sqrt(u-previous)
			next := line(u) - centred
			if next < 0 || rng.Float64() < math.Exp(-2*gap*next/(u-previous)) {
				crossed++
				break
			}
			gap, previous = next, u
		}
	}
	least := binomialFloor(runs, delta)
	t.Logf("crossed in %d of %d runs; a probability of %v gives between %d and %d (false reject %g each)",
		crossed, runs, delta, least, binomialCeiling(runs, delta), falseReject)
	if crossed > binomialCeiling(runs, delta) || crossed < least {
		t.Errorf("crossed in %d of %d runs, want a probability of %v", crossed, runs, delta)
	}
}
