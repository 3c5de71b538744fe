package year

import (
	"context"
	"fmt"
	"slices"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
)

// Experiments returns the experiment of the package.
func Experiments() []experiment.Experiment {
	return []experiment.Experiment{{
		Name:   "year",
		Title:  "A year of daily counts under one promise",
		Source: "this product, and what people do without it",
		Run:    run,
	}}
}

func run(ctx context.Context, o experiment.Options) (*experiment.Result, error) {
	days, paths, part := 365, 10, 1
	if o.Size == experiment.Small {
		days, paths, part = 120, 2, 20
	}
	out := &experiment.Result{Notes: []string{
		"Each method has the setting with the least mean error that the same search found: how many keys of a user " +
			"count in a day, and for how many days a budget pays; or the finest noise, the burst of the allowance " +
			"and, with noise reduction, the target.",
		"A divided promise pays for every day of every user: a user who comes twice a year has paid for 365 days.",
	}}
	all := Populations()
	for i, p := range all {
		y := &year{Population: p, users: p.Users / part, days: days, paths: paths, options: o}
		y.options.Progress = func(done, total int, what string) {
			o.ReportProgress(i*total+done, len(all)*total, p.Name+": "+what)
		}
		if err := y.run(ctx, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// year is the experiment for one population.
type year struct {
	Population
	users, days, paths int
	options            experiment.Options
}

// setting holds the parameters of a method. Unused parameters are 0.
type setting struct {
	keys   float64 // number of a user's keys that count in a day
	days   float64 // number of days that a budget pays for
	noise  float64 // finest noise: half-width in events at 95% confidence
	burst  float64 // part of an account that is available at the start
	within float64 // target of noise reduction: relative error in %
}

// method is a way to keep the promise, with the grid of its settings.
type method struct {
	name   string
	grid   grid
	errors func(ctx context.Context, s setting, paths int) (errors []float64, beyond float64, err error)
}

func (y *year) methods(events []Event) []method {
	capped := func(_ context.Context, s setting, _ int) ([]float64, float64, error) {
		errors, beyond := y.capped(events, int(s.days), int(s.keys))
		return errors, beyond, nil
	}
	days := y.visitsOf(events)
	account := func(ctx context.Context, s setting, paths int) ([]float64, float64, error) {
		return y.account(ctx, days, s, paths)
	}
	keys, all, none := []float64{1, 2}, float64(y.days), []float64{0}
	lives := []float64{5, 10, 20, 30, 40, 60, 80, 120, 160, 200, 250}
	lives = append(slices.DeleteFunc(lives, func(n float64) bool { return n >= all }), all)
	noise := []float64{20, 25, 30, 40, 50, 60, 70, 80, 100, 120, 150, 200, 250}
	bursts := []float64{0.1, 0.25, 0.5, 0.75, 1}
	return []method{
		{"promise divided by days (Privacy on Beam, a job a day)", grid{keys, {all}, none, none, none}, capped},
		{"cap on the paid days of a user", grid{keys, lives, none, none, none}, capped},
		{"account for every user, without allowance", grid{none, none, noise, {1}, none}, account},
		{"account with an allowance (Tollgate)", grid{none, none, noise, bursts, none}, account},
		{"allowance and noise reduction (Tollgate)", grid{none, none, noise, bursts, {3, 5, 7, 10, 15, 20, 30, 50}},
			account},
	}
}

func (y *year) run(ctx context.Context, to *experiment.Result) error {
	events := y.Events(y.options.Random(y.Name), y.users, y.days)
	shown := []int{1, 10, 100, y.days}
	columns := append([]experiment.Column{{Name: "method"}}, experiment.Columns(0, "keys", "days", "noise ±")...)
	columns = append(columns, experiment.Column{Name: "burst", Digits: 2}, experiment.Column{Name: "within %"})
	for _, day := range shown {
		columns = append(columns, experiment.Column{Name: fmt.Sprintf("day %d", day), Digits: 1})
	}
	table := experiment.Table{
		Title: fmt.Sprintf("%s: error of a day's counts in %% of its events, and what is left out (%d users, %d "+
			"events, %d keys; ε = %d and δ = %v for all %d days together)",
			y.Name, y.users, len(events), Keys, Epsilon, Delta, y.days),
		Columns: append(columns, experiment.Columns(1, "mean", "% of events left out")...),
		Note: "The error is relative to all events, so it includes events that are left out because they are beyond " +
			"the caps or the allowances. keys, days, noise, burst and within %: the setting that the search found.",
	}
	wrong := experiment.Figure{Title: y.Name + ": error of a day's counts", X: "day", Y: "% of the day's events",
		LogY: true}
	methods := y.methods(events)
	for i, m := range methods {
		y.options.ReportProgress(i, len(methods), m.name)
		best, err := m.grid.search(func(p []float64) (float64, error) {
			errors, _, err := m.errors(ctx, settingOf(p), 1)
			return mean(errors), err
		})
		if err != nil {
			return err
		}
		errors, beyond, err := m.errors(ctx, settingOf(best), y.paths)
		if err != nil {
			return err
		}
		row := []any{m.name}
		for field, v := range best {
			switch {
			case v == 0:
				row = append(row, nil)
			case field == 3: // the burst
				row = append(row, v)
			default:
				row = append(row, int(v))
			}
		}
		for _, day := range shown {
			row = append(row, errors[day-1])
		}
		table.Rows = append(table.Rows, append(row, mean(errors), beyond))
		curve := experiment.Series{Name: m.name}
		for day, size := range errors {
			curve.Add(float64(day+1), size)
		}
		wrong.Series = append(wrong.Series, curve)
	}
	to.Tables, to.Figures = append(to.Tables, table), append(to.Figures, wrong)
	return nil
}

func mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

func settingOf(p []float64) setting { return setting{p[0], p[1], p[2], p[3], p[4]} }
