package budgets

import "fmt"

// RaisedError names a part of a budget that would rise if accounts continued under another.
type RaisedError struct {
	Parameter string // "epsilon", "delta", "delta_keys", or "mu2" for B²
	From, To  float64
}

func (e *RaisedError) Error() string {
	return fmt.Sprintf("%s would rise from %v to %v, but no part of a budget may rise while its accounts continue",
		e.Parameter, e.From, e.To)
}

// CheckNext returns nil if accounts that were checked against b may from now on be checked against
// next, even if this decision depends on releases. That is so if none of ε, δ, δ_keys and B² rises.
// Otherwise CheckNext returns a *RaisedError for the first part that rises.
//
// It is not enough that each budget keeps its own promise. Outputs choose under which budget a user
// ends, and the failure probabilities of both add up: B² without δ_keys, followed by δ_keys = 0.9·δ
// at a lower B², amounts to 1.9·δ. As B² is the greatest at δ − δ_keys, any rise of δ_keys, even
// back to an earlier value, breaks the promise to users who joined under b.
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
