package year

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/tollgate-dp/tollgate/internal/app/demo"
	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/app/plan/forecast"
	"github.com/tollgate-dp/tollgate/internal/app/plan/sample"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/transforms/noisereduction"
)

// The accuracy that is asked for: within 10 % of the count, or 50 events where that is more.
const (
	relative, absolute = 0.1, 50
	lastAtLeast        = 10
)

// Experiments returns the experiment.
func Experiments() []experiment.Experiment {
	return []experiment.Experiment{{
		Name:   "year",
		Title:  "A year of daily counts under one promise",
		Source: "this product; the divided budget is that of Privacy on Beam",
		Run:    run,
	}}
}

// Divided is noise under a promise that is divided evenly among windows beforehand.
type Divided struct {
	Name string
	// Error is the mean size of a count's error, Sigma its standard deviation.
	Error, Sigma float64
}

// Divide returns the noise of counts to which a user adds at most 1 in each of KeysPerUser keys, in
// each of so many windows: every window with ε/windows and Laplace noise, as separate jobs have it
// (basic composition), and with Gaussian noise composed exactly over all windows. Errors: none but
// of the constants.
func Divide(windows int) ([]Divided, error) {
	square, err := budgets.LargestSquare(Epsilon, Delta, budgets.GDP)
	if err != nil {
		return nil, err //nolint:wrapcheck // constants
	}
	budget, _ := square.Float64()
	scale := KeysPerUser * float64(windows) / Epsilon
	sigma := math.Sqrt(KeysPerUser * float64(windows) / budget)
	return []Divided{
		{"divided by windows, Laplace noise", scale, math.Sqrt2 * scale},
		{"divided by windows, Gaussian noise, composed exactly", sigma * math.Sqrt(2/math.Pi), sigma},
	}, nil
}

func run(ctx context.Context, o experiment.Options) (*experiment.Result, error) {
	days, paths, part := 365, 10, 1
	if o.Size == experiment.Small {
		days, paths, part = 120, 2, 20
	}
	out := &experiment.Result{Notes: []string{
		fmt.Sprintf("Asked was an error of at most %.0f %% or %d events, whichever is more, in 95 of 100 counts. With the same noise for all counts it has to be that of the smallest ones; noise reduction stops large counts early, and their users pay less.", 100*relative, absolute/part),
		"A divided budget has to be divided among all windows, as if every user came in each: who comes twice a year has paid for all of them. With accounts the budget of those who come seldom lasts for years, and that of the few who come often ends.",
		"Where most events are those of users who come nearly every day there is little to gain: their budget, spent on exact counts, ends early, and what is divided beforehand is right for them. For them ask for less exact counts, or promise for a period (privacy.period) in place of life.",
	}}
	all := Populations()
	for i, p := range all {
		y := &year{Population: p, users: p.Users / part, days: days, paths: paths, absolute: float64(absolute / part), options: o}
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
	absolute           float64
	options            experiment.Options
}

func (y *year) run(ctx context.Context, to *experiment.Result) error {
	y.options.Tell(0, 3, "making up events")
	events := y.Events(y.options.Random(y.Name), y.users, y.days)
	w, err := windowsOf(events, y.users)
	if err != nil {
		return err
	}
	told := []int{1, 10, 100, y.days}
	columns := []experiment.Column{{Name: "budget"}}
	for _, day := range told {
		columns = append(columns, experiment.Column{Name: fmt.Sprintf("day %d", day), Digits: 1})
	}
	table := experiment.Table{
		Title: fmt.Sprintf("%s: error of a day's counts in %% of its events, and who is left out (%d users, %d events, %d keys; ε = %d and δ = %v for all %d days together)",
			y.Name, y.users, len(events), Keys, Epsilon, Delta, y.days),
		Columns: append(columns, experiment.Columns(1, "mean", "% of users out at the end", "half of users out")...),
		Note:    "The error is against all events, so that it has those of users who can no longer pay. A divided budget leaves no user out until its last day, and all after it.",
	}
	wrong := experiment.Figure{Title: y.Name + ": error of a day's counts", X: "day", Y: "% of the day's events", LogY: true}
	out := experiment.Figure{Title: y.Name + ": users whose budget is spent", X: "day", Y: "% of users"}
	add := func(name string, errors, lost []float64) {
		half := fmt.Sprintf("after day %d", y.days)
		row := []any{name}
		for _, day := range told {
			row = append(row, errors[day-1])
		}
		off, gone := experiment.Series{Name: name}, experiment.Series{Name: name}
		mean := 0.0
		for i := range errors {
			mean += errors[i] / float64(y.days)
			off.X, off.Y = append(off.X, float64(i+1)), append(off.Y, errors[i])
			gone.X, gone.Y = append(gone.X, float64(i+1)), append(gone.Y, lost[i])
			if lost[i] >= 50 && lost[max(i, 1)-1] < 50 {
				half = fmt.Sprintf("day %d", i+1)
			}
		}
		table.Rows = append(table.Rows, append(row, mean, lost[y.days-1], half))
		wrong.Series, out.Series = append(wrong.Series, off), append(out.Series, gone)
	}
	divided, err := Divide(y.days)
	if err != nil {
		return err
	}
	perDay := make([]float64, y.days) // events
	for _, e := range events {
		perDay[e.Day]++
	}
	for _, d := range divided {
		errors := make([]float64, y.days)
		for day, n := range perDay {
			errors[day] = 100 * Keys * d.Error / n
		}
		add(d.Name, errors, make([]float64, y.days))
	}
	for i, method := range []struct {
		name   string
		target noisereduction.Target
	}{
		{"account for every user, same noise for all counts", noisereduction.Target{Absolute: y.absolute, Confidence: 0.95}},
		{"account for every user, noise reduction (this product)", noisereduction.Target{Relative: relative, Absolute: y.absolute, Confidence: 0.95}},
	} {
		y.options.Tell(i+1, 3, method.name)
		f, err := y.forecast(ctx, w, method.target)
		if err != nil {
			return err
		}
		var errors, lost []float64
		for _, l := range f.Lost {
			errors, lost = append(errors, 100*l.RelativeError), append(lost, 100*l.Users/float64(y.users))
		}
		add(method.name, errors, lost)
	}
	to.Tables, to.Figures = append(to.Tables, table), append(to.Figures, wrong, out)
	return nil
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

// forecast forecasts a deployment of these windows, day by day.
func (y *year) forecast(ctx context.Context, w *sample.Windows, target noisereduction.Target) (*forecast.Forecast, error) {
	settings := demo.Settings{
		Epsilon: Epsilon, Delta: Delta, Accountant: string(budgets.GDP), Window: 24 * time.Hour, Target: target,
		MaxKeysPerUser: KeysPerUser, MaxEventsPerKey: 1, LastAtLeast: lastAtLeast,
	}
	for key := range Keys {
		settings.PublicKeys = append(settings.PublicKeys, KeyName(key))
	}
	d, err := settings.Compile()
	if err != nil {
		return nil, err //nolint:wrapcheck // constants
	}
	every := make([]int, y.days)
	for i := range every {
		every[i] = i + 1
	}
	f, err := forecast.Of(ctx, w, d, forecast.Options{Paths: y.paths, Seed: y.options.Seed, Lost: every})
	return f, err //nolint:wrapcheck // named
}
