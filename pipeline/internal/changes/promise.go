package changes

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// budgetDifferences compares the budget in force with another one. No part may rise.
// docs/guarantee.md, "Several budgets", has the proof, and the cost of a rise.
func budgetDifferences(h, want *budgets.Budget) []Difference {
	all := pointsOfBudget(h, want)
	for i := range all {
		all[i].Values = differing([]Value{
			value("privacy.epsilon", h.Epsilon, want.Epsilon), value("privacy.delta", h.Delta, want.Delta),
			value("privacy.delta_keys", keysText(h), keysText(want)),
		})
	}
	return all
}

func pointsOfBudget(h, want *budgets.Budget) []Difference {
	if h.Accountant != want.Accountant || h.Whole() == want.Whole() {
		return nil
	}
	const whole = "the budget (epsilon, delta, delta_keys)"
	var raised *budgets.RaisedError
	errors.As(h.CheckNext(*want), &raised)
	switch {
	case raised == nil && h.Keys != want.Keys:
		return []Difference{
			{What: fmt.Sprintf("%s, of which delta_keys falls from %s to %s and can never rise again", whole,
				keysText(h), keysText(want))}}
	case raised == nil:
		return []Difference{{What: whole}}
	case raised.Parameter == "delta_keys" && h.Keys.IsZero():
		return []Difference{
			{What: "delta_keys",
				Never: fmt.Sprintf("it would be %s and the deployment has reserved nothing, so that you cannot add "+
					"metrics with private keys: both together would be more than delta. Leave such metrics out, or "+
					"begin a new deployment with new keys that reserves privacy.delta_keys from the start",
					keysText(want))}}
	case raised.Parameter == "delta_keys":
		return []Difference{
			{What: "delta_keys",
				Never: fmt.Sprintf("it would be %s and the deployment has reserved %s, which never rises: "+
					"write privacy.delta_keys: %s (without it: a tenth of delta if a metric has private keys), or "+
					"begin a new deployment with new keys",
					keysText(want), keysText(h), keysText(h))}}
	case raised.Parameter == "mu2":
		return []Difference{
			{What: "delta_keys",
				Never: fmt.Sprintf("it would fall from %s to %s, and what a user may spend would rise with it, "+
					"which weakens the promise: write privacy.delta_keys: %s (without it: a tenth of delta if a "+
					"metric has private keys, else 0)",
					keysText(h), keysText(want), keysText(h))}}
	}
	return []Difference{
		{What: whole,
			Never: fmt.Sprintf("%s would rise from %v to %v; a promise can be made stronger, never weaker",
				raised.Parameter, raised.From, raised.To)}}
}

// keysText returns δ_keys as in a configuration: the shortest number that gives this budget.
func keysText(b *budgets.Budget) string {
	whole := b.Whole() // a configuration has the whole promise
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
		if again, err := budgets.NewBudget(b.Epsilon, b.Delta, b.Accountant, value); err == nil && again == *b {
			return text
		}
	}
	return strconv.FormatFloat(b.Keys.Float(), 'g', -1, 64)
}
