package budgets

import (
	"fmt"
	"math/big"

	"github.com/tollgate-dp/tollgate/state/units"
)

// Planned is the part of a promise that was spent before a deployment was started, to choose bounds
// from the same users' data (internal/app/plan/choice). The zero value means none.
type Planned struct {
	Share float64     // requested share of B² and of δ_keys
	Mu2   units.Mu2   // spent part of B²
	Keys  units.Delta // spent part of δ_keys
}

// Plan returns the budget with a planned part: a share of B² and of δ_keys, rounded down, that is
// set aside for choosing bounds. The rest is rounded up, so that both parts add up to b. A share of
// 0 sets nothing aside. The error is a *units.RangeError if share is outside [0, 1) or less than
// one unit of B², and another error if b already has a planned part.
func (b Budget) Plan(share float64) (Budget, error) {
	if b.Planned != (Planned{}) {
		return Budget{}, fmt.Errorf("setting aside %v of a budget: %v is already set aside", share, b.Planned.Share)
	}
	if !(share >= 0 && share < 1) {
		return Budget{}, &units.RangeError{Parameter: "share", Value: share, Range: "at least 0 and below 1"}
	}
	if share == 0 {
		return b, nil
	}
	planned := func(v *big.Int) *big.Int {
		part := new(big.Rat).SetFloat64(share)
		part.Mul(part, new(big.Rat).SetInt(v))
		return new(big.Int).Quo(part.Num(), part.Denom())
	}
	mu2 := units.Mu2(planned(new(big.Int).SetUint64(uint64(b.Mu2))).Uint64())
	if mu2 == 0 || mu2 == b.Mu2 {
		return Budget{}, &units.RangeError{Parameter: "share", Value: share,
			Range: "at least one unit (2^-40) of the budget, and less than all of it"}
	}
	keys, err := units.DeltaFromBig(planned(b.Keys.Big()))
	if err != nil {
		return Budget{}, fmt.Errorf("setting aside %v of δ_keys: %w", share, err)
	}
	b.Planned = Planned{Share: share, Mu2: mu2, Keys: keys}
	b.Mu2 -= mu2
	b.Keys, _ = b.Keys.Sub(keys)
	return b, nil
}

// Whole returns the budget from which Plan has set a part aside.
func (b Budget) Whole() Budget {
	b.Mu2 += b.Planned.Mu2
	b.Keys, _ = b.Keys.Add(b.Planned.Keys)
	b.Planned = Planned{}
	return b
}
