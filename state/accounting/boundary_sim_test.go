package accounting_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
)

// falseReject is the probability that a test that counts events of probability at most δ fails
// although the code is correct.
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

// An adversary who stops a noise reduction as soon as its realised loss is beyond the mixture
// succeeds with probability at most δ, and on a fine ladder with nearly δ on both sides together.
// The ladder here costs a quarter of that (it misses excursions between rungs): 0.7·δ is asked for.
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
	b := must.Have(accounting.NewMixtureFor(delta, 9))
	psi := make([][]float64, 1)
	for _, u := range precisions {
		psi[0] = append(psi[0], must.Have(b.At(sensitivity, 1/u)).Epsilon)
	}
	for _, neighbour := range []float64{count - sensitivity, count + sensitivity} {
		rng := rand.New(runseed.PCG(t, 5, uint64(neighbour)))
		oneSided, twoSided := 0, 0
		for range runs {
			above, below := stop(rng, count, neighbour, precisions, psi)
			if above[0] {
				oneSided++
			}
			if above[0] || below[0] {
				twoSided++
			}
		}
		ceiling := binomialCeiling(runs, delta)
		t.Logf("neighbour %v: of %d runs %d above ψ, %d that far on either side; δ allows %d (false reject %g)",
			neighbour, runs, oneSided, twoSided, ceiling, falseReject)
		if twoSided > ceiling || twoSided < binomialFloor(runs, 0.7*delta) {
			t.Errorf("neighbour %v: exceeded on either side in %d of %d runs, want at most δ = %v, and 0.7 of it",
				neighbour, twoSided, runs, delta)
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
		t.Errorf("only %d of %d runs exceed a bound that is not uniform over stops: the adversary is too weak",
			exceeded, runs)
	}
}
