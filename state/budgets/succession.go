package budgets

import (
	"fmt"
	"math/big"

	"github.com/tollgate-dp/tollgate/state/internal/bigmath"
	"github.com/tollgate-dp/tollgate/state/units"
)

// RaisedError says which part of a budget would rise where accounts go on under
// another one.
type RaisedError struct {
	Parameter string // "epsilon", "delta", "delta_keys", or "mu2" for B²
	From, To  float64
}

func (e *RaisedError) Error() string {
	return fmt.Sprintf("%s would rise from %v to %v, and no part of a budget may rise while its accounts go on", e.Parameter, e.From, e.To)
}

// CheckNext returns nil if accounts that were checked against b may be checked against next
// from now on, however that was decided and from whatever was released: if none of ε, δ,
// δ_keys and B² rises. Else it returns a *RaisedError for the first of them that does.
//
// That each budget keeps its own promise is not enough. Outputs choose in which of
// them a user ends, and what may fail in one adds to what may fail in the other: B² at
// no δ_keys, then δ_keys = 0.9·δ at a lower B², comes to 1.9·δ. DeltaOver says to how
// much. As B² is the greatest at δ − δ_keys, any rise of δ_keys breaks the promise of b,
// also a rise back to what it was before b: users who came under b were promised b.
func (b Budget) CheckNext(next Budget) error {
	switch {
	case next.Epsilon > b.Epsilon:
		return &RaisedError{"epsilon", b.Epsilon, next.Epsilon}
	case next.Delta > b.Delta:
		return &RaisedError{"delta", b.Delta, next.Delta}
	case next.Keys.Cmp(b.Keys) > 0:
		return &RaisedError{"delta_keys", b.Keys.Float(), next.Keys.Float()}
	case next.Mu2 > b.Mu2:
		return &RaisedError{"mu2", b.Mu2.Float(), next.Mu2.Float()}
	}
	return nil
}

// DeltaOver returns the δ at ε of accounts each of which was checked against one of the budgets at
// every admission, rounded up: δ of the largest B², and the largest δ_keys, each with what was
// planned. It is true in whatever order the budgets follow each other, and also if they are chosen
// from what was released: along every path Spent + Reserved stays within the largest B², and the
// probabilities with which private keys may show add up to at most the largest δ_keys. Without
// budgets it is 0; for an invalid ε or an unknown accountant it is 1.
func DeltaOver(epsilon float64, a Accountant, budgets ...Budget) float64 {
	if !(epsilon >= 0) || !a.Known() {
		return 1
	}
	var mu2 units.Mu2
	var keys units.Delta
	for _, b := range budgets {
		b = b.Whole()
		mu2 = max(mu2, b.Mu2)
		if b.Keys.Cmp(keys) > 0 {
			keys = b.Keys
		}
	}
	sum := bigmath.Up().Add(deltaUpper(bigFromMu2(mu2), epsilon, a), bigFromDelta(keys))
	return min(1, bigmath.RoundUp(sum))
}

// bigFromDelta returns a δ exactly.
func bigFromDelta(d units.Delta) *big.Float {
	x := bigmath.Zero().SetInt(d.Big())
	return x.SetMantExp(x, -units.FinestBits)
}
