package changes

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// budgetDifferences compares the budget in force, h, with want. No part may rise: see
// docs/guarantee.md, "Several budgets", for the proof and the cost of a rise.
func budgetDifferences(h, want *budgets.Budget) []Difference {
	if h.Accountant != want.Accountant || h.Whole() == want.Whole() {
		return nil
	}
	what, never, oldKeys, newKeys := "the budget (epsilon, delta, delta_keys)", "", keysText(h), keysText(want)
	raised, rises := errors.AsType[*budgets.RaisedError](h.CheckNext(*want))
	switch {
	case !rises && h.Keys != want.Keys:
		what = fmt.Sprintf("%s, of which delta_keys falls from %s to %s and can never rise again", what, oldKeys,
			newKeys)
	case !rises:
	case raised.Parameter == "delta_keys" && h.Keys.IsZero():
		what, never = "delta_keys", fmt.Sprintf("it would be %s, but the deployment has reserved nothing, so you "+
			"cannot add metrics with private keys: both together would be more than delta. Leave such metrics out, or "+
			"begin a new deployment with new keys that reserves privacy.delta_keys from the start", newKeys)
	case raised.Parameter == "delta_keys":
		what, never = "delta_keys", fmt.Sprintf("it would be %s, but the deployment has reserved %s, which never "+
			"rises: write privacy.delta_keys: %[2]s (without it: a tenth of delta if a metric has private keys), or "+
			"begin a new deployment with new keys", newKeys, oldKeys)
	case raised.Parameter == "mu2":
		what, never = "delta_keys", fmt.Sprintf("it would fall from %s to %s, and what a user may spend would rise "+
			"with it, which weakens the promise: write privacy.delta_keys: %[1]s (without it: a tenth of delta if a "+
			"metric has private keys, else 0)", oldKeys, newKeys)
	default:
		never = fmt.Sprintf("%s would rise from %v to %v; a promise can be made stronger, never weaker",
			raised.Parameter, raised.From, raised.To)
	}
	return []Difference{{What: what, Never: never, Values: onlyDiffering([]Value{
		value("privacy.epsilon", h.Epsilon, want.Epsilon), value("privacy.delta", h.Delta, want.Delta),
		value("privacy.delta_keys", oldKeys, newKeys),
	})}}
}

// keysText returns δ_keys as in a configuration: the shortest number that gives budget b.
func keysText(b *budgets.Budget) string {
	whole := b.Whole() // a configuration contains the whole promise
	b = &whole
	for digits := 1; digits < 17; digits++ {
		text := strconv.FormatFloat(b.Keys.Float(), 'g', digits, 64)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		if keys, err := units.DeltaFromFloat(value); err != nil || keys != b.Keys {
			continue
		}
		if parsed, err := budgets.NewBudget(b.Epsilon, b.Delta, b.Accountant, value); err == nil && parsed == *b {
			return text
		}
	}
	return strconv.FormatFloat(b.Keys.Float(), 'g', -1, 64)
}
