package budgets

import "fmt"

// RaisedError says which part of a budget would rise where accounts go on under
// another one.
type RaisedError struct {
	Parameter string // "epsilon", "delta", "delta_keys", or "mu2" for B²
	From, To  float64
}

func (e *RaisedError) Error() string {
	return fmt.Sprintf("%s would rise from %v to %v, and no part of a budget may rise while its accounts go on",
		e.Parameter, e.From, e.To)
}

// CheckNext returns nil if accounts that were checked against b may be checked against next
// from now on, however that was decided and from whatever was released: if none of ε, δ,
// δ_keys and B² rises. Else it returns a *RaisedError for the first of them that does.
//
// That each budget keeps its own promise is not enough. Outputs choose in which of
// them a user ends, and what may fail in one adds to what may fail in the other: B² at
// no δ_keys, then δ_keys = 0.9·δ at a lower B², comes to 1.9·δ. As B² is the greatest at
// δ − δ_keys, any rise of δ_keys breaks the promise of b, also a rise back to what it was before b:
// users who came under b were promised b.
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
