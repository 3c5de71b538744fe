package conversion

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// minRho and maxRho are the limits of the ρ that package budgets converts.
const (
	minRho = budgets.MinMu * budgets.MinMu / 2
	maxRho = budgets.MaxMu * budgets.MaxMu / 2
)

func checkEpsilon(epsilon float64) error {
	return units.Require(epsilon >= 0 && epsilon <= budgets.MaxEpsilon, "epsilon", epsilon,
		"at least 0 and at most 1e6")
}

// positive returns ε or, for 0, the least positive float64, because package budgets converts only
// positive ε. The result is still an upper bound: δ(0) − δ(5e-324) ≤ 5e-324·max(1, α−1) is below a
// relative 2^-900 for every convertible μ, and package budgets adds a relative 2^-140.
func positive(epsilon float64) float64 { return max(epsilon, math.SmallestNonzeroFloat64) }
