package continual

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/accounting"
)

// ErrOver is returned by Counter.Next after the last step.
var ErrOver = errors.New("all steps are counted")

// Limits to which values are clamped, because mechanisms.GaussianNoise accepts only integers up to
// 2^53. Clamping never increases the distance between two inputs.
const (
	maxStepSum = 1 << 31
	maxRowSum  = 1 << 53
)

// Counter publishes the count of a stream after every step. It is not safe for concurrent use.
type Counter struct {
	matrix    Matrix
	sigma     float64
	noise     accounting.Noise
	step      int
	estimator estimator
}

// estimator computes the rows that are published with a step, and an estimate from the noisy rows.
type estimator interface {
	next(x int64, step int, release func(row int128.Int) (float64, error)) (float64, error)
}

// NewCounter returns a counter at zero. sigma, from 2^-20 to 2^20, is the standard deviation of the
// noise for a sensitivity of 1. noise adds Gaussian noise to an integer (mechanisms.GaussianNoise).
// The error is a *units.RangeError, or accounting.ErrNoNoise.
func NewCounter(m Matrix, sigma float64, noise accounting.Noise) (*Counter, error) {
	if err := checkSigma(sigma); err != nil {
		return nil, err
	}
	if noise == nil {
		return nil, accounting.ErrNoNoise
	}
	return &Counter{matrix: m, sigma: sigma, noise: noise, estimator: m.estimator()}, nil
}

// Next adds x, the sum of this step's admitted contributions, and returns the count of all steps so
// far, with noise of variance σ²·Variance. It clamps an x beyond ±2^31, and rows beyond 2^53/Unit.
// With Tree, memory is logarithmic in the number of steps. With Root, memory and the time per step
// are linear. The error is ErrOver or an error from noise. After an error from noise, the counter
// accepts no further steps, because part of the step may have been published.
func (c *Counter) Next(x int64) (float64, error) {
	if c.step >= c.matrix.Steps() {
		return 0, ErrOver
	}
	x = min(max(x, -maxStepSum), maxStepSum)
	estimate, err := c.estimator.next(x, c.step, func(row int128.Int) (float64, error) {
		return c.noise(row.Clamp(-maxRowSum, maxRowSum), c.sigma*c.matrix.Unit())
	})
	if err != nil {
		c.step = c.matrix.Steps()
		return 0, fmt.Errorf("publishing a count: %w", err)
	}
	c.step++
	return estimate, nil
}

// nodes is the estimator for a Tree. For each level, it holds the sum of the open node and the
// noisy sum of the last completed left node.
type nodes struct {
	open  []int128.Int
	noisy []float64
}

func (t *Tree) estimator() estimator {
	levels := bits.Len(uint(t.steps))
	return &nodes{make([]int128.Int, levels), make([]float64, levels)}
}

func (n *nodes) next(x int64, step int, release func(int128.Int) (float64, error)) (sum float64, err error) {
	for level := range n.open {
		n.open[level] = n.open[level].Add(x)
		if (step+1)&(1<<level-1) != 0 {
			continue // not complete
		}
		if left(step, level) {
			if n.noisy[level], err = release(n.open[level]); err != nil {
				return 0, err
			}
		}
		n.open[level] = int128.Int{}
	}
	for level := range n.noisy {
		if (step+1)>>level&1 == 1 {
			sum += n.noisy[level]
		}
	}
	return sum, nil
}

// solver is the estimator for a Root. It keeps the inputs of all rows and the noisy inputs that
// follow from the noisy rows.
type solver struct {
	r     []uint64
	x     []int64
	noisy []float64
	sum   float64
}

func (m *Root) estimator() estimator { return &solver{r: m.r} }

func (s *solver) next(x int64, step int, release func(int128.Int) (float64, error)) (float64, error) {
	s.x = append(s.x, x)
	var row int128.Int
	for k, r := range s.r[:step+1] {
		row = row.Add(int64(r) * s.x[step-k])
	}
	w, err := release(row)
	if err != nil {
		return 0, err
	}
	for k, r := range s.r[1 : step+1] {
		w -= float64(r) * s.noisy[step-1-k]
	}
	s.noisy = append(s.noisy, w/float64(s.r[0]))
	s.sum += s.noisy[step]
	return s.sum, nil
}
