package continual_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/continual"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

func matrices(steps int) map[string]continual.Matrix {
	return map[string]continual.Matrix{"tree": must.Have(continual.NewTree(steps)),
		"root": must.Have(continual.NewRoot(steps))}
}

// rows writes C out: for a tree a row for every complete left node, for the root the binomial
// series of (1 − x)^(−1/2).
func rows(name string, steps int) (c [][]float64) {
	if name == "root" {
		for i := range steps {
			row := make([]float64, steps)
			for j := range i + 1 {
				k := float64(i - j) // C(2k, k)/4^k
				a, _ := math.Lgamma(2*k + 1)
				b, _ := math.Lgamma(k + 1)
				row[j] = math.Exp(a - 2*b - 2*k*math.Ln2)
			}
			c = append(c, row)
		}
		return c
	}
	for size := 1; size <= steps; size *= 2 {
		for from := 0; from+size <= steps; from += 2 * size {
			row := make([]float64, steps)
			for j := from; j < from+size; j++ {
				row[j] = 1
			}
			c = append(c, row)
		}
	}
	return c
}

func norm(c [][]float64, delta []float64) (squared float64) {
	for _, row := range c {
		y := 0.0
		for j, v := range delta {
			y += row[j] * v
		}
		squared += y * y
	}
	return math.Sqrt(squared)
}

// Contribution by contribution, an account is charged the norm of the whole matrix times its
// admitted contributions; the budget is never exceeded, and a refused contribution would have
// exceeded it.
func TestAccountsPayTheNormOfTheirContributions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, 40).Draw(t, "steps")
		sigma := rapid.Float64Range(0.5, 50).Draw(t, "sigma")
		budget := rapid.Float64Range(0.01, 2).Draw(t, "mu")
		for name, m := range matrices(steps) {
			c := rows(name, steps)
			a := must.Have(continual.NewAccount(m, sigma, loss.GDP{Mu: budget}))
			delta := make([]float64, steps)
			for step := range steps {
				count := rapid.Uint32Range(0, 3).Draw(t, "count")
				delta[step] += float64(count)
				err := a.Spend(continual.Contribution{Step: step, Count: count})
				price := norm(c, delta) / sigma
				switch {
				case errors.Is(err, accounting.ErrExceeded):
					if price < budget*(1-1e-5) {
						t.Fatalf("%s: refused at %v of %v", name, price, budget)
					}
					delta[step] -= float64(count)
				case err != nil:
					t.Fatal(err)
				case price > budget*(1+1e-5):
					t.Fatalf("%s: admitted at %v of %v", name, price, budget)
				}
				if got, want := a.Spent().Mu, norm(c, delta)/sigma; math.Abs(got-want) > 1e-5*want {
					t.Fatalf("%s: spent %v, not %v", name, got, want)
				}
			}
			again := must.Have(continual.Price(m, sigma, a.Admitted()))
			if again != a.Spent() || again.Mu > budget {
				t.Fatalf("%s: %v again, not %v of %v", name, again, a.Spent(), budget)
			}
		}
	})
}

// Sums of squares of central binomial coefficients over 16^k: exactly for few steps, and for many
// by the expansion of Landau's constants, (ln T + γ + 4·ln 2)/π − 1/(4πT) (Watson, 1930), up to
// T^-2 and the rounding of entries.
func TestRootHasLandausConstants(t *testing.T) {
	for steps, want := range map[int]float64{1: 1, 2: 1.25, 3: 1.390625, 4: 1.48828125} {
		m := must.Have(continual.NewRoot(steps))
		price := must.Have(continual.Price(m, 1, []continual.Contribution{{Step: 0, Count: 1}}))
		if v := m.Variance(steps - 1); math.Abs(v-want) > 1e-5 || math.Abs(price.Mu*price.Mu-want) > 1e-5 {
			t.Errorf("%d steps: variance %v, price %v, not %v", steps, v, price.Mu*price.Mu, want)
		}
	}
	for _, steps := range []int{256, 1024, 1 << 14} {
		limit := (math.Log(float64(steps)) + 0.57721566490153286 + 4*math.Ln2) / math.Pi
		want := limit - 1/(4*math.Pi*float64(steps))
		if v := must.Have(continual.NewRoot(steps)).Variance(steps - 1); math.Abs(v-want) > 2e-5 {
			t.Errorf("%d steps: %v, Landau's constant is %v", steps, v, want)
		}
	}
}

// The first contribution costs most and the last one least; several cost more than one by one. In
// a tree a contribution to the first of 1,024 steps costs 11 rows, to the last one row, and on
// average 6: 1,024 nodes are published of 2,047.
func TestPricesOfSingleContributions(t *testing.T) {
	for name, m := range matrices(1024) {
		before := math.Inf(1)
		for _, step := range []int{0, 1, 500, 1000, 1023} {
			p := must.Have(continual.Price(m, 10, []continual.Contribution{{Step: step, Count: 1}})).Mu
			if p > before {
				t.Errorf("%s: step %d costs %v, an earlier one %v", name, step, p, before)
			}
			before = p
		}
		one := must.Have(continual.Price(m, 10, []continual.Contribution{{Step: 3, Count: 1}})).Mu
		two := must.Have(continual.Price(m, 10, []continual.Contribution{{Step: 3, Count: 1}, {Step: 4, Count: 1}})).Mu
		if two*two <= 2*one*one*1.2 {
			t.Errorf("%s: two neighbouring steps cost %v, one %v", name, two*two, one*one)
		}
	}
	tree, all := must.Have(continual.NewTree(1024)), 0.0
	for step := range 1024 {
		mu := must.Have(continual.Price(tree, 1, []continual.Contribution{{Step: step, Count: 1}})).Mu
		all += mu * mu
		if want, ok := map[int]float64{0: 11, 1: 10, 1022: 2, 1023: 1}[step]; ok && math.Abs(mu*mu-want) > 1e-9 {
			t.Errorf("step %d of 1,024 costs %v rows of a tree, not %v", step, mu*mu, want)
		}
	}
	if math.Abs(all/1024-6) > 1e-9 {
		t.Errorf("a step of 1,024 costs %v rows of a tree on average", all/1024)
	}
}

// normal is seeded noise, for laws: float64 is enough for them.
func normal(t testing.TB, seed uint64) func(int64, float64) (float64, error) {
	random := rand.New(runseed.PCG(t, seed, 11))
	return func(total int64, sigma float64) (float64, error) {
		return float64(total) + sigma*random.NormFloat64(), nil
	}
}

// Estimates are the true counts with noise of the variance that is stated, and of a covariance that
// follows from it: at two steps of a tree, the nodes that both have.
func TestEstimatesHaveTheirVariance(t *testing.T) {
	const steps, runs, sigma = 24, 20_000, 3.0
	for name, m := range matrices(steps) {
		squares := make([]float64, steps)
		product := 0.0 // product of the errors after steps 17 and 18 (a tree: nodes 16, 17 and 16, 17+18)
		for run := range runs {
			c := must.Have(continual.NewCounter(m, sigma, normal(t, uint64(run))))
			truth, errs := 0.0, make([]float64, steps)
			for step := range steps {
				x := int64((step*7+run)%11) - 3
				truth += float64(x)
				errs[step] = must.Have(c.Next(x)) - truth
				squares[step] += errs[step] * errs[step] / runs
			}
			product += errs[16] * errs[17] / runs
			if _, err := c.Next(1); !errors.Is(err, continual.ErrOver) {
				t.Fatalf("%s goes on: %v", name, err)
			}
		}
		for step, got := range squares {
			// A mean of 20,000 squares is 1% off at one deviation; one of 48 is beyond 6 of them
			// with probability 1e-6 (the tail of χ² is heavier than the normal one's).
			if want := sigma * sigma * m.Variance(step); math.Abs(got-want) > 6*want*math.Sqrt(2.0/runs) {
				t.Errorf("%s, step %d: variance %v, not %v", name, step, got, want)
			}
		}
		want := sigma * sigma // tree: the node of the first 16 steps
		if name == "root" {
			want = 0
			for k := range 17 { // Σ_k r_k·r_{k+1}
				a, b := m.Variance(k)-m.Variance(k-1), m.Variance(k+1)-m.Variance(k)
				want += sigma * sigma * math.Sqrt(a*b)
			}
		}
		if deviation := sigma * sigma * m.Variance(17) * 2 / math.Sqrt(runs); math.Abs(product-want) > 6*deviation {
			t.Errorf("%s: covariance of steps 17 and 18 is %v, not %v", name, product, want)
		}
	}
}

// The most powerful test, the likelihood ratio of all outputs for one user's contributions,
// distinguishes the inputs as well as the account claims, and better than the sum of single prices
// would allow. So pricing several steps of one user separately is refuted.
func TestAttackOnSeveralStepsOfOneUser(t *testing.T) {
	const steps, runs, sigma = 16, 40_000, 12.0
	for name, m := range matrices(steps) {
		var all []continual.Contribution
		single := 0.0
		for step := range steps {
			c := continual.Contribution{Step: step, Count: 1}
			all = append(all, c)
			p := must.Have(continual.Price(m, sigma, []continual.Contribution{c})).Mu
			single += p * p
		}
		claimed := must.Have(continual.Price(m, sigma, all))
		// The likelihood ratio weighs every row that is published with what the user adds to it.
		c := rows(name, steps)
		score := func(run uint64, x int64) float64 {
			var published []float64
			noise := normal(t, run)
			counter := must.Have(continual.NewCounter(m, sigma, func(total int64, s float64) (float64, error) {
				v, err := noise(total, s)
				published = append(published, v/m.Unit())
				return v, err
			}))
			for range steps {
				must.Have(counter.Next(x))
			}
			sum := 0.0
			if name == "root" {
				for i, v := range published {
					y := 0.0
					for j := range i + 1 {
						y += c[i][j]
					}
					sum += y * v
				}
				return sum / (sigma * sigma)
			}
			i := 0
			for step := range steps { // nodes are published as they are completed
				for size := 1; (step+1)%size == 0 && size <= steps; size *= 2 {
					if step/size%2 == 0 {
						sum += float64(size) * published[i]
						i++
					}
				}
			}
			if i != len(published) {
				t.Fatalf("%d rows published, %d of them used", len(published), i)
			}
			return sum / (sigma * sigma)
		}
		mu2 := claimed.Mu * claimed.Mu
		// δ is P(ratio > e^ε) less e^ε times that for the other input.
		const epsilon = 1.0
		with, without := 0.0, 0.0
		for run := range uint64(runs) {
			if score(run, 1)-mu2/2 > epsilon {
				with += 1.0 / runs
			}
			if score(run+runs, 0)-mu2/2 > epsilon {
				without += 1.0 / runs
			}
		}
		shown := with - math.E*without
		deviation := math.Sqrt((with + math.E*math.E*without) / runs)
		says := must.Have(conversion.GDPToDelta(claimed, epsilon))
		naive := must.Have(conversion.GDPToDelta(loss.GDP{Mu: math.Sqrt(single)}, epsilon))
		t.Logf("%s: δ(1) shown %.4f ± %.4f, claimed %.4f, without what steps cost together %.4f", name, shown,
			deviation, says, naive)
		if math.Abs(shown-says) > 6*deviation {
			t.Errorf("%s: shown %v, claimed %v", name, shown, says)
		}
		if shown-4.5*deviation < naive {
			t.Errorf("%s: a claim of single prices, %v, is not refuted by %v", name, naive, shown)
		}
	}
}

func TestInputsOutOfRange(t *testing.T) {
	for _, steps := range []int{0, -1, continual.MaxSteps + 1} {
		if _, err := continual.NewTree(steps); err == nil {
			t.Errorf("a tree of %d steps", steps)
		}
		if _, err := continual.NewRoot(steps); err == nil {
			t.Errorf("a root of %d steps", steps)
		}
	}
	for name, m := range matrices(8) {
		for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			if _, err := continual.NewAccount(m, v, loss.GDP{Mu: 1}); err == nil {
				t.Errorf("%s: σ = %v", name, v)
			}
			if _, err := continual.NewAccount(m, 1, loss.GDP{Mu: v}); err == nil {
				t.Errorf("%s: μ = %v", name, v)
			}
			if _, err := continual.NewCounter(m, v, normal(t, 1)); err == nil {
				t.Errorf("%s: a counter of σ = %v", name, v)
			}
		}
		if _, err := continual.NewCounter(m, 1, nil); err == nil {
			t.Errorf("%s: a counter without noise", name)
		}
		a := must.Have(continual.NewAccount(m, 1<<10, loss.GDP{Mu: 1 << 20}))
		for _, c := range []continual.Contribution{{-1, 1}, {8, 1}, {3, continual.MaxContributed}, {2, 1}, {4, 1}} {
			err := a.Spend(c)
			if ok := c.Step == 3; (err == nil) != ok {
				t.Errorf("%s: %+v: %v", name, c, err)
			}
		}
		if got := a.Admitted(); len(got) != 1 || got[0].Step != 3 {
			t.Errorf("%s: admitted %v", name, got)
		}
		if variance := m.Variance(-1) + m.Variance(8); variance != 0 {
			t.Errorf("%s: steps that there are not have variance %v", name, variance)
		}
	}
}

// Counts beyond the range of the noise are clamped, and cost as much as they claim.
func TestHugeStepsAreClamped(t *testing.T) {
	for name, m := range matrices(4) {
		c := must.Have(continual.NewCounter(m, 1, func(total int64, _ float64) (float64, error) {
			if total > 1<<53 || total < -1<<53 {
				t.Errorf("%s: a row of %d", name, total)
			}
			return float64(total), nil
		}))
		for _, x := range []int64{math.MaxInt64, math.MinInt64, math.MaxInt64, 5} {
			if v := must.Have(c.Next(x)); math.IsNaN(v) || math.Abs(v) > 1<<33 {
				t.Errorf("%s: %v", name, v)
			}
		}
	}
}
