package continual

import (
	"math"
	"math/big"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/internal/base/numbers/rounding"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/state/units"
)

// Account tracks one user's admitted contributions to one stream of counts and keeps them within a
// budget; see the package comment. An update takes time proportional to the number of contributions
// so far, times the number of remaining steps (Root) or the logarithm of the total number of steps
// (Tree). An Account is not safe for concurrent use.
type Account struct {
	matrix   Matrix
	sigma    float64
	budget   int128.Uint // limit on ‖C·Δ‖², in Unit²
	spent    int128.Uint
	total    uint64
	admitted []Contribution
}

// NewAccount returns the account of a user who has contributed nothing. sigma, from 2^-20 to 2^20,
// is the standard deviation of the noise on the counts for a sensitivity of 1. The budget is a μ
// above 0 and at most 2^20 (see conversion.GDPWithin). The error is a *units.RangeError.
func NewAccount(m Matrix, sigma float64, budget loss.GDP) (*Account, error) {
	if err := checkSigma(sigma); err != nil {
		return nil, err
	}
	if !(budget.Mu > 0 && budget.Mu <= 0x1p20) {
		return nil, &units.RangeError{Parameter: "mu", Value: budget.Mu, Range: "above 0 and at most 2^20"}
	}
	exact := new(big.Float).SetPrec(256).SetFloat64(budget.Mu)
	exact.Mul(exact, big.NewFloat(sigma))
	exact.Mul(exact, big.NewFloat(m.Unit()))
	exact.Mul(exact, exact)
	whole, _ := exact.Int(nil) // rounded down
	a := &Account{matrix: m, sigma: sigma, budget: int128.Max}
	if squared, ok := int128.FromBig(whole); ok {
		a.budget = squared
	}
	return a, nil
}

func checkSigma(sigma float64) error {
	return units.Require(sigma >= 0x1p-20 && sigma <= 0x1p20, "sigma", sigma, "from 2^-20 to 2^20")
}

// Spend admits a contribution and charges it. If it does not fit, the error is
// accounting.ErrExceeded, and the user must be left out of that step. The error is a
// *units.RangeError if the step does not exist or is before the step of an earlier contribution, or
// if the user's total would exceed MaxContributed. If there is an error, nothing has changed.
func (a *Account) Spend(c Contribution) error {
	switch last := len(a.admitted) - 1; {
	case c.Step < 0 || c.Step >= a.matrix.Steps():
		return &units.RangeError{Parameter: "step", Value: float64(c.Step), Range: "the number of a step, from 0"}
	case last >= 0 && c.Step < a.admitted[last].Step:
		return &units.RangeError{Parameter: "step", Value: float64(c.Step),
			Range: "not before the step of an earlier contribution"}
	case a.total+uint64(c.Count) > MaxContributed:
		return &units.RangeError{Parameter: "count", Value: float64(c.Count), Range: "at most 2^20 in all for a user"}
	case c.Count == 0:
		return nil
	}
	increase := a.matrix.increase(a.admitted, c)
	if !fixed.Fits(a.budget, a.spent, int128.Uint{}, increase) {
		return accounting.ErrExceeded
	}
	a.spent, _ = a.spent.Add(increase)
	a.total += uint64(c.Count)
	a.admitted = append(a.admitted, c)
	return nil
}

// Spent returns ‖C·Δ‖/σ over everything admitted, rounded up. This is the user's loss from the
// entire stream if nothing more is admitted.
func (a *Account) Spent() loss.GDP {
	squared := rounding.SumUp(rounding.ProductUp(rounding.IntegerUp(a.spent.Hi), 0x1p64),
		rounding.IntegerUp(a.spent.Lo))
	return loss.GDP{Mu: rounding.QuotientUp(rounding.QuotientUp(rounding.RootUp(squared), a.sigma), a.matrix.Unit())}
}

// Admitted returns a copy of the admitted contributions, which are the complete state of an
// account. Spending them in the same order gives an equal account.
func (a *Account) Admitted() []Contribution { return slices.Clone(a.admitted) }

// Price returns the μ, rounded up, of a user with the given contributions, which must be in
// ascending order of steps. The error is a *units.RangeError, as for NewAccount and Spend.
func Price(m Matrix, sigma float64, contributions []Contribution) (loss.GDP, error) {
	if err := checkSigma(sigma); err != nil {
		return loss.GDP{}, err
	}
	a := &Account{matrix: m, sigma: sigma, budget: int128.Max}
	for _, c := range contributions {
		if err := a.Spend(c); err != nil {
			return loss.GDP{Mu: math.Inf(1)}, err
		}
	}
	return a.Spent(), nil
}
