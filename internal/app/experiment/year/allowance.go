package year

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/units"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
	"github.com/tollgate-dp/tollgate/transforms/spend"
)

// visit is a day on which a user has events, one for each of the first n keys.
type visit struct {
	user int32
	keys [2]int8
	n    int8
}

// visitsOf returns the visits by day.
func (y *year) visitsOf(events []Event) [][]visit {
	all := make([][]visit, y.days)
	for i := 0; i < len(events); {
		e, v := events[i], visit{user: int32(events[i].User)}
		for ; i < len(events) && events[i].User == e.User && events[i].Day == e.Day; i, v.n = i+1, v.n+1 {
			v.keys[v.n] = int8(events[i].Key)
		}
		all[e.Day] = append(all[e.Day], v)
	}
	return all
}

// walk is one simulation of a deployment.
type walk struct {
	budget    budgets.Budget
	allowance accounts.Allowance // in days instead of milliseconds
	plan      *noisereduction.Plan

	purses  []spend.Purse // by user
	filler  spend.Filler
	random  *rand.Rand
	second  byte // decides which of two keys counts if only one of them counts
	counted []uint64
}

func (y *year) walk(s setting, path int) *walk {
	b := experiment.Must(budgets.NewBudget(Epsilon, Delta, budgets.GDP, 0))
	ladder := noisereduction.Spec{Kind: noisereduction.Adaptive,
		Target: noisereduction.Target{Absolute: s.noise, Relative: s.within / 100, Confidence: 0.95}}
	ladder.Top = experiment.Must(noisereduction.TopFor(ladder))
	if ladder.First = ladder.Top; s.within > 0 {
		ladder.First = experiment.Must(units.PrecisionFromFloat(ladder.Top.Float()*0x1p-24, units.RoundDown))
	}
	burst := units.Mu2(s.burst * float64(b.Mu2))
	return &walk{budget: b, allowance: accounts.Allowance{Burst: burst, Refill: b.Mu2 - burst, Horizon: int64(y.days)},
		plan: experiment.Must(noisereduction.Compile(ladder)), purses: make([]spend.Purse, y.users),
		random: y.options.Random(y.Name, path)}
}

func (w *walk) rank(key int) (rank [16]byte) {
	rank[0] = byte(key) ^ w.second
	return rank
}

// day simulates a day. It returns the sum of absolute errors, the events, and the counted events.
func (w *walk) day(day int, visits []visit) (wrong, truth, counted float64, err error) {
	var real, counts [Keys]float64
	elapsed, wanted, rank := int64(day)+1, []uint64{1, 1}, w.rank // a method value is allocated
	w.counted = w.counted[:0]
	for _, v := range visits {
		left := w.purses[v.user].Left(w.budget, &w.allowance, elapsed)
		w.second = byte(w.random.IntN(2))
		taken := w.filler.Fill(wanted[:v.n], left, w.plan.Top(), rank)
		w.counted = append(w.counted, taken...)
		for i, key := range v.keys[:v.n] {
			real[key]++
			counts[key] += float64(taken[i])
		}
	}
	var price [Keys]units.Mu2
	for key, n := range counts {
		out := w.plan.Imitate(n, w.random.NormFloat64)
		price[key], _ = units.Charge(1, out.Precision)
		wrong += math.Abs(n + out.Error - real[key])
		truth, counted = truth+real[key], counted+n
	}
	rest := w.counted
	for _, v := range visits {
		var cost units.Mu2
		for i, key := range v.keys[:v.n] {
			cost += units.Mu2(rest[i]) * price[key]
		}
		rest = rest[v.n:]
		if err := w.purses[v.user].Pay(w.budget, &w.allowance, elapsed, cost); err != nil {
			return 0, 0, 0, err
		}
	}
	return wrong, truth, counted, nil
}

// account simulates a deployment with an allowance. It returns the mean error of each day over a
// number of simulations (paths), and the percentage of events beyond the allowances.
func (y *year) account(ctx context.Context, days [][]visit, s setting, paths int) (errors []float64, beyond float64,
	err error) {
	errors = make([]float64, len(days))
	all, within := 0.0, 0.0
	for path := range paths {
		w := y.walk(s, path)
		for day, visits := range days {
			wrong, truth, counted, err := w.day(day, visits)
			if err != nil {
				return nil, 0, err
			}
			errors[day] += 100 * wrong / truth / float64(paths)
			all, within = all+truth, within+counted
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, err //nolint:wrapcheck // the error of the context
		}
	}
	return errors, 100 * (1 - within/all), nil
}
