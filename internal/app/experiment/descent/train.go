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

// chunk is how many examples are computed at once: sums are added up in their order, on any
// number of processors.
const chunk = 1000

// part is a set of examples: their inputs, a row for each, and their classes.
type part struct {
	x       blas64.General
	classes []uint8
}

// slice is the examples from a to b.
func (p part) slice(a, b int) part {
	g := p.x
	g.Rows, g.Data = b-a, g.Data[a*g.Stride:b*g.Stride]
	return part{g, p.classes[a:b]}
}

// chunks calls do for chunk after chunk of n examples, side by side, each goroutine with work of
// its own.
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

// accuracy is the share of the examples that the model classifies.
func (m model) accuracy(theta []float64, d part) float64 {
	correct := make([]int, (len(d.classes)+chunk-1)/chunk)
	chunks(m, len(d.classes), func(w *work, k, a, b int) { correct[k] = m.correct(w, theta, d.slice(a, b)) })
	sum := 0
	for _, n := range correct {
		sum += n
	}
	return float64(sum) / float64(len(d.classes))
}

// setting is what training costs and how fast it goes.
type setting struct {
	sigma float64 // noise, in clips
	clip  float64 // C, the greatest norm of a gradient
	rate  float64 // η, of a step
	steps int     // k: what an account pays for at full norm
}

// unit is what the square of one clip is in accounts, so that squared norms are integers.
const unit = 1 << 40

// descent is private gradient descent with filtering, Algorithm 7 of Feldman and Zrnic: in every
// step an example's gradient is clipped to C and to what its account still pays for, and the sum
// gets Gaussian noise of σ·C. While no account can be empty, for k steps, it is Algorithm 6.
type descent struct {
	model    model
	setting  setting
	examples part
	theta    []float64
	accounts []*accounting.Filter[accounting.SquaredNorm]
	noise    *rand.Rand
	partial  [][]float64
}

// newDescent begins with the parameters that model.first draws from random, and takes the noise of
// all steps from it.
func newDescent(m model, s setting, examples part, random *rand.Rand) *descent {
	d := &descent{model: m, setting: s, examples: examples, theta: m.first(random), noise: random}
	for range examples.classes {
		d.accounts = append(d.accounts, experiment.Must(accounting.NewNorm(accounting.SquaredNorm(s.steps)*unit)))
	}
	for range (len(examples.classes) + chunk - 1) / chunk {
		d.partial = append(d.partial, make([]float64, len(d.theta)))
	}
	return d
}

// active counts the examples that can still pay.
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

// charge takes from the account what a gradient costs whose norm is so many clips, and returns what
// it is to be multiplied by: Algorithm 7's clipping, with squares rounded up. Not a number or an
// infinite norm counts for nothing, and costs nothing.
func charge(account *accounting.Filter[accounting.SquaredNorm], norm float64) float64 {
	left := account.Left()
	if !(norm > 0) || math.IsInf(norm, 1) || left == 0 {
		return 0
	}
	by, cost := 1.0, accounting.SquaredNorm(unit)
	if norm < 1 {
		cost = accounting.SquaredNorm(math.Ceil(norm * norm * unit))
	} else {
		by = 1 / norm
	}
	if cost > left {
		by, cost = math.Sqrt(float64(left)/unit)/norm, left
	}
	if account.Spend(cost) != nil {
		return 0 // never: it is at most what is left
	}
	return by
}

// run takes so many steps, or fewer where ctx ends.
func (d *descent) run(ctx context.Context, steps int) error {
	for range steps {
		if err := ctx.Err(); err != nil {
			return err //nolint:wrapcheck // named by the experiment
		}
		d.step()
	}
	return nil
}
