package filters

import (
	"context"
	"fmt"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
)

// The setting of Figures 3 to 5: steps of noise σ for gradients of norm 1.
const (
	stepSigma, stepDelta = 100, 1e-5
	rdpSteps             = 420
)

func steps(_ context.Context, o experiment.Options) (*experiment.Result, error) {
	one, err := units.PrecisionFromSigma(stepSigma)
	if err != nil {
		return nil, err //nolint:wrapcheck // a constant
	}
	// epsilonOf is ε of so many steps.
	epsilonOf := func(k uint64, a budgets.Accountant) float64 {
		cost, _ := units.Charge(1, one)
		return budgets.EpsilonOf(cost*units.Mu2(k), stepDelta, a)
	}
	most := func(epsilon float64, a budgets.Accountant) (int, error) {
		budget, err := budgets.NewBudget(epsilon, stepDelta, a, 0)
		if err != nil {
			return 0, err //nolint:wrapcheck // constants
		}
		n, err := budgets.ReleasesBeforeRefusal(budget, stepSigma, 1)
		return int(n), err //nolint:wrapcheck // constants
	}
	byRDP, byGDP := epsilonOf(rdpSteps, budgets.ZCDP), epsilonOf(rdpSteps, budgets.GDP)
	same, err := most(byRDP, budgets.GDP)
	if err != nil {
		return nil, err
	}
	atSame := experiment.Table{
		Title:   "Figure 3: the private gradient descent of Feldman and Zrnic, σ = 100, δ = 1e-5",
		Columns: append([]experiment.Column{{Name: ""}}, experiment.Columns(4, "paper", "measured", "deviation")...),
		Rows: [][]any{
			{"ε of 420 steps by RDP", 0.8, byRDP, byRDP - 0.8},
			{"ε of 420 steps by GDP", nil, byGDP, nil},
			{"ε by GDP over ε by RDP", 0.9, byGDP / byRDP, byGDP/byRDP - 0.9},
			{"steps by GDP at the ε of RDP", 495, same, same - 495},
		},
		Note: "The paper rounds: 0.8 and \"roughly 10 percent smaller\".",
	}
	bySteps := experiment.Figure{Title: "Figure 4: ε after so many steps", X: "steps", Y: "ε"}
	byEpsilon := experiment.Figure{Title: "Figure 5: steps that fit ε", X: "ε", Y: "steps"}
	admitted := experiment.Table{
		Title: "Figure 5: steps that fit, σ = 100, δ = 1e-5",
		Columns: []experiment.Column{{Name: "ε", Digits: 1}, {Name: "GDP"}, {Name: "RDP"}, {Name: "GDP over RDP",
			Digits: 3}},
		Note: "The paper has this as curves without values in its text. RDP is the conversion of Canonne, Kamath " +
			"and Steinke with the best order.",
	}
	accountants := []struct {
		name string
		by   budgets.Accountant
	}{{"GDP", budgets.GDP}, {"RDP", budgets.ZCDP}}
	curves := make([]experiment.Series, 2*len(accountants))
	points, top := 40, uint64(1000)
	if o.Size == experiment.Small {
		points = 10
	}
	for i, a := range accountants {
		curves[i].Name, curves[i+len(accountants)].Name = a.name, a.name
		for j := 1; j <= points; j++ {
			k := top * uint64(j) / uint64(points)
			curves[i].X, curves[i].Y = append(curves[i].X, float64(k)), append(curves[i].Y, epsilonOf(k, a.by))
			epsilon := float64(j) / float64(points)
			n, err := most(epsilon, a.by)
			if err != nil {
				return nil, err
			}
			c := &curves[i+len(accountants)]
			c.X, c.Y = append(c.X, epsilon), append(c.Y, float64(n))
		}
	}
	bySteps.Series, byEpsilon.Series = curves[:len(accountants)], curves[len(accountants):]
	for _, epsilon := range []float64{0.2, 0.4, 0.6, 0.8, 1} {
		row := []any{epsilon}
		for _, a := range accountants {
			n, err := most(epsilon, a.by)
			if err != nil {
				return nil, err
			}
			row = append(row, n)
		}
		admitted.Rows = append(admitted.Rows, append(row, float64(row[1].(int))/float64(row[2].(int))))
	}
	return &experiment.Result{
		Tables: []experiment.Table{atSame, admitted}, Figures: []experiment.Figure{bySteps, byEpsilon},
		Notes: []string{fmt.Sprintf("Nothing is random here. %d steps at ε = %.4f: a filter that adds up μ² admits "+
			"them, whatever chose them; see state/accounting.", same, byRDP)},
	}, nil
}
