package reference

// Refusal tells which budgets had too little left for a metric window: B², whose test counts what
// is reserved, and the δ of private keys.
type Refusal struct{ Budget, Keys bool }

// Refusals count the metric windows that were refused, for a user, by reason, each once.
type Refusals struct{ ByBudget, ByKeys, ByBoth int }

// Add adds another count.
func (r *Refusals) Add(more Refusals) {
	r.ByBudget, r.ByKeys, r.ByBoth = r.ByBudget+more.ByBudget, r.ByKeys+more.ByKeys, r.ByBoth+more.ByBoth
}

func (r *Refusals) count(one Refusal) {
	switch one {
	case Refusal{Budget: true}:
		r.ByBudget++
	case Refusal{Keys: true}:
		r.ByKeys++
	case Refusal{Budget: true, Keys: true}:
		r.ByBoth++
	}
}

// Refusals counts what was refused to everybody, and the individuals at both edges: those to whom
// each budget refused something that the other one had room for, or both refused the same.
func (o Output) Refusals() (all Refusals, atBothEdges int) {
	for _, decisions := range o.Admitted {
		var own Refusals
		for _, d := range decisions {
			own.count(d.Refusal)
		}
		all.Add(own)
		if own.ByBoth > 0 || own.ByBudget > 0 && own.ByKeys > 0 {
			atBothEdges++
		}
	}
	return all, atBothEdges
}
