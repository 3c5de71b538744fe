package descent

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/state/accounting"
)

// chunk is the number of examples that are computed together. The sums of the chunks are added in
// order, so that the result does not depend on the number of processors.
const chunk = 1000

// part is a set of examples: a row of inputs and a class for each.
type part struct {
	x       blas64.General
	classes []uint8
}

// slice returns the examples in [a, b).
func (p part) slice(a, b int) part {
	g := p.x
	g.Rows, g.Data = b-a, g.Data[a*g.Stride:b*g.Stride]
	return part{g, p.classes[a:b]}
}

// chunks calls do for every chunk of n examples, in parallel.
func chunks(m model, n int, do func(w *work, k, a, b int)) {
	var g errgroup.Group
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	for worker := range workers {
		g.Go(func() error {
			w := m.newWork(min(chunk, n))
			for k := worker; k*chunk < n; k += workers {
				do(w, k, k*chunk, min((k+1)*chunk, n))
			}
			return nil
		})
	}
	_ = g.Wait()
}

// accuracy returns the share of the examples that the model classifies correctly.
func (m model) accuracy(theta []float64, d part) float64 {
	correct := make([]int, (len(d.classes)+chunk-1)/chunk)
	chunks(m, len(d.classes), func(w *work, k, a, b int) { correct[k] = m.correct(w, theta, d.slice(a, b)) })
	sum := 0
	for _, n := range correct {
		sum += n
	}
	return float64(sum) / float64(len(d.classes))
}

// setting holds the parameters of training.
type setting struct {
	sigma float64 // noise, in clips
	clip  float64 // C, the largest norm of a gradient
	rate  float64 // η, the learning rate
	steps int     // k, the number of steps with full norm that an account can pay for
}

// unit is the square of one clip in accounts, so that squared norms are integers.
const unit = 1 << 40

// descent is private gradient descent with filtering, Algorithm 7 of Feldman and Zrnic. In every
// step, the gradient of an example is clipped to C and to the amount that is left in the example's
// account. Gaussian noise with the deviation σ·C is added to the sum of the gradients. In the first
// k steps, no account can become empty: this is Algorithm 6.
type descent struct {
	model    model
	setting  setting
	examples part
	theta    []float64
	accounts []*accounting.Filter[accounting.SquaredNorm]
	noise    *rand.Rand
	partial  [][]float64
}

// newDescent draws the initial parameters and the noise of all steps from random.
func newDescent(m model, s setting, examples part, random *rand.Rand) *descent {
	d := &descent{model: m, setting: s, examples: examples, theta: m.initial(random), noise: random}
	for range examples.classes {
		d.accounts = append(d.accounts, experiment.Must(accounting.NewNorm(accounting.SquaredNorm(s.steps)*unit)))
	}
	for range (len(examples.classes) + chunk - 1) / chunk {
		d.partial = append(d.partial, make([]float64, len(d.theta)))
	}
	return d
}

// active returns the number of examples that can still pay.
func (d *descent) active() (n int) {
	for _, a := range d.accounts {
		if a.Left() > 0 {
			n++
		}
	}
	return n
}

func (d *descent) step() {
	chunks(d.model, len(d.examples.classes), func(w *work, k, a, b int) {
		clear(d.partial[k])
		d.model.gradient(w, d.theta, d.examples.slice(a, b), func(i int, norm float64) float64 {
			return charge(d.accounts[a+i], norm/d.setting.clip)
		}, d.partial[k])
	})
	sum := d.partial[0]
	for _, p := range d.partial[1:] {
		for j, v := range p {
			sum[j] += v
		}
	}
	n := float64(len(d.examples.classes))
	for j := range d.theta {
		noisy := sum[j] + d.setting.sigma*d.setting.clip*d.noise.NormFloat64()
		d.theta[j] -= d.setting.rate * noisy / n
	}
}

// charge charges an account for a gradient, and returns the factor by which Algorithm 7 clips the
// gradient. norm is the norm of the gradient in clips. Squares are rounded up. If norm is not
// finite, the factor is 0 and the account pays nothing.
func charge(account *accounting.Filter[accounting.SquaredNorm], norm float64) float64 {
	left := account.Left()
	if !(norm > 0) || math.IsInf(norm, 1) || left == 0 {
		return 0
	}
	factor, cost := 1.0, accounting.SquaredNorm(unit)
	if norm < 1 {
		cost = accounting.SquaredNorm(math.Ceil(norm * norm * unit))
	} else {
		factor = 1 / norm
	}
	if cost > left {
		factor, cost = math.Sqrt(float64(left)/unit)/norm, left
	}
	if account.Spend(cost) != nil {
		return 0 // impossible: the cost is at most the amount left
	}
	return factor
}

// run takes a number of steps, or fewer if ctx ends.
func (d *descent) run(ctx context.Context, steps int) error {
	for range steps {
		if err := ctx.Err(); err != nil {
			return err //nolint:wrapcheck // the caller adds the name of the experiment
		}
		d.step()
	}
	return nil
}
