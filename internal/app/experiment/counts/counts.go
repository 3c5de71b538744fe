package counts

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// The setting of the paper. A ladder begins with noise that hides every count.
const (
	values, exponent, records = 300, 0.75, 10_000
	epsilon, delta            = 10, 1e-6
	coarsest                  = 1e4 // standard deviation of the first rung
	finest                    = 1e-3
)

var targets = []float64{0.05, 0.1, 0.2, 0.5}

// Experiments returns the experiment of the package.
func Experiments() []experiment.Experiment {
	return []experiment.Experiment{{
		Name:   "counts",
		Title:  "How many counts a budget pays for, each to a relative error",
		Source: "Rogers, Samorodnitsky, Wu and Ramdas 2023, Section 7",
		Run:    run,
	}}
}

// outcome holds sums over the trials of a method for a target.
type outcome struct {
	answered, squares float64 // sums of the trials' numbers of answered counts, and of the squares of these numbers
	trials            float64
	errors, within    float64 // sum of the relative errors, and number of counts within the target
}

func (o *outcome) mean() float64 { return o.answered / o.trials }

// deviation returns the standard error of the mean.
func (o *outcome) deviation() float64 {
	return math.Sqrt(math.Max(o.squares/o.trials-o.mean()*o.mean(), 0) / o.trials)
}

func run(ctx context.Context, o experiment.Options) (*experiment.Result, error) {
	trials := 1000
	if o.Size == experiment.Small {
		trials = 40
	}
	draw := o.Random("counts")
	truths := make([][]float64, trials)
	for i := range truths {
		truths[i] = truth(draw)
	}
	all := methods()
	table := experiment.Table{
		Title: fmt.Sprintf("Counts answered, mean of %d trials (ε = %v, δ = %v)", trials, epsilon, delta),
		Columns: append([]experiment.Column{{Name: "method"}}, experiment.Columns(1, "5 %", "10 %", "20 %", "50 %",
			"± at most")...),
		Note: "± is the standard error. The paper shows this as a figure, without values in the text.",
	}
	qualities := experiment.Table{
		Title: "Of the counts answered: mean relative error, and the share within the target",
		Columns: append([]experiment.Column{{Name: "method"}}, experiment.Columns(3, "5 %", "within", "10 %", "within",
			"20 %", "within", "50 %", "within")...),
	}
	figure := experiment.Figure{Title: "Counts answered under one budget", X: "target of the relative error",
		Y: "counts", LogX: true}
	for i, m := range all {
		row, quality := []any{m.name}, []any{m.name}
		line := experiment.Series{Name: m.name}
		worst := 0.0
		for _, target := range targets {
			o.ReportProgress(i, len(all), m.name)
			random := o.Random(m.name, target)
			var sum outcome
			for _, truth := range truths {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if err := sum.trial(m, truth, target, random); err != nil {
					return nil, err
				}
			}
			row = append(row, sum.mean())
			quality = append(quality, sum.errors/sum.answered, sum.within/sum.answered)
			worst = max(worst, sum.deviation())
			line.Add(target, sum.mean())
		}
		table.Rows = append(table.Rows, append(row, worst))
		qualities.Rows = append(qualities.Rows, quality)
		figure.Series = append(figure.Series, line)
	}
	return &experiment.Result{
		Tables: []experiment.Table{table, qualities}, Figures: []experiment.Figure{figure},
		Notes: []string{
			"By the paper's rule, a count is done when adding or subtracting one standard deviation of its noise " +
				"changes the noisy count by less than the target. Every method reads only its own noisy counts. The " +
				"product's rule promises instead that 95 of 100 counts are within the target, and keeps that promise " +
				"in every column. Its next rung depends on the value of the last one.",
			"Noise reduction pays only for the last rung, doubling for all rungs. Every filter has the greatest " +
				"budget that the best known conversion permits; only the row \"closed form\" uses the paper's " +
				"conversion. The Gaussian filter (μ² adds up) admits more than the unified zCDP filter because its " +
				"conversion to (ε, δ) is exact.",
			"With finer rungs, a ladder overshoots less. Doubling cannot profit from that, because it pays for each " +
				"rung.",
		},
	}, nil
}

// trial releases one count after the other until the budget is spent.
func (o *outcome) trial(m method, truth []float64, target float64, random *rand.Rand) error {
	pay, n := m.open(), 0.0
	for _, count := range truth {
		noisy, done, err := m.answer(pay, count, target, random)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if !done {
			break
		}
		n++
		relative := math.Abs(noisy-count) / max(count, 1)
		o.errors += relative
		if relative <= target {
			o.within++
		}
	}
	o.answered, o.squares, o.trials = o.answered+n, o.squares+n*n, o.trials+1
	return nil
}

// exact reports whether noise with the deviation sigma is small relative to the noisy value.
func exact(noisy, sigma, target float64) bool {
	noisy = math.Abs(noisy)
	return noisy > sigma && (noisy+sigma)/(noisy-sigma) < 1+target
}

// truth draws records from a Zipf law and returns their counts in the public order of the law.
func truth(random *rand.Rand) []float64 {
	sums, total := make([]float64, values), 0.0
	for i := range sums {
		total += math.Pow(float64(i+1), -exponent)
		sums[i] = total
	}
	counts := make([]float64, values)
	for range records {
		counts[min(sort.SearchFloat64s(sums, random.Float64()*total), values-1)]++
	}
	return counts
}

// budget is the budget of all counts together.
var budget = loss.Approx{Epsilon: epsilon, Delta: delta}
