package descent

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// The setting of Koskela, Tobaben and Honkela, Appendix E: every account pays for 50 epochs of a
// step each, and training goes on to epoch 100 with those who can still pay.
const paidEpochs, lastEpoch = 50, 100

// filtered is a row: an ε, and the clip in multiples of the tuned one.
type filtered struct{ epsilon, clips float64 }

var clipped = []filtered{{2.75, 0.5}, {2.75, 1}, {2.75, 2}, {2.75, 5}, {0.5, 1}, {10, 1}}

func clips(ctx context.Context, o experiment.Options) (*experiment.Result, error) {
	train, test := 32_561, 16_281
	if o.Size == experiment.Small {
		train, test = 4000, 2000
	}
	found, err := adult(o)
	if err != nil {
		return nil, err
	}
	r := &experiment.Result{Notes: []string{
		"The paper's records are those of MIMIC-III, which may not be passed on: only the comparison of clips " +
			"carries " +
			"over, not its values, which are in figures. The model is the logistic one of descent-census, with its " +
			"tuned clip and rate.",
	}}
	if found == nil {
		found, r.Notes = census(o, train, test), append(r.Notes, adultData.Missing())
	}
	table := experiment.Table{
		Title: fmt.Sprintf("Figures 6, 9 and 10: filtered gradient descent on %s, δ = 1e-5", found.name),
		Columns: append([]experiment.Column{{Name: "ε", Digits: 2}, {Name: "clip over the tuned one", Digits: 1}},
			experiment.Columns(4, "AUC, epoch 50", "AUC, epoch 100", "active in epoch 51", "active at the end")...),
		Note: "AUC is the area under the ROC curve on the test set; active is the share of the examples that can " +
			"still pay. One trial.",
	}
	losses := experiment.Table{
		Title: "Figures 7 and 8: share of the examples by their own ε after 50 epochs, in tenths of the budget",
		Columns: append([]experiment.Column{{Name: "ε", Digits: 2}, {Name: "clip over the tuned one", Digits: 1}},
			experiment.Columns(3, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")...),
	}
	auc := experiment.Figure{Title: "Figures 6, 9 and 10, left", X: "epoch", Y: "AUC"}
	active := experiment.Figure{Title: "Figures 6, 9 and 10, right", X: "epoch", Y: "% of the examples"}
	for i, f := range clipped {
		o.Tell(i, len(clipped), fmt.Sprintf("ε = %v, clip %v", f.epsilon, f.clips))
		row, tenths, lines, err := f.run(ctx, found, o)
		if err != nil {
			return nil, err
		}
		table.Rows, losses.Rows = append(table.Rows, row), append(losses.Rows, tenths)
		auc.Series, active.Series = append(auc.Series, lines[0]), append(active.Series, lines[1])
	}
	r.Tables, r.Figures = []experiment.Table{table, losses}, []experiment.Figure{auc, active}
	return r, nil
}

// run trains to the last epoch. It returns a row of each table, and AUC and active by epoch.
func (f filtered) run(ctx context.Context, d *dataset, o experiment.Options) (row, tenths []any,
	lines [2]experiment.Series, err error) {
	budget, err := conversion.GDPWithin(loss.Approx{Epsilon: f.epsilon, Delta: delta})
	if err != nil {
		return nil, nil, lines, err //nolint:wrapcheck // constants
	}
	tuned := ofCensus.models[0].tuning
	at := setting{math.Sqrt(paidEpochs) / budget.Mu, tuned.clip * f.clips, tuned.rate, paidEpochs}
	going, err := newDescent(model{"logistic", d.inputs, d.classes, 0, false}, at, d.train, o.Random("clips", d.name,
		f))
	if err != nil {
		return nil, nil, lines, err
	}
	name := fmt.Sprintf("ε = %v, clip %v", f.epsilon, f.clips)
	lines[0].Name, lines[1].Name = name, name
	row, tenths = []any{f.epsilon, f.clips}, []any{f.epsilon, f.clips}
	n := float64(len(going.accounts))
	for epoch := 1; epoch <= lastEpoch; epoch++ {
		if err := going.run(ctx, 1); err != nil {
			return nil, nil, lines, err
		}
		share := float64(going.active()) / n
		lines[0].X, lines[0].Y = append(lines[0].X, float64(epoch)), append(lines[0].Y, going.model.area(going.theta,
			d.test))
		lines[1].X, lines[1].Y = append(lines[1].X, float64(epoch)), append(lines[1].Y, 100*share)
		if epoch != paidEpochs {
			continue
		}
		below := 0.0
		for tenth := 1; tenth <= 10; tenth++ {
			up, err := conversion.GDPWithin(loss.Approx{Epsilon: f.epsilon * float64(tenth) / 10, Delta: delta})
			if err != nil {
				return nil, nil, lines, err //nolint:wrapcheck // constants
			}
			within := 0.0
			for _, a := range going.accounts {
				if tenth == 10 || float64(a.Spent())/unit <= math.Pow(up.Mu*at.sigma, 2) {
					within += 1 / n
				}
			}
			tenths, below = append(tenths, within-below), within
		}
	}
	area, share := lines[0].Y, lines[1].Y
	row = append(row, area[paidEpochs-1], area[lastEpoch-1], share[paidEpochs-1]/100, share[lastEpoch-1]/100)
	return row, tenths, lines, nil
}

// area returns the area under the ROC curve of two classes: the probability that an example of
// class 1 scores higher than one of class 0.
func (m model) area(theta []float64, d part) float64 {
	w := m.newWork(len(d.classes))
	m.forward(w, theta, d.x)
	order := make([]int, len(d.classes))
	score := func(i int) float64 { return row(w.outputs, i)[1] - row(w.outputs, i)[0] }
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if score(i) < score(j) {
			return -1
		}
		return 1
	})
	below, pairs := 0, 0
	for _, i := range order {
		if d.classes[i] == 0 {
			below++
		} else {
			pairs += below
		}
	}
	return float64(pairs) / float64(below*(len(order)-below))
}
