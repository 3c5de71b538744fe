package year

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// Experiments returns the experiment.
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
		"Each method has the setting with the least mean error that the same search found: how many keys of a user count in a day, for how many days a budget pays in the worst case, and with noise reduction the target.",
		"A promise that is divided pays for all days of all users: who comes twice a year has paid for 365. With the noise of a divided promise, an account leaves no user out. So a tuned account is never worse.",
	}}
	all := Populations()
	for i, p := range all {
		y := &year{Population: p, users: p.Users / part, days: days, paths: paths, options: o}
		y.options.Progress = func(done, of int, what string) { o.Tell(i*of+done, len(all)*of, p.Name+": "+what) }
		if err := y.run(ctx, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// year is that of one population.
type year struct {
	Population
	users, days, paths int
	options            experiment.Options
}

// method is a way to keep the promise. Its parameters are how many keys of a user count in a day,
// how many days a budget pays for in the worst case, and the relative error that noise reduction is
// asked for, in %; 0 for the same noise for all counts.
type method struct {
	name   string
	grid   grid
	errors func(ctx context.Context, point []float64, paths int) (errors, out []float64, err error)
}

func (y *year) methods(events []Event, w *sample.Windows) []method {
	capped := func(_ context.Context, p []float64, _ int) ([]float64, []float64, error) {
		return y.capped(events, int(p[1]), int(p[0]))
	}
	account := func(ctx context.Context, p []float64, paths int) ([]float64, []float64, error) {
		return y.account(ctx, w, p, paths)
	}
	keys, all, same := []float64{1, 2}, float64(y.days), []float64{0}
	lives := []float64{5, 10, 20, 30, 40, 60, 80, 120, 160, 200, 250}
	lives = append(slices.DeleteFunc(lives, func(n float64) bool { return n >= all }), all)
	return []method{
		{"promise divided by days (Privacy on Beam, a job a day)", grid{keys, {all}, same}, capped},
		{"cap on the paid days of a user", grid{keys, lives, same}, capped},
		{"account for every user, same noise for all counts", grid{keys, lives, same}, account},
		{"account for every user, noise reduction (Tollgate)", grid{keys, lives, {3, 5, 7, 10, 15, 20, 30, 50}}, account},
	}
}

func (y *year) run(ctx context.Context, to *experiment.Result) error {
	events := y.Events(y.options.Random(y.Name), y.users, y.days)
	w, err := windowsOf(events, y.users)
	if err != nil {
		return err
	}
	told := []int{1, 10, 100, y.days}
	columns := append([]experiment.Column{{Name: "method"}}, experiment.Columns(0, "keys", "days", "within %")...)
	for _, day := range told {
		columns = append(columns, experiment.Column{Name: fmt.Sprintf("day %d", day), Digits: 1})
	}
	table := experiment.Table{
		Title: fmt.Sprintf("%s: error of a day's counts in %% of its events, and who is left out (%d users, %d events, %d keys; ε = %d and δ = %v for all %d days together)",
			y.Name, y.users, len(events), Keys, Epsilon, Delta, y.days),
		Columns: append(columns, experiment.Columns(1, "mean", "% of users out at the end")...),
		Note:    "The error is against all events, so that it has those of users who can no longer pay, and those beyond the bounds. keys, days and within %: the setting that the search found.",
	}
	wrong := experiment.Figure{Title: y.Name + ": error of a day's counts", X: "day", Y: "% of the day's events", LogY: true}
	methods := y.methods(events, w)
	for i, m := range methods {
		y.options.Tell(i, len(methods), m.name)
		best, err := m.grid.search(func(p []float64) (float64, error) {
			errors, _, err := m.errors(ctx, p, 1)
			return mean(errors), err
		})
		if err != nil {
			return err
		}
		errors, out, err := m.errors(ctx, best, y.paths)
		if err != nil {
			return err
		}
		row := []any{m.name, int(best[0]), int(best[1]), int(best[2])}
		for _, day := range told {
			row = append(row, errors[day-1])
		}
		table.Rows = append(table.Rows, append(row, mean(errors), out[y.days-1]))
		curve := experiment.Series{Name: m.name, Y: errors}
		for day := range errors {
			curve.X = append(curve.X, float64(day+1))
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

// windowsOf takes all events, of users by number.
func windowsOf(events []Event, users int) (*sample.Windows, error) {
	c := sample.NewCollector(sample.Options{Step: 24 * time.Hour, Users: users, Cells: len(events) + 1})
	var user [4]byte
	for _, e := range events {
		c.Add(binary.BigEndian.AppendUint32(user[:0], uint32(e.User)), []byte(KeyName(e.Key)), e.At().UnixMilli())
	}
	w, err := c.Sample().Windows(24 * time.Hour)
	return w, err //nolint:wrapcheck // named
}

// account forecasts a deployment of these windows, day by day.
func (y *year) account(ctx context.Context, w *sample.Windows, point []float64, paths int) (errors, out []float64, err error) {
	settings := demo.Settings{
		Epsilon: Epsilon, Delta: Delta, Accountant: string(budgets.GDP), Window: 24 * time.Hour,
		Target:         noisereduction.Target{Relative: point[2] / 100, Confidence: 0.95},
		MaxKeysPerUser: int(point[0]), MaxEventsPerKey: 1, LastAtLeast: int(point[1]),
	}
	for key := range Keys {
		settings.PublicKeys = append(settings.PublicKeys, KeyName(key))
	}
	d, err := settings.Compile()
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // constants
	}
	every := make([]int, y.days)
	for i := range every {
		every[i] = i + 1
	}
	f, err := forecast.Of(ctx, w, d, forecast.Options{Paths: paths, Seed: y.options.Seed, Lost: every})
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // named
	}
	for _, l := range f.Lost {
		errors, out = append(errors, 100*l.RelativeError), append(out, 100*l.Users/float64(y.users))
	}
	return errors, out, nil
}
