package descent

import (
	"math"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/continual"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
	"github.com/tollgate-dp/tollgate/transforms/mechanisms"
)

const delta = 1e-5

// promise is one value of ε in the paper's tables.
type promise struct {
	epsilon float64
	// sigma is the paper's noise, in clips, and steps the paper's number of steps. Together they
	// determine μ for all models here. If the paper does not state them, both are 0, and μ follows
	// from ε by the paper's conversion.
	sigma float64
	steps int
	off   float64 // factor by which the clip or the noise is wrong in the paper's other tables
}

var promises = []promise{
	{0.3, 170, 112, 1.5},
	{0.5, 130, 180, 1.5},
	{1.0, 100, 420, 2},
	{1.2, 0, 0, 2},
}

// rho returns the ρ of zero-concentrated differential privacy, k/(2σ²): Proposition 5.1.
func (p promise) rho() float64 {
	if p.steps == 0 {
		root := math.Sqrt(p.epsilon-math.Log(delta)) - math.Sqrt(-math.Log(delta))
		return root * root
	}
	return float64(p.steps) / (2 * p.sigma * p.sigma)
}

func (p promise) mu() float64 { return math.Sqrt(2 * p.rho()) }

// byPaper returns the ε that the paper's conversion gives, ρ + 2·√(ρ·ln(1/δ)).
func (p promise) byPaper() float64 { return p.rho() + 2*math.Sqrt(-p.rho()*math.Log(delta)) }

// sigmaFor returns the noise with which the given number of steps costs μ.
func (p promise) sigmaFor(steps int) float64 { return math.Sqrt(float64(steps)) / p.mu() }

// tuning is the best setting of a model without filtering.
type tuning struct {
	clip, rate float64
	steps      map[float64]int // by ε
}

// variant is one of the paper's three tables.
type variant struct {
	name  string
	apply func(s setting, off float64) setting
}

// variants lists the paper's tables. Noise is measured in clips, so with a larger clip the same
// noise is fewer clips.
var variants = []variant{
	{"tuned", func(s setting, _ float64) setting { return s }},
	{"clip too large", func(s setting, off float64) setting {
		return setting{s.sigma / off, s.clip * off, s.rate, int(float64(s.steps) / (off * off))}
	}},
	{"noise too low", func(s setting, off float64) setting {
		return setting{s.sigma / off, s.clip, s.rate, int(float64(s.steps) / (off * off))}
	}},
}

// After the steps that every account pays for, training is checked eight times, five steps apart.
const (
	checks, between = 8, 5
	enough          = 0.8 // the private stop ends training when a smaller share of examples can pay
	countShare      = 0.1 // part of μ for the private stop; the square of it is the part of ρ
)

// counterOf returns the matrix and the noise of the counter that counts the examples that have
// left. total is the μ of training and counter together.
func counterOf(p promise) (m continual.Matrix, sigma float64, total loss.GDP) {
	tree := experiment.Must(continual.NewTree(checks))
	price := experiment.Must(continual.Price(tree, 1, []continual.Contribution{{Step: 0, Count: 1}}))
	sigma = price.Mu / (countShare * p.mu())
	return tree, sigma, loss.GDP{Mu: math.Hypot(p.mu(), price.Mu/sigma)}
}

// sparseOf returns the mechanism that compares the number of examples that have left with a
// threshold, and the μ of training and mechanism together. One example changes this number at all
// checks in the same direction, by at most 1. For small ε, ε-DP implies μ-GDP with μ = √(π/2)·ε.
func sparseOf(p promise) (*mechanisms.SparseVector, loss.GDP) {
	scale := 2 * math.Sqrt(math.Pi/2) / (countShare * p.mu()) // scale of the threshold's and of each check's noise
	sparse := experiment.Must(mechanisms.NewSparseVector(scale, scale, 1))
	price := experiment.Must(conversion.PureToGDP(experiment.Must(sparse.WorstMonotone(1)).Epsilon))
	return sparse, loss.GDP{Mu: math.Hypot(p.mu(), price.Mu)}
}

// privacy returns the table of the cost of training, by the paper's conversion and exactly.
func privacy(ps []promise) experiment.Table {
	t := experiment.Table{
		Title: "What training costs, δ = 1e-5",
		Columns: append(append([]experiment.Column{{Name: "paper's ε", Digits: 1}, {Name: "σ"}, {Name: "k"}},
			experiment.Columns(4, "ρ = k/(2σ²)", "ε by the paper's conversion")...), experiment.Columns(3, "exact ε",
			"with the private stop", "with the sparse stop")...),
		Note: "The paper's conversion of ρ to ε is not tight: the same training is more private than the paper " +
			"states. The exact ε is that of Gaussian differential privacy with μ = √k/σ. The last two columns " +
			"include the cost of the private stop's counts and of the sparse stop's comparisons. The conference " +
			"version does not state the noise and the steps behind 1.2.",
	}
	for _, p := range ps {
		row := []any{p.epsilon, nil, nil, p.rho(), p.byPaper()}
		_, _, counted := counterOf(p)
		_, sparse := sparseOf(p)
		for _, total := range []loss.GDP{{Mu: p.mu()}, counted, sparse} {
			row = append(row, experiment.Must(conversion.GDPToEpsilon(total, delta)))
		}
		if p.steps > 0 {
			row[1], row[2] = int(p.sigma), p.steps
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
