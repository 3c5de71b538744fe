package filters

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// The setting of Section 6: one step of gradient descent per epoch, with noise σ·C.
const (
	groupSigma, groupClip   = 10.61, 0.79
	groupEpsilon, groupBase = 2.75, 1e-5
	groupSize               = 1000
	filtersFrom, trainsFor  = 50, 100
)

// group is a set of users whose gradients shrink at the same rate.
type group struct {
	name  string
	first float64 // median norm at the beginning, in clips
	lasts float64 // number of epochs in which the norm shrinks by a factor of e
}

// groupsOf lists the paper's groups by diagnosis, with synthetic norms. The gradients of users who
// are easy to predict shrink sooner.
var groupsOf = []group{
	{"no condition", 1.2, 25},
	{"without pneumonia", 1.6, 60},
	{"with pneumonia", 3, 150},
	{"without heart attack", 1.6, 70},
	{"with heart attack", 3.5, 200},
}

func groups(ctx context.Context, o experiment.Options) (*experiment.Result, error) {
	size := groupSize
	if o.Size == experiment.Small {
		size = 50
	}
	budget := experiment.Must(conversion.GDPWithin(loss.Approx{Epsilon: groupEpsilon, Delta: groupBase}))
	per := experiment.Must(accounting.NewGaussian(budget.Mu))
	accounts := experiment.Must(accounting.NewPerUser[int](accounting.ForRound, per))
	paid := 0
	for account := per.Fresh(); account.Spend(loss.GDP{Mu: 1 / groupSigma}) == nil; paid++ {
	}
	norms := make([][]float64, len(groupsOf)*size) // by user and epoch, in clips
	for user := range norms {
		g, random := groupsOf[user/size], o.Random("group", user)
		scale := math.Exp(0.5 * random.NormFloat64())
		for epoch := range trainsFor {
			norms[user] = append(norms[user], min(1, g.first*scale*math.Exp(-float64(epoch)/g.lasts)))
		}
	}
	active := make([][]int, len(groupsOf)) // by group and epoch
	before := make([]float64, len(groupsOf))
	mean := func(group int) (sum float64) {
		for user := group * size; user < (group+1)*size; user++ {
			sum += experiment.Must(conversion.GDPToEpsilon(accounts.Spent(user), groupBase)) / float64(size)
		}
		return sum
	}
	for epoch := range trainsFor {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		o.ReportProgress(epoch, trainsFor, "epochs")
		if epoch == filtersFrom {
			for i := range before {
				before[i] = mean(i)
			}
		}
		round, err := accounts.Round(func(yield func(int, loss.GDP) bool) {
			for user := range norms {
				if !yield(user, loss.GDP{Mu: norms[user][epoch] / groupSigma}) {
					return
				}
			}
		})
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller names the experiment
		}
		counts := make([]int, len(groupsOf))
		for _, user := range round.Users {
			counts[user/size]++
		}
		for i := range active {
			active[i] = append(active[i], counts[i])
		}
	}
	return groupResult(size, paid, math.Sqrt(filtersFrom)/budget.Mu, mean, before, active)
}

func groupResult(size, paid int, sigma float64, mean func(int) float64, before []float64,
	active [][]int) (*experiment.Result, error) {
	start := experiment.Table{
		Title: "When the filter begins to leave users out: σ = 10.61, (ε, δ) = (2.75, 1e-5)",
		Columns: []experiment.Column{{Name: ""}, {Name: "paper", Digits: 3}, {Name: "measured", Digits: 3},
			{Name: "deviation", Digits: 3}},
		Rows: [][]any{
			{"epochs that a user with clipped gradients can pay", filtersFrom, paid, paid - filtersFrom},
			{"σ with which 50 epochs fit exactly", groupSigma, sigma, sigma - groupSigma},
		},
		Note: "The paper rounds σ (\"≈\").",
	}
	table := experiment.Table{
		Title: fmt.Sprintf("Groups of %d users: mean ε before the filter (epoch %d) and at the end (epoch %d), and "+
			"how many still take part", size, filtersFrom, trainsFor),
		Columns: []experiment.Column{{Name: "group"}, {Name: "ε before", Digits: 3}, {Name: "ε at the end", Digits: 3},
			{Name: fmt.Sprintf("active in epoch %d", filtersFrom+1)}, {Name: "active at the end"}},
		Note: "The paper's groups are from MIMIC-III, which must not be passed on, and its values are in figures. " +
			"The norms here are made up.",
	}
	figure := experiment.Figure{Title: "Users who take part", X: "epoch", Y: "users"}
	var all []float64
	for i, g := range groupsOf {
		end := mean(i)
		all = append(all, before[i], end)
		table.Rows = append(table.Rows, []any{g.name, before[i], end, active[i][filtersFrom], active[i][trainsFor-1]})
		line := experiment.Series{Name: g.name}
		for epoch, n := range active[i] {
			line.Add(float64(epoch+1), float64(n))
		}
		figure.Series = append(figure.Series, line)
	}
	if slices.Max(all) > groupEpsilon*(1+1e-9) {
		return nil, errors.New("a group has spent more than its budget")
	}
	return &experiment.Result{
		Tables: []experiment.Table{start, table}, Figures: []experiment.Figure{figure},
		Notes: []string{"Filtering brings the groups' mean ε closer together, as in the paper, because users with " +
			"small gradients continue. The effect on accuracy is not reproduced, because that requires the data."},
	}, nil
}
