package budgets

import (
	"cmp"
	"fmt"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/search"
	"github.com/tollgate-dp/tollgate/state/units"
)

const (
	// MaxEpsilon is the largest ε of a budget or a conversion.
	MaxEpsilon = 1e6
	// MinDelta is the smallest δ of a budget or a conversion.
	MinDelta = 1e-300
)

// Budget is the limit against which every account of a deployment is checked.
type Budget struct {
	Epsilon, Delta float64 // the promise: (ε, δ)
	Accountant     Accountant
	Mu2            units.Mu2   // B², the limit on the sum of an account's spent and reserved loss
	Keys           units.Delta // δ_keys, the part of Delta for private keys; 0 without private keys
	// Planned is the part of the promise that was spent beforehand. Mu2 and Keys do not include it.
	Planned Planned
}

// NewBudget returns the budget of an (ε, δ) promise, 0 < ε ≤ MaxEpsilon and MinDelta ≤ δ < 1.
// deltaKeys is the part of δ for private keys: 0, or 2^-80 ≤ deltaKeys < δ. It is rounded down to
// units of 2^-80.
//
// B² is the greatest number of units whose δ at ε, rounded up, is at most δ − deltaKeys. Both parts
// together are (ε, δ)-DP: if keys that only one user has are released with probability at most δ_k,
// and everything else has the curve δ_a, everything is (ε, δ_k + (1 − δ_k)·δ_a(ε))-DP.
//
// The error is a *units.RangeError or an *UnknownAccountantError.
func NewBudget(epsilon, delta float64, a Accountant, deltaKeys float64) (Budget, error) {
	if err := cmp.Or(checkEpsilon(epsilon), CheckDelta(delta), a.check()); err != nil {
		return Budget{}, err
	}
	if !(deltaKeys >= 0 && deltaKeys < delta) {
		return Budget{}, &units.RangeError{Parameter: "delta_keys", Value: deltaKeys,
			Range: fmt.Sprintf("at least 0 and below delta (%v)", delta)}
	}
	keys, err := units.DeltaFromFloat(deltaKeys)
	if err != nil {
		return Budget{}, fmt.Errorf("setting aside delta_keys: %w", err)
	}
	if deltaKeys > 0 && keys.IsZero() {
		return Budget{}, &units.RangeError{Parameter: "delta_keys", Value: deltaKeys,
			Range: "0 or at least 2^-80 (8.3e-25)"}
	}
	target := bigmath.Zero().Sub(bigmath.New(delta), bigmath.New(deltaKeys))
	mu2 := largestMu2(epsilon, target, a)
	if mu2 == 0 {
		return Budget{}, &units.RangeError{Parameter: "epsilon", Value: epsilon,
			Range: fmt.Sprintf("large enough for one unit of budget (2^-40) at delta %v; raise epsilon or delta",
				delta)}
	}
	return Budget{Epsilon: epsilon, Delta: delta, Accountant: a, Mu2: mu2, Keys: keys}, nil
}

// largestMu2 returns the greatest m whose δ at epsilon, rounded up, is at most target. δ increases
// with m and is 0 at m = 0. The exact search starts from a float64 estimate.
func largestMu2(epsilon float64, target *big.Float, a Accountant) units.Mu2 {
	exceeds := func(m units.Mu2) bool {
		return deltaUpper(bigFromMu2(m), epsilon, a).Cmp(target) > 0
	}
	if !exceeds(units.MaxMu2) {
		return units.MaxMu2
	}
	goal, _ := target.Float64()
	mu, _ := nearZeroOf(0x1p-20, 0x1p12, math.Log(goal), true, func(mu float64) float64 {
		return logDelta(mu, epsilon, a)
	})
	start := uint64(min(mu*mu*0x1p40, 0x1p63))
	return units.Mu2(search.Least(0, uint64(units.MaxMu2), start, func(m uint64) bool {
		return exceeds(units.Mu2(m))
	}) - 1)
}

// DeltaOf returns the δ at ε of a user who spent m, rounded up. If ε is negative or NaN, or the
// accountant is unknown, it returns 1, which promises nothing.
func DeltaOf(m units.Mu2, epsilon float64, a Accountant) float64 {
	if !(epsilon >= 0) || !a.Known() {
		return 1
	}
	return bigmath.RoundUp(deltaUpper(bigFromMu2(m), epsilon, a))
}

// EpsilonOf returns the least ε ≥ 0, rounded up, at which a user who spent m has a δ of at most
// delta. If delta is outside [MinDelta, 1), or the accountant is unknown, it returns +Inf, which
// promises nothing.
func EpsilonOf(m units.Mu2, delta float64, a Accountant) float64 {
	if CheckDelta(delta) != nil || !a.Known() {
		return math.Inf(1)
	}
	return epsilonUpper(bigFromMu2(m), delta, a)
}

// epsilonUpper returns the least float64 ε in [0, hugeEpsilon) whose δ, rounded up, is at most
// delta. It returns +Inf if there is none.
func epsilonUpper(mu2 *big.Float, delta float64, a Accountant) float64 {
	target := bigmath.New(delta)
	deltaAt := func(epsilon float64) *big.Float { return deltaUpper(mu2, epsilon, a) }
	if deltaAt(0).Cmp(target) <= 0 {
		return 0
	}
	m2, _ := mu2.Float64()
	log := func(epsilon float64) float64 { return logDelta(math.Sqrt(m2), epsilon, a) }
	if epsilon := leastFloat(0, hugeEpsilon, target, false, log, deltaAt); epsilon < hugeEpsilon {
		return epsilon
	}
	return math.Inf(1)
}

// ReleasesBeforeRefusal returns the number of releases with standard deviation sigma that an
// account can pay for if its user contributes C = contribution to each of them: ⌊B²/⌈C²·u(σ)⌉⌋ in
// account units. The error is a *units.RangeError unless 2^-23 ≤ sigma ≤ 2^40 and contribution > 0.
func ReleasesBeforeRefusal(b Budget, sigma float64, contribution uint64) (uint64, error) {
	if contribution == 0 {
		return 0, &units.RangeError{Parameter: "contribution", Value: 0, Range: "at least 1"}
	}
	u, err := units.PrecisionFromSigma(sigma)
	if err != nil {
		return 0, err
	}
	charge, ok := units.Charge(contribution, u)
	if !ok {
		return 0, nil
	}
	return uint64(b.Mu2 / charge), nil
}

func checkEpsilon(epsilon float64) error {
	return units.Require(epsilon > 0 && epsilon <= MaxEpsilon, "epsilon", epsilon, "above 0 and at most 1e6")
}

// CheckDelta returns a *units.RangeError unless MinDelta ≤ delta < 1.
func CheckDelta(delta float64) error {
	return units.Require(delta >= MinDelta && delta < 1, "delta", delta, "at least 1e-300 and below 1")
}
