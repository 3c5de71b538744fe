package deployment

import "github.com/tollgate-dp/tollgate/state/budgets"

// setBudget computes the budget. It splits δ_keys, the part for private keys, off δ. If configured,
// it does so even without such keys: a change can add them only to a deployment that has reserved
// δ_keys from the start. [budgets.Budget.KeyDelta] then gives each key its part of δ_keys.
func setBudget(d *Deployment) error {
	p := &d.Config.Privacy
	private := false
	for i := range d.Config.Metrics {
		private = private || d.Config.Metrics[i].Keys.Mode == KeysPrivate
	}
	if private && p.DeltaKeys == 0 {
		p.DeltaKeys = p.Delta / 10
	}
	if p.DeltaKeys >= p.Delta && p.Delta > 0 {
		return Invalid("Privacy.DeltaKeys", "%v is not below δ, %v, of which it is a part: leave it out (a tenth of "+
			"δ), or write for example %v", p.DeltaKeys, p.Delta, p.Delta/10)
	}
	if p.DeltaKeys > 0 && p.DeltaKeys < 0x1p-80 && p.Delta < 1 {
		return Invalid("Privacy.Delta", "the part of it for private keys is %v, and must be at least 2^-80: raise δ, "+
			"for example %s", p.DeltaKeys, with("Privacy.Delta", 1e-6))
	}
	var err error
	d.Budget, err = budgets.NewBudget(p.Epsilon, p.Delta, budgets.Accountant(p.Accountant), p.DeltaKeys)
	if err != nil {
		return Invalid("Privacy", "%v", err)
	}
	if d.Budget, err = d.Budget.Plan(p.Planned); err != nil {
		return Invalid("Privacy.Planned", "%v", err)
	}
	return nil
}
