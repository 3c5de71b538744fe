package descent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// The setting of Koskela, Tobaben and Honkela, Appendix E. Every account pays for 50 epochs of one
// step each. Training then continues until epoch 100 with the examples that can still pay.
const paidEpochs, lastEpoch = 50, 100

// filtered is a row of the table: a value of ε, and the clip as a multiple of the tuned clip.
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
		"The paper's records are those of MIMIC-III, which must not be passed on. Only the comparison of clips " +
			"carries over, not the paper's values, which it shows in figures. The model is the logistic model of " +
			"descent-census, with its tuned clip and rate.",
	}}
	if found == nil {
		found, r.Notes = census(o, train, test), append(r.Notes, adultData.Missing())
	}
	columns := []experiment.Column{{Name: "ε", Digits: 2}, {Name: "clip over the tuned one", Digits: 1}}
	table := experiment.Table{
		Title: fmt.Sprintf("Figures 6, 9 and 10: filtered gradient descent on %s, δ = 1e-5", found.name),
		Columns: slices.Concat(columns,
			experiment.Columns(4, "AUC, epoch 50", "AUC, epoch 100", "active in epoch 51", "active at the end")),
		Note: "AUC is the area under the ROC curve on the test set; active is the share of the examples that can " +
			"still pay. One trial.",
	}
	losses := experiment.Table{
		Title: "Figures 7 and 8: share of the examples by their own ε after 50 epochs, in tenths of the budget",
		Columns: slices.Concat(columns,
			experiment.Columns(3, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")),
	}
	auc := experiment.Figure{Title: "Figures 6, 9 and 10, left", X: "epoch", Y: "AUC"}
	active := experiment.Figure{Title: "Figures 6, 9 and 10, right", X: "epoch", Y: "% of the examples"}
	for i, f := range clipped {
		name := fmt.Sprintf("ε = %v, clip %v", f.epsilon, f.clips)
		o.ReportProgress(i, len(clipped), name)
		area, share := experiment.Series{Name: name}, experiment.Series{Name: name}
		tenths, err := f.run(ctx, found, o, &area, &share)
		if err != nil {
			return nil, err
		}
		table.Rows = append(table.Rows, []any{f.epsilon, f.clips, area.Y[paidEpochs-1], area.Y[lastEpoch-1],
			share.Y[paidEpochs-1] / 100, share.Y[lastEpoch-1] / 100})
		losses.Rows = append(losses.Rows, append([]any{f.epsilon, f.clips}, tenths...))
		auc.Series, active.Series = append(auc.Series, area), append(active.Series, share)
	}
	r.Tables, r.Figures = []experiment.Table{table, losses}, []experiment.Figure{auc, active}
	return r, nil
}

// run trains until the last epoch. It adds a point per epoch to the curves of AUC and of active
// examples, and returns the shares of the examples by individual ε.
func (f filtered) run(ctx context.Context, d *dataset, o experiment.Options, area,
	share *experiment.Series) (tenths []any, err error) {
	within := func(tenths float64) float64 { // the μ that corresponds to a number of tenths of ε
		return experiment.Must(conversion.GDPWithin(loss.Approx{Epsilon: f.epsilon * tenths / 10, Delta: delta})).Mu
	}
	tuned := ofCensus.models[0].tuning
	start := setting{math.Sqrt(paidEpochs) / within(10), tuned.clip * f.clips, tuned.rate, paidEpochs}
	logistic := model{"logistic", d.inputs, d.classes, 0, false}
	training := newDescent(logistic, start, d.train, o.Random("clips", d.name, f))
	n := float64(len(training.accounts))
	for epoch := 1; epoch <= lastEpoch; epoch++ {
		if err := training.run(ctx, 1); err != nil {
			return nil, err
		}
		area.Add(float64(epoch), training.model.area(training.theta, d.test))
		share.Add(float64(epoch), 100*(float64(training.active())/n))
		if epoch != paidEpochs {
			continue
		}
		below := 0.0
		for tenth := 1; tenth <= 10; tenth++ {
			most, paid := math.Pow(within(float64(tenth))*start.sigma, 2), 0.0
			for _, a := range training.accounts {
				if tenth == 10 || float64(a.Spent())/unit <= most {
					paid += 1 / n
				}
			}
			tenths, below = append(tenths, paid-below), paid
		}
	}
	return tenths, nil
}

// area returns the area under the ROC curve: the probability that an example of class 1 has a
// higher score than an example of class 0.
func (m model) area(theta []float64, d part) float64 {
	w := m.newWork(len(d.classes))
	m.forward(w, theta, d.x)
	order := make([]int, len(d.classes))
	for i := range order {
		order[i] = i
	}
	score := func(i int) float64 { return row(w.outputs, i)[1] - row(w.outputs, i)[0] }
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(score(i), score(j)) })
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
