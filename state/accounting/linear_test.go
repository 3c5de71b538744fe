package accounting_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/units"
)

func noNoise(total int64, _ float64) (float64, error) { return float64(total), nil }

func vectors(v ...pair[[]int64]) []pair[[]int64] { return v }

func TestLinearQueriesAddUpActiveUsers(t *testing.T) {
	q := must.Have(accounting.NewLinearQueries[string](25, 0.5, accounting.ForRound, noNoise))
	for i, c := range []struct {
		values []pair[[]int64]
		want   []float64
	}{
		// a has used up its 25
		{vectors(pair[[]int64]{"a", []int64{3, -4}}, pair[[]int64]{"b", []int64{1, 1}}), []float64{4, -3}},
		{vectors(pair[[]int64]{"a", []int64{1, 0}}, pair[[]int64]{"b", []int64{-2, 2}}), []float64{-2, 2}},
		// b has 15 left
		{vectors(pair[[]int64]{"a", []int64{0, 0}}, pair[[]int64]{"b", []int64{4, 0}}), []float64{0, 0}},
		{vectors(pair[[]int64]{"b", []int64{-3, 2}}, pair[[]int64]{"c", []int64{5, 0}}), []float64{2, 2}},
		// not two coordinates
		{vectors(pair[[]int64]{"d", []int64{1, 2, 3}}, pair[[]int64]{"e", []int64{1}}, pair[[]int64]{"f", nil}),
			[]float64{0, 0}},
	} {
		got, err := q.Answer(2, all(c.values))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("query %d: %v, %v; want %v", i, got, err, c.want)
		}
	}
	for user, want := range map[string]accounting.SquaredNorm{"a": 0, "b": 2, "c": 0, "d": 25, "nobody": 25} {
		if got := q.Left(user); got != want {
			t.Errorf("%s has %d left, want %d", user, got, want)
		}
	}
}

// Corollary 4.7 has S_t = (X_i : Σ_{j≤t} ‖q_j(X_i)‖² ≤ B), over all queries: ForGood. Algorithm 3
// counts only the admitted ones, and never has fewer users: ForRound.
func TestActiveSetsAreThoseOfTheCorollary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const budget = 50
		forGood := must.Have(accounting.NewLinearQueries[string](budget, 0.5, accounting.ForGood, noNoise))
		forRound := must.Have(accounting.NewLinearQueries[string](budget, 0.5, accounting.ForRound, noNoise))
		asked, answered := 0, 0
		for range rapid.IntRange(1, 30).Draw(t, "queries") {
			v := rapid.Int64Range(-6, 6).Draw(t, "value")
			norm := int(v * v)
			asked += norm
			corollary, algorithm := 0.0, 0.0
			if asked <= budget {
				corollary = float64(v)
			}
			if answered+norm <= budget {
				answered += norm
				algorithm = float64(v)
			}
			values := all(vectors(pair[[]int64]{"a", []int64{v}}))
			if got := must.Have(forGood.Answer(1, values)); got[0] != corollary {
				t.Fatalf("ForGood answers %v, Corollary 4.7 %v", got[0], corollary)
			}
			if got := must.Have(forRound.Answer(1, values)); got[0] != algorithm {
				t.Fatalf("ForRound answers %v, Algorithm 3 %v", got[0], algorithm)
			}
		}
	})
}

// One user must not decide whether a sum is released: the noise of transforms/mechanisms refuses
// totals beyond 2^53, and sums never get there.
func TestNoUserMakesTheNoiseRefuseASum(t *testing.T) {
	long.Test(t)
	const users, most = 1<<21 + 1, 1<<32 - 1
	noise := func(total int64, _ float64) (float64, error) {
		if total > 1<<53 || total < -1<<53 {
			return 0, errors.New("a total that it refuses")
		}
		return float64(total), nil
	}
	q := must.Have(accounting.NewLinearQueries[int](math.MaxUint64-1, 1, accounting.ForRound, noise))
	got, err := q.Answer(2, func(yield func(int, []int64) bool) {
		vector := []int64{most, 0}
		for user := 0; user < users && yield(user, vector); user++ {
		}
	})
	if err != nil || !slices.Equal(got, []float64{1 << 53, 0}) {
		t.Errorf("%v, %v; want 2^53", got, err)
	}
}

func TestNoAnswerIsGivenOnAnError(t *testing.T) {
	broken := errors.New("no randomness")
	calls := 0
	q := must.Have(accounting.NewLinearQueries[string](25, 0.5, accounting.ForRound, func(total int64,
		_ float64) (float64,
		error) {
		if calls++; calls == 2 {
			return 0, broken
		}
		return float64(total), nil
	}))
	v := []int64{1, 1}
	if got, err := q.Answer(2, all(vectors(pair[[]int64]{"a", v}))); !errors.Is(err, broken) || got != nil {
		t.Errorf("%v, %v; want the error of the noise and no answer", got, err)
	}
	if got, err := q.Answer(2, all(vectors(pair[[]int64]{"a", v}, pair[[]int64]{"a", v}))); !errors.Is(err,
		accounting.ErrTwice) || got != nil {
		t.Errorf("%v, %v; want ErrTwice and no answer", got, err)
	}
	if left := q.Left("a"); left != 21 {
		t.Errorf("%d left of 25 after two charges of 2", left)
	}
}

func TestLinearQueriesNameBadParameters(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	var out *units.RangeError
	for _, kappa := range []float64{nan, inf, -1, 0, 0x1p41, 0x1p-41} {
		if _, err := accounting.NewLinearQueries[int](1, kappa, accounting.ForRound, noNoise); !errors.As(err, &out) ||
			out.Parameter != "kappa" {
			t.Errorf("kappa %v: %v", kappa, err)
		}
	}
	for _, norm := range []accounting.SquaredNorm{0, math.MaxUint64} {
		if _, err := accounting.NewLinearQueries[int](norm, 1, accounting.ForRound, noNoise); !errors.As(err, &out) ||
			out.Parameter != "norm" {
			t.Errorf("norm %d: %v", norm, err)
		}
	}
	if _, err := accounting.NewLinearQueries[int](1, 1, accounting.ForRound, nil); !errors.Is(err,
		accounting.ErrNoNoise) {
		t.Errorf("no noise: %v", err)
	}
	q := must.Have(accounting.NewLinearQueries[string](1, 1, accounting.ForRound, noNoise))
	if _, err := q.Answer(0, all[[]int64](nil)); !errors.As(err, &out) || out.Parameter != "d" {
		t.Errorf("no coordinates: %v", err)
	}
	if _, err := q.Radius(0, 0.1); !errors.As(err, &out) || out.Parameter != "d" {
		t.Errorf("no coordinates: %v", err)
	}
	for _, delta := range []float64{nan, inf, -1, 0, 1} {
		if _, err := q.Radius(1, delta); !errors.As(err, &out) || out.Parameter != "delta" {
			t.Errorf("delta %v: %v", delta, err)
		}
	}
}

// σ² = B/(2κ), never less and by no more than two roundings more.
func TestDeviationCoversTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		norm := accounting.SquaredNorm(rapid.Uint64Range(1, math.MaxUint64-1).Draw(t, "norm"))
		kappa := math.Exp(rapid.Float64Range(-27, 27).Draw(t, "log kappa"))
		q := must.Have(accounting.NewLinearQueries[int](norm, kappa, accounting.ForRound, noNoise))
		sigma := new(big.Rat).SetFloat64(q.Sigma())
		variance := new(big.Rat).Mul(sigma, sigma)
		exact := new(big.Rat).SetFrac(new(big.Int).SetUint64(uint64(norm)), big.NewInt(2))
		exact.Quo(exact, new(big.Rat).SetFloat64(kappa))
		if variance.Cmp(exact) < 0 {
			t.Fatalf("σ = %v is too small for norm %d and κ = %v", q.Sigma(), norm, kappa)
		}
		ratio, _ := variance.Quo(variance, exact).Float64()
		if ratio > 1+0x1p-50 {
			t.Fatalf("σ² is %v times B/(2κ)", ratio)
		}
		if q.Kappa() != kappa {
			t.Fatalf("κ is %v, want %v", q.Kappa(), kappa)
		}
	})
}

// The radius holds the noise of all coordinates except with probability δ: with Gaussian noise of σ
// the union bound over d coordinates is 2Q(r/σ)·d, far below δ.
func TestRadiusHoldsTheNoise(t *testing.T) {
	const delta, d, queries = 0.1, 5, 20000
	rng := rand.New(runseed.PCG(t, 1, 2))
	q := must.Have(accounting.NewLinearQueries[string](100, 0.5, accounting.ForRound,
		func(total int64, sigma float64) (float64, error) {
			return float64(total) + sigma*rng.NormFloat64(), nil
		}))
	r := must.Have(q.Radius(d, delta))
	// σ = 10; 10·√(2·ln(100)) = 30.348542587702927017259… (mpmath 1.3.0)
	if r < 30.348542587702927 || r > 30.3485425878 {
		t.Errorf("the radius is %.17g, want 30.348542587702927017", r)
	}
	outside := 0
	for range queries {
		for _, a := range must.Have(q.Answer(d, all[[]int64](nil))) {
			if math.Abs(a) > r {
				outside++
				break
			}
		}
	}
	// False reject below 1e-9: the true probability is 5·2Q(3.035) = 0.0120.
	if outside > 400 || outside < 100 {
		t.Errorf("%d of %d answers are farther away than the radius, want about 240", outside, queries)
	}
}
