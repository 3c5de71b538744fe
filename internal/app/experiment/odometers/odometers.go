package odometers

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/loss"
)

const (
	epsilon = 0.01 // ε of one randomised response
	delta   = 0.01
	grid    = 1000 // n of the advanced odometer
)

// Experiments returns the experiment of the package.
func Experiments() []experiment.Experiment {
	return []experiment.Experiment{{
		Name:   "odometers",
		Title:  "What it costs not to know how long one goes on",
		Source: "Rogers, Roth, Ullman and Vadhan 2016, Theorems 6.1 and 6.2",
		Run:    run,
	}}
}

// claim is a bound on the realised loss.
type claim struct {
	name  string
	bound []float64 // by step, from 0
}

// claimsOf returns the claims with their bounds after every step: composition of fixed length
// first, then the odometers, and basic composition last.
func claimsOf(w walk) ([]claim, error) {
	advanced := experiment.Must(accounting.NewAdvancedOdometer(delta, grid))
	// The mixture is tuned to Σρ at the last horizon.
	rho := epsilon * epsilon / 2
	concentrated := experiment.Must(accounting.NewConcentratedOdometer(delta, rho*float64(w.steps)))
	out := []claim{{name: "composition of fixed length"}, {name: "advanced odometer (Theorem 6.2)"},
		{name: "concentrated odometer (mixture)"}, {name: "basic composition"}}
	for k := range w.steps + 1 {
		if k > 0 {
			err1, err2 := advanced.Record(loss.Approx{Epsilon: epsilon}), concentrated.Record(loss.ZCDP{Rho: rho})
			if err := errors.Join(err1, err2); err != nil {
				return nil, err
			}
		}
		for i, bound := range []float64{w.composed(k, delta), advanced.Bound().Epsilon, concentrated.Bound().Epsilon,
			float64(k) * epsilon} {
			out[i].bound = append(out[i].bound, bound)
		}
	}
	return out, nil
}

func run(ctx context.Context, o experiment.Options) (*experiment.Result, error) {
	horizons := []int{100, 1_000, 10_000, 100_000}
	if o.Size == experiment.Small {
		horizons = horizons[:3]
	}
	w := walk{epsilon, horizons[len(horizons)-1]}
	claims, err := claimsOf(w)
	if err != nil {
		return nil, err
	}
	columns := []experiment.Column{{Name: "claim"}}
	for _, k := range horizons {
		columns = append(columns, experiment.Column{Name: fmt.Sprintf("%d steps", k), Digits: 4})
	}
	wins := experiment.Table{
		Title: fmt.Sprintf("Probability that an adversary who may stop at any step ends above the claim (randomised "+
			"response of ε = %v, claims for δ = %v)", epsilon, delta),
		Columns: columns,
		Note: "The claim of fixed length holds at every step that is chosen beforehand, but not at the step that the " +
			"adversary chooses. Odometers stay below δ at every horizon.",
	}
	named, fixed := claims[:3], claims[0].bound
	for i, claim := range named {
		o.ReportProgress(i, len(named)+len(horizons), claim.name)
		p, err := w.exceeds(ctx, horizons, func(k int) float64 { return claim.bound[k] })
		if err != nil {
			return nil, err
		}
		row := []any{claim.name}
		for _, v := range p {
			row = append(row, v)
		}
		wins.Rows = append(wins.Rows, row)
	}
	cost := experiment.Table{
		Title:   "The price: a claim's distance from the mean loss, over that of composition of fixed length",
		Columns: append([]experiment.Column{{Name: "claim"}}, columns[1:]...),
		Note: "No claim of this shape with a value below the first row is valid up to that horizon: this is the " +
			"lower bound of Theorem 6.1, computed for this adversary. The last row is the order from the theorem's " +
			"proof.",
	}
	least, order := []any{"least that holds up to the horizon"}, []any{"√(ln(log₂(k)/δ)/ln(1/δ))"}
	needed := experiment.Series{Name: "least that holds up to the horizon"}
	for i, k := range horizons {
		o.ReportProgress(len(named)+i, len(named)+len(horizons), "the least valid claim")
		factor, err := w.factor(ctx, k, delta)
		if err != nil {
			return nil, err
		}
		least = append(least, factor)
		needed.Add(float64(k), factor)
		order = append(order, math.Sqrt(math.Log(math.Log2(float64(k))/delta)/math.Log(1/delta)))
	}
	cost.Rows = append(cost.Rows, least)
	over := experiment.Figure{Title: "What not knowing the horizon costs", X: "steps until the horizon",
		Y: "factor on the deviation", LogX: true, Series: []experiment.Series{needed}}
	for _, claim := range named[1:] {
		row := []any{claim.name}
		line := experiment.Series{Name: claim.name}
		for _, k := range horizons {
			factor := (claim.bound[k] - w.mean(k)) / (fixed[k] - w.mean(k))
			row = append(row, factor)
			line.Add(float64(k), factor)
		}
		cost.Rows = append(cost.Rows, row)
		over.Series = append(over.Series, line)
	}
	cost.Rows = append(cost.Rows, order)
	curves := experiment.Figure{Title: "Claims on the realised loss", X: "steps", Y: "ε", LogX: true, LogY: true}
	for _, claim := range claims {
		line := experiment.Series{Name: claim.name}
		for k := 1.0; int(k) <= w.steps; k *= 1.2 {
			line.Add(float64(int(k)), claim.bound[int(k)])
		}
		curves.Series = append(curves.Series, line)
	}
	return &experiment.Result{
		Tables: []experiment.Table{wins, cost}, Figures: []experiment.Figure{curves, over},
		Notes: []string{
			"Nothing is random here: the probabilities are those of a walk, computed step by step.",
			"If the number of releases is known, a filter or composition of fixed length is cheaper by the factor " +
				"above. With a δ as small as it should be, the difference shrinks, because ln(ln k/δ) is nearly " +
				"ln(1/δ).",
		},
	}, nil
}
