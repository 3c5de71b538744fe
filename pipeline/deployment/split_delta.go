package deployment

import "github.com/tollgate-dp/tollgate/state/budgets"

// setBudget computes the budget. It sets aside δ_keys, the part of δ for private keys, if a metric
// has private keys or if δ_keys is configured. A change can add private keys only to a deployment
// that has reserved δ_keys from the start. [budgets.Budget.KeyDelta] then gives each key its part.
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
		return Invalid("Privacy.DeltaKeys", "%v is not below δ, %v, although it is a part of δ: leave it out (a tenth "+
			"of δ), or write for example %v", p.DeltaKeys, p.Delta, p.Delta/10)
	}
	if p.DeltaKeys > 0 && p.DeltaKeys < 0x1p-80 && p.Delta < 1 {
		return Invalid("Privacy.Delta", "the part of δ for private keys is %v, but must be at least 2^-80: raise δ, "+
			"for example %s", p.DeltaKeys, proposed("Privacy.Delta", 1e-6))
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
