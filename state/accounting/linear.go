package accounting

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/bits"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/accounts"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/internal/fixed"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrNoNoise means that linear queries have no source of noise.
var ErrNoNoise = errors.New("linear queries need a source of noise")

// maxTotal is the maximum absolute value of a total that is passed to Noise.
// mechanisms.GaussianNoise rejects larger totals, and an error that one user causes would reveal
// that user without any noise.
const maxTotal = 1 << 53

// Noise adds noise to one coordinate of a sum. It returns total plus a random number with mean 0
// and a standard deviation of at least sigma, which is drawn independently in every call. The
// distribution must be exact: either Gaussian, rounded to a lattice that does not depend on the
// data, or discrete Gaussian on the integers. Both are 1/(2σ²)-zCDP for a sensitivity of 1. Samples
// from an inverse distribution function in float64 do not qualify.
type Noise func(total int64, sigma float64) (float64, error)

// LinearQueries releases noisy sums for adaptively chosen linear queries. A query assigns a vector
// of integers to each user (Feldman and Zrnic, 2021, Corollary 4.7). Every user has a budget B of
// squared norm, and is left out of a query if Σ‖q_t(x)‖² would exceed the budget. So a user for
// whom few queries are nonzero is counted in all of those, however many queries there are.
//
// Everything released together is κ-zCDP under the removal of one user, for any number of queries:
// each sum has Gaussian noise with σ² = B/(2κ), and the loss of a user with norm ‖q‖ is ‖q‖²/(2σ²).
// With continuous Gaussian noise, everything together is √(2κ)-GDP.
//
// Values are integers, so that sums are exact in any order. Their unit is the caller's choice: a
// query with resolution 2^-10 counts 1024ths, and its budget is 2^20 times as large. In a sum of
// float64 values, a user could have more influence than their own value accounts for.
//
// A LinearQueries is not safe for concurrent use.
type LinearQueries[K comparable] struct {
	accounts.NoJSON
	users *PerUser[K, SquaredNorm]
	noise Noise
	kappa float64
	sigma float64
}

// NewLinearQueries returns a LinearQueries whose sums are together kappa-zCDP, for kappa from 2^-40
// to 2^40. Every user's budget is norm, at least 1. The error is a *units.RangeError or ErrNoNoise.
func NewLinearQueries[K comparable](norm SquaredNorm, kappa float64, policy Policy, noise Noise) (*LinearQueries[K],
	error) {
	if !(kappa >= 0x1p-40 && kappa <= 0x1p40) {
		return nil, &units.RangeError{Parameter: "kappa", Value: kappa, Range: "between 2^-40 and 2^40"}
	}
	if noise == nil {
		return nil, ErrNoNoise
	}
	budget, err := NewNorm(norm)
	if err != nil {
		return nil, err
	}
	users, err := NewPerUser[K](policy, budget)
	if err != nil {
		return nil, err
	}
	return &LinearQueries[K]{users: users, noise: noise, kappa: kappa, sigma: deviation(norm, kappa)}, nil
}

// deviation returns √(norm/(2κ)), rounded up.
func deviation(norm SquaredNorm, kappa float64) float64 {
	const precision = 200
	variance := new(big.Float).SetPrec(precision).SetUint64(uint64(norm))
	variance.Quo(variance, big.NewFloat(2*kappa))
	sigma, _ := variance.Sqrt(variance).Float64()
	return math.Nextafter(sigma, math.Inf(1))
}

// Sigma returns σ = √(B/(2κ)), rounded up: the standard deviation of the noise in every coordinate.
func (q *LinearQueries[K]) Sigma() float64 { return q.sigma }

// Kappa returns the zCDP parameter of all released sums together.
func (q *LinearQueries[K]) Kappa() float64 { return q.kappa }

// Answer returns the noisy sum of one query over its active users, in d ≥ 1 coordinates. values
// yields every user once, with the user's d integers. The integers must be functions of the user's
// data and of earlier sums. Answer reads them before it requests the next user, and does not keep
// them.
//
// A user whose vector does not have d coordinates, or whose squared norm does not fit into the rest
// of the budget, is left out. A sum beyond ±2^53, which takes at least 2^21 users, is clamped.
// Clamping does not increase the distance between any two inputs.
//
// The error is a *units.RangeError for d, ErrTwice, or the error from noise. If there is an error,
// nothing is released, but charges remain.
func (q *LinearQueries[K]) Answer(d int, values iter.Seq2[K, []int64]) ([]float64, error) {
	if d < 1 {
		return nil, &units.RangeError{Parameter: "d", Value: float64(d), Range: "at least 1"}
	}
	totals, err := q.sum(d, values)
	if err != nil {
		return nil, fmt.Errorf("answering a linear query: %w", err)
	}
	answers := make([]float64, d)
	for j, total := range totals {
		if answers[j], err = q.noise(total.Clamp(-maxTotal, maxTotal), q.sigma); err != nil {
			return nil, fmt.Errorf("drawing the noise of a linear query: %w", err)
		}
	}
	return answers, nil
}

// sum charges the users of a query and adds up the vectors of the active ones.
func (q *LinearQueries[K]) sum(d int, values iter.Seq2[K, []int64]) ([]int128.Int, error) {
	q.users.round++
	totals := make([]int128.Int, d)
	for user, vector := range values {
		norm := SquaredNorm(math.MaxUint64)
		if len(vector) == d {
			norm = squaredNorm(vector)
		}
		if err := q.users.admit(user, norm); errors.Is(err, ErrExceeded) {
			continue
		} else if err != nil {
			return nil, err
		}
		for j, v := range vector {
			totals[j] = totals[j].Add(v)
		}
	}
	return totals, nil
}

// Spent returns the squared norm charged to the user; see PerUser.Spent.
func (q *LinearQueries[K]) Spent(user K) SquaredNorm { return q.users.Spent(user) }

// Budget returns the squared norm that every user may spend.
func (q *LinearQueries[K]) Budget() SquaredNorm { return q.users.Budget() }

// Left returns the squared norm that the user has left; see PerUser.Left.
func (q *LinearQueries[K]) Left(user K) SquaredNorm { return q.users.Left(user) }

// Radius returns a bound r = σ·√(2·ln(2d/δ)), rounded up: except with probability delta, all d
// coordinates of a released sum are within r of the sum over the query's active users. This assumes
// that the noise has standard deviation σ = Sigma() and is not rounded.
//
// Corollary 4.7 has d in place of 2d, which is correct for continuous Gaussian noise; 2d also
// covers discrete noise. The error is a *units.RangeError unless d ≥ 1 and 1e-300 ≤ delta < 1.
func (q *LinearQueries[K]) Radius(d int, delta float64) (float64, error) {
	if err := cmp.Or(units.Require(d >= 1, "d", float64(d), "at least 1"), budgets.CheckDelta(delta)); err != nil {
		return 0, err
	}
	const margin = 1 + 0x1p-40 // far above the error of the formula in float64
	return q.Sigma() * math.Sqrt(2*(math.Log(2*float64(d))-math.Log(delta))) * margin, nil
}

func (q *LinearQueries[K]) header() header {
	return header{"linear queries", binary.BigEndian.AppendUint64([]byte{formatVersion, 'q'},
		math.Float64bits(q.kappa))}
}

// MarshalBinary returns kappa and every user's account; see the package comment.
func (q *LinearQueries[K]) MarshalBinary() ([]byte, error) {
	users, err := q.users.MarshalBinary()
	return append(q.header().bytes, users...), err
}

// UnmarshalBinary restores a stored state; see the package comment.
func (q *LinearQueries[K]) UnmarshalBinary(data []byte) error {
	users, err := q.header().cut(data)
	if err != nil {
		return err
	}
	return q.users.UnmarshalBinary(users)
}

// SquaredNorm is Σ v_j² of a vector of integers. 2^64 − 1 also represents all larger values, and
// exceeds every budget.
type SquaredNorm uint64

// normSums adds up squared norms exactly, as integers below 2^64 in units of 2^-16.
var normSums = sums[SquaredNorm]{
	price: func(n SquaredNorm, prices []fixed.Amount) error {
		prices[0] = fixed.FromInteger(uint64(n))
		return nil
	},
	loss: func(s []fixed.Amount, _ direction) SquaredNorm { return SquaredNorm(s[0].Integer()) },
}

// NewNorm returns a filter whose accepted squared norms add up, without rounding, to at most the
// budget. The error is a *units.RangeError unless the budget is at least 1 and below 2^64 − 1.
func NewNorm(budget SquaredNorm) (*Filter[SquaredNorm], error) {
	if budget == 0 || budget == math.MaxUint64 {
		return nil, &units.RangeError{Parameter: "norm", Value: float64(budget), Range: "at least 1 and below 2^64 - 1"}
	}
	return newFilter("norm", normSums, []fixed.Amount{fixed.FromInteger(uint64(budget))}), nil
}

// squaredNorm returns Σ v_j², or 2^64 − 1 if it does not fit.
func squaredNorm(vector []int64) SquaredNorm {
	var sum uint64
	for _, v := range vector {
		u := uint64(v)
		if v < 0 {
			u = -u
		}
		hi, lo := bits.Mul64(u, u)
		var carry uint64
		sum, carry = bits.Add64(sum, lo, 0)
		if hi != 0 || carry != 0 {
			return math.MaxUint64
		}
	}
	return SquaredNorm(sum)
}
