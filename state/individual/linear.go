package individual

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"

	"github.com/tollgate-dp/tollgate/internal/numbers/int128"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/filter"
	"github.com/tollgate-dp/tollgate/state/internal/stored"
	"github.com/tollgate-dp/tollgate/state/units"
)

// ErrNoNoise is returned for linear queries without a source of noise.
var ErrNoNoise = errors.New("linear queries need a source of noise")

// greatestTotal bounds what Noise is asked for: mechanisms.GaussianNoise refuses totals beyond it,
// and a refusal that one user causes would tell of that user without any noise.
const greatestTotal = 1 << 53

// Noise draws what hides one coordinate of an answer: total plus a deviate of mean
// 0 and of at least that standard deviation, fresh and independent in every call,
// exactly: the Gaussian law rounded to a lattice that does not depend on the data,
// or the discrete Gaussian law on the integers, both of which are 1/(2σ²)-zCDP for
// a sensitivity of 1. Deviates from an inverse distribution function in float64 are
// no such thing.
type Noise func(total int64, sigma float64) (float64, error)

// LinearQueries answers adaptively chosen linear queries, each a vector of integers
// per user, added up over the users (Feldman and Zrnic, 2021, Corollary 4.7). Every
// user has a budget of squared norm: a user whose Σ‖q_t(x)‖² would exceed it is left
// out. So a user whom few queries touch is counted in all of them, however many
// there are.
//
// Everything answered together is κ-zCDP, removing one user, for any number of
// queries: each answer has Gaussian noise of σ² = norm budget/(2κ), and a user of
// norm ‖q‖ loses ‖q‖²/(2σ²). With continuous Gaussian noise it is √(2κ)-GDP.
//
// Values are integers, in units of the caller's choice (a query of resolution 2^-10
// counts 1024ths, and its norm budget is 2^20 times as large): sums are exact, in any
// order. The influence of one user on a sum of float64 is larger than their own
// value.
//
// Not safe for concurrent use.
type LinearQueries[K comparable] struct {
	value[queries[K], *queries[K]]
}

type queries[K comparable] struct {
	users *Filter[K, SquaredNorm]
	noise Noise
	kappa float64
	sigma float64
}

// NewLinearQueries returns an empty account of linear queries with a squared norm
// of at most norm for every user, norm ≥ 1, that is kappa-zCDP, 2^-40 ≤ kappa ≤
// 2^40. The error is a *units.RangeError, or ErrNoNoise.
func NewLinearQueries[K comparable](norm SquaredNorm, kappa float64, policy Policy, noise Noise) (*LinearQueries[K], error) {
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
	users, err := New[K](policy, budget)
	if err != nil {
		return nil, err
	}
	return &LinearQueries[K]{stored.New(queries[K]{users: users, noise: noise, kappa: kappa, sigma: deviation(norm, kappa)})}, nil
}

func (q *LinearQueries[K]) queries() *queries[K] { return stored.Of(&q.value) }

// deviation returns √(norm/(2κ)), rounded up.
func deviation(norm SquaredNorm, kappa float64) float64 {
	const working = 200
	variance := new(big.Float).SetPrec(working).SetUint64(uint64(norm))
	variance.Quo(variance, big.NewFloat(2*kappa))
	sigma, _ := variance.Sqrt(variance).Float64()
	return math.Nextafter(sigma, math.Inf(1))
}

// Sigma returns the standard deviation of the noise of every coordinate, σ² =
// norm budget/(2κ), rounded up.
func (q *LinearQueries[K]) Sigma() float64 { return q.queries().sigma }

// Kappa returns the zCDP parameter of all answers together.
func (q *LinearQueries[K]) Kappa() float64 { return q.queries().kappa }

// Answer returns the noisy sum of one query over the users that are active in it: d
// coordinates, d ≥ 1. values yields every user once, with their own d integers,
// which are read before the next is asked for and not kept. They are functions of
// the user's data and of earlier answers.
//
// A user whose vector does not have d coordinates, or whose squared norm does not
// fit what is left of the budget, is left out. A sum beyond ±2^53, which takes at least
// 2^21 users, is clamped to it, which brings no two inputs further apart.
//
// On an error there is no answer, and what was charged stays charged: a
// *units.RangeError for d, ErrTwice, or the error of the noise.
func (q *LinearQueries[K]) Answer(d int, values iter.Seq2[K, []int64]) ([]float64, error) {
	if d < 1 {
		return nil, &units.RangeError{Parameter: "d", Value: float64(d), Range: "at least 1"}
	}
	own := q.queries()
	totals, err := own.sum(d, values)
	if err != nil {
		return nil, fmt.Errorf("answering a linear query: %w", err)
	}
	answers := make([]float64, d)
	for j, total := range totals {
		if answers[j], err = own.noise(total.Clamp(-greatestTotal, greatestTotal), own.sigma); err != nil {
			return nil, fmt.Errorf("drawing the noise of a linear query: %w", err)
		}
	}
	return answers, nil
}

// sum charges the users of a query and adds up the vectors of those that are
// active.
func (q *queries[K]) sum(d int, values iter.Seq2[K, []int64]) ([]int128.Int, error) {
	users := q.users.users()
	users.round++
	totals := make([]int128.Int, d)
	for user, vector := range values {
		norm := SquaredNorm(math.MaxUint64)
		if len(vector) == d {
			norm = squaredNorm(vector)
		}
		admitted, err := users.admit(user, norm)
		if err != nil && !errors.Is(err, filter.ErrExceeded) {
			return nil, err
		}
		if !admitted {
			continue
		}
		for j, v := range vector {
			totals[j] = totals[j].Add(v)
		}
	}
	return totals, nil
}

// Spent returns how much squared norm was charged to the user; see Filter.Spent.
func (q *LinearQueries[K]) Spent(user K) SquaredNorm { return q.queries().users.Spent(user) }

// Budget returns the squared norm that every user has.
func (q *LinearQueries[K]) Budget() SquaredNorm { return q.queries().users.Budget() }

// Left returns how much squared norm the user has left; see Filter.Left.
func (q *LinearQueries[K]) Left(user K) SquaredNorm { return q.queries().users.Left(user) }

// Radius returns an r such that all d coordinates of an answer lie within r of the
// sum over the query's active users but for a probability of delta, if the noise has
// a standard deviation of Sigma and no rounding:
//
//	σ·√(2·ln(2d/δ)), rounded up, and σ² = norm budget/(2κ).
//
// Corollary 4.7 has d in place of 2d, which holds for continuous Gaussian noise; this
// holds for the discrete one, too. d ≥ 1, 1e-300 ≤ delta < 1; the error is a
// *units.RangeError.
func (q *LinearQueries[K]) Radius(d int, delta float64) (float64, error) {
	if err := cmp.Or(units.Require(d >= 1, "d", float64(d), "at least 1"), budgets.CheckDelta(delta)); err != nil {
		return 0, err
	}
	const margin = 1 + 0x1p-40 // far above the error of the formula in float64
	return q.Sigma() * math.Sqrt(2*(math.Log(2*float64(d))-math.Log(delta))) * margin, nil
}

func (*queries[K]) Kind() stored.Kind { return "individual.LinearQueries" }

// Blank is of the same norm, kappa, policy and noise.
func (q *queries[K]) Blank() (queries[K], bool) {
	if q.users == nil {
		return *q, false
	}
	next := *q
	none, ok := q.users.users().Blank()
	next.users = &Filter[K, SquaredNorm]{stored.New(none)}
	return next, ok
}

func (q *queries[K]) Layout(c *stored.Codec) {
	kappa := q.kappa
	c.Parameters.Float(&kappa)
	c.Check(kappa == q.kappa, "it has another kappa than the value that it is read into")
	q.users.users().Layout(c)
}
