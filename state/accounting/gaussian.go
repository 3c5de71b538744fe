package accounting

import (
	"errors"
	"fmt"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// NewGaussian returns the Gaussian filter: squares of μ add (Koskela, Tobaben and Honkela, Theorem
// 12). Everything accepted together is μ-GDP with the budget's μ, 2^-40 ≤ μ < 2^24. The filter
// stores μ² without rounding: one loss of μ fits, and so do k losses of loss.GDP{Mu: μ}.Split(k) if
// each is at least 2^-52, which is the case for k ≤ 2^24. The error is a *units.RangeError.
//
// The theorem covers a run up to the first refusal. This filter may continue after a refusal, by
// Theorem 11 applied to the filtered mechanisms: a refused mechanism counts as a mechanism that
// releases nothing, so Σ μ² ≤ B² on every path.
func NewGaussian(mu float64) (*Filter[loss.GDP], error) {
	if err := checkMu(mu); err != nil {
		return nil, err
	}
	return newGaussian(fixed.SquareDown(mu)), nil
}

// NewGaussianFor returns a Gaussian filter with the greatest μ² that (ε, δ) permits
// (budgets.LargestSquare). The error is a *units.RangeError unless LargestSquare accepts ε and δ,
// and they permit a μ of at least 2^-40.
func NewGaussianFor(budget loss.Approx) (*Filter[loss.GDP], error) {
	square, err := budgets.LargestSquare(budget.Epsilon, budget.Delta, budgets.GDP)
	if err != nil {
		return nil, err
	}
	limit := fixed.BigDown(square)
	if err := checkMu(limit.Root()); err != nil {
		return nil, fmt.Errorf("making a Gaussian filter for (%v, %v): %w", budget.Epsilon, budget.Delta, err)
	}
	return newGaussian(limit), nil
}

// NewGaussianSquare returns the Gaussian filter with exactly the given B², in the units of package
// accounts. That may be the B² of a budgets.Budget or the rest of an account. The error is a
// *units.RangeError unless B² is at least one unit (2^-40).
func NewGaussianSquare(budget units.Mu2) (*Filter[loss.GDP], error) {
	if err := units.Require(budget > 0, "mu²", budget.Float(), "at least 2^-40"); err != nil {
		return nil, err
	}
	return newGaussian(fixed.FromMu2(budget)), nil
}

// SpendSquare charges exactly the given μ², in the units of package accounts, so that an account
// and a Gaussian filter with the same budget accept the same charges. The error is ErrExceeded if
// μ² does not fit.
func SpendSquare(f *Filter[loss.GDP], square units.Mu2) error {
	if len(f.meters) == 0 || !f.meters[0].Admit(fixed.Spend, fixed.FromMu2(square)) {
		return ErrExceeded
	}
	return nil
}

// SpendRest charges l, or the rest of the budget if l does not fit. It returns the loss that the
// mechanism may have: l, or the greatest μ that the rest pays for, rounded down. In the second
// case, raise the mechanism's noise, or scale its contribution down, until its loss is that μ. The
// budget is then used up exactly, Σ μ² = B², and everything together is B-GDP and no better
// (Koskela, Tobaben and Honkela, Remark C.3; Feldman and Zrnic, Algorithm 7, clip gradients this
// way). The rest of a budget depends on the data of the individual whom the budget protects. With a
// filter per user, scale that user's contribution, not the noise. The error is ErrExceeded if
// nothing is left, or a *units.RangeError.
func SpendRest(f *Filter[loss.GDP], l loss.GDP) (loss.GDP, error) {
	err := f.Spend(l)
	if !errors.Is(err, ErrExceeded) {
		return l, err
	}
	rest := f.Left()
	if rest.Mu == 0 {
		return loss.GDP{}, err
	}
	f.meters[0].Admit(fixed.Spend, f.meters[0].Left())
	return rest, nil
}

func newGaussian(square fixed.Amount) *Filter[loss.GDP] {
	return newFilter("gdp", gaussianSums, []fixed.Amount{square})
}

func checkMu(mu float64) error {
	return units.Require(mu >= 0x1p-40 && mu < 0x1p24, "mu", mu, "at least 2^-40 (9.1e-13) and below 2^24")
}

// NewGaussianTotal returns an odometer whose bound is √Σμ² over everything recorded. For every B
// that is fixed in advance, all releases up to the last moment when the bound was at most B are
// B-GDP: this is the Gaussian filter with budget B (Koskela, Tobaben and Honkela, Theorem 11), for
// all B simultaneously. The bound is +Inf once the sum reaches 2^48.
func NewGaussianTotal() *Odometer[loss.GDP, loss.GDP] { return newTotal("gdp total", gaussianSums, 1) }
