package continual

import (
	"math"
	"math/bits"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/units"
)

// MaxSteps is the maximum number of steps of a Matrix; MaxContributed limits one user's counts.
const (
	MaxSteps       = 1 << 16
	MaxContributed = 1 << 20
)

// Contribution is the amount that a user adds to the count of a step.
type Contribution struct {
	Step  int // from 0
	Count uint32
}

// Matrix is the matrix C of a factorisation: a *Tree or a *Root. Values are immutable.
type Matrix interface {
	// Steps returns the number of steps.
	Steps() int

	// Unit returns the scale of the integer entries of C. Noise with standard deviation σ has
	// standard deviation σ·Unit in rows.
	Unit() float64

	// Variance returns the variance of the estimate after a step, in units of σ², where σ is the
	// noise for a sensitivity of 1. It returns 0 for a step out of range.
	Variance(step int) float64

	// increase returns the increase of ‖C·Δ‖², in Unit², that next causes. The step of next must
	// not be before the step of an earlier contribution.
	increase(earlier []Contribution, next Contribution) int128.Uint

	estimator() estimator
}

func checkSteps(steps int) error {
	return units.Require(steps >= 1 && steps <= MaxSteps, "steps", float64(steps), "an integer from 1 to 2^16")
}

// grown returns sum + (y + a)² − y², for a row y that becomes y + a. The difference is below 2^83
// because a and y are below 2^41.
func grown(sum int128.Uint, y, a uint64) int128.Uint {
	sum, _ = sum.Add(int128.Mul(a, 2*y+a))
	return sum
}

// Tree is binary tree aggregation: C has one row for every left node of a binary tree over the
// steps, with ones at the steps below the node. Right nodes are neither published nor paid for: a
// right node is completed together with its parent, and every estimate uses the parent instead. A
// single contribution pays for the left nodes above its step that are ever completed. There are up
// to 1 + log₂ of the number of steps for the first step, and about half as many on average. An
// estimate is the sum of one noisy node for every 1 in the binary form of step + 1.
type Tree struct{ steps int }

// NewTree returns the tree over 1 to MaxSteps steps. The error is a *units.RangeError.
func NewTree(steps int) (*Tree, error) {
	if err := checkSteps(steps); err != nil {
		return nil, err
	}
	return &Tree{steps}, nil
}

// Steps implements Matrix.
func (t *Tree) Steps() int { return t.steps }

// Unit implements Matrix: 1.
func (t *Tree) Unit() float64 { return 1 }

// Variance implements Matrix: the number of ones in step + 1.
func (t *Tree) Variance(step int) float64 {
	if step < 0 || step >= t.steps {
		return 0
	}
	return float64(bits.OnesCount(uint(step) + 1))
}

// left reports whether the node above a step on a level is a left child, or the root.
func left(step, level int) bool { return step>>level&1 == 0 }

func (t *Tree) increase(earlier []Contribution, next Contribution) int128.Uint {
	var sum int128.Uint
	for level := 0; 1<<level <= t.steps; level++ {
		node := next.Step >> level
		if !left(next.Step, level) || (node+1)<<level > t.steps {
			continue // never published
		}
		below := uint64(0)
		for _, c := range earlier {
			if c.Step>>level == node {
				below += uint64(c.Count)
			}
		}
		sum = grown(sum, below, uint64(next.Count))
	}
	return sum
}

// rootBits is the scale of the entries of Root.
const rootBits = 20

// Root is the square root of the matrix of prefix sums. C is lower triangular with r_k on its k-th
// diagonal, r_0 = 1 and r_k = r_{k−1}·(2k − 1)/(2k), rounded to multiples of 2^-20. B is chosen
// such that B·C computes prefix sums. A contribution to the first of T steps costs Σ_{k<T} r_k²,
// which is about 1 + ln(T)/π, and the variance of an estimate is the same sum up to its step. Both
// are within a constant of the optimum over all factorisations (Fichtenberger, Henzinger and
// Upadhyay, 2023, Theorem 1).
type Root struct {
	r []uint64
}

// NewRoot returns the root for 1 to MaxSteps steps. The error is a *units.RangeError.
func NewRoot(steps int) (*Root, error) {
	if err := checkSteps(steps); err != nil {
		return nil, err
	}
	m := &Root{r: make([]uint64, steps)}
	exact := 1.0
	for k := range m.r {
		if k > 0 {
			exact *= 1 - 1/float64(2*k)
		}
		m.r[k] = uint64(math.Round(math.Ldexp(exact, rootBits)))
	}
	return m, nil
}

// Steps implements Matrix.
func (m *Root) Steps() int { return len(m.r) }

// Unit implements Matrix: 2^20.
func (m *Root) Unit() float64 { return 1 << rootBits }

// Variance implements Matrix: Σ r_k² up to the step.
func (m *Root) Variance(step int) (sum float64) {
	if step < 0 || step >= len(m.r) {
		return 0
	}
	for _, r := range m.r[:step+1] {
		entry := math.Ldexp(float64(r), -rootBits)
		sum += entry * entry
	}
	return sum
}

func (m *Root) increase(earlier []Contribution, next Contribution) int128.Uint {
	var sum int128.Uint
	for row := next.Step; row < len(m.r); row++ {
		y := uint64(0)
		for _, c := range earlier {
			y += uint64(c.Count) * m.r[row-c.Step]
		}
		sum = grown(sum, y, uint64(next.Count)*m.r[row-next.Step])
	}
	return sum
}
