package conversion

import (
	"math"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// minRho and maxRho bound the ρ that package budgets converts.
const (
	minRho = budgets.MinMu * budgets.MinMu / 2
	maxRho = budgets.MaxMu * budgets.MaxMu / 2
)

func checkEpsilon(epsilon float64) error {
	return units.Require(epsilon >= 0 && epsilon <= budgets.MaxEpsilon, "epsilon", epsilon,
		"at least 0 and at most 1e6")
}

// positive returns ε for package budgets, which converts positive ones only: the
// least positive float64 for 0. With δ(ε) an upper bound computed there,
// δ(0) − δ(5e-324) ≤ 5e-324·max(1, α−1) is a part below 2^-900 of it for every μ that
// is converted, and the bound is 2^-140 of itself too high.
func positive(epsilon float64) float64 {
	return max(epsilon, math.SmallestNonzeroFloat64)
}
