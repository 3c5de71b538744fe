package bucket_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/long"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/bucket"
	"github.com/tollgate-dp/tollgate/state/budgets"
	"github.com/tollgate-dp/tollgate/state/pld"
	"github.com/tollgate-dp/tollgate/state/units"
)

func newFilter(t testing.TB, table *bucket.Table, l bucket.Ladder, b bucket.Budget) *bucket.Filter {
	t.Helper()
	gate := must.Have(bucket.NewGate(table, b))
	return must.Have(bucket.NewFilter(gate, l))
}

func TestFilterOfGaussiansNeverExceedsAndComesClose(t *testing.T) {
	l := must.Have(bucket.NewGeometricLadder(2, 12, 8))
	table := ladderTable(t, l, 1, bucket.Options{Interval: 0x1p-9, Points: 1 << 13})
	checks, most := 0, 100
	if !long.On() {
		most = 10
	}
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > most {
			return
		}
		budget := bucket.Budget{Mu: rapid.Float64Range(0.2, 1).Draw(t, "mu"), Slack: 1e-10}
		gate := must.Have(bucket.NewGate(table, budget))
		f := must.Have(bucket.NewFilter(gate, l))
		square, limit := 0.0, budget.Mu*budget.Mu
		for range 30 {
			n := bucket.Noise{Sigma: math.Exp(rapid.Float64Range(math.Log(1.5), math.Log(20)).Draw(t, "ln sigma"))}
			fits := f.Fits(n)
			err := f.Spend(n)
			if fits != (err == nil) {
				t.Fatalf("Fits(%v) is %v, Spend says %v", n, fits, err)
			}
			if err == nil {
				i := must.Have(l.Bucket(n.Sigma))
				square += 1 / (l.Sigma(i) * l.Sigma(i))
			}
			// Gaussians are as tight as can be: Σ σ̃^-2 ≤ B² is all there is to check.
			if square > limit*(1+1e-9) {
				t.Fatalf("accepted %v of %v", square, limit)
			}
			if i, e := l.Bucket(n.Sigma); err != nil && e == nil && square+1/(l.Sigma(i)*l.Sigma(i)) < limit*0.998 {
				t.Fatalf("refused %v at %v of %v", n, square, limit)
			}
		}
	})
}

// Whatever an adversary requests, the accepted mechanisms are within the promise by two other
// accountants: the composed privacy loss distribution, and the Rényi divergences of integer orders
// (Mironov, Talwar and Zhang, 2019, Section 3.3), which are the greater ones in the direction P‖Q
// (Theorem 5 there).
func TestFilterOfSampledGaussiansKeepsItsPromise(t *testing.T) {
	const q, slack = 0.05, 1e-8
	l := must.Have(bucket.NewGeometricLadder(0.8, 6, 6))
	options := bucket.Options{Interval: 0x1p-9, Points: 1 << 14}
	table := ladderTable(t, l, q, options)
	pairs := must.Have(l.Pairs(q))
	var alone []*pld.Distribution
	for _, p := range pairs {
		d := must.Have(pld.New(p, pld.Options{Interval: options.Interval}))
		alone = append(alone, d)
	}
	gate := must.Have(bucket.NewGate(table, bucket.Budget{Mu: 1.25, Slack: slack}))
	checks, most := 0, 15
	if !long.On() {
		most = 3
	}
	rapid.Check(t, func(t *rapid.T) {
		if checks++; checks > most {
			return
		}
		f := must.Have(bucket.NewFilter(gate, l))
		for range 100 {
			err := f.Spend(bucket.Noise{Sigma: rapid.Float64Range(0.8, 8).Draw(t, "sigma")})
			if errors.Is(err, accounting.ErrExceeded) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var composed *pld.Distribution
		renyi := make([]float64, 9)
		for i, n := range f.Counts() {
			if n == 0 {
				continue
			}
			part := must.Have(alone[i].Power(int(n)))
			if composed != nil {
				part = must.Have(composed.Compose(part))
			}
			composed = part
			for alpha := 2; alpha < len(renyi); alpha++ {
				renyi[alpha] += float64(n) * sampledRenyi(alpha, q, l.Sigma(i))
			}
		}
		for epsilon := 0.0; epsilon < 9; epsilon += 0.37 {
			d := must.Have(composed.DeltaAt(epsilon))
			most := math.Erf(1.25 / math.Sqrt(8))
			if epsilon > 0 {
				c := must.Have(budgets.ConvertEpsilonMu(epsilon, 1.25, budgets.GDP))
				most = c.Delta
			}
			if d > (most+slack)*(1+1e-9) {
				t.Fatalf("accepted %v: δ(%v) = %v, promised %v", f.Counts(), epsilon, d, most+slack)
			}
		}
		for alpha := 2; alpha < len(renyi); alpha++ {
			if most := float64(alpha) * 1.25 * 1.25 / 2; float64(alpha) <= gate.Orders()[len(gate.Orders())-1] &&
				renyi[alpha] > most*(1+1e-6) {
				t.Fatalf("accepted %v: Rényi divergence of order %d is %v, promised %v", f.Counts(), alpha,
					renyi[alpha], most)
			}
		}
	})
}

// sampledRenyi returns the Rényi divergence of integer order of the sampled Gaussian
// mechanism: log(Σ_k C(α,k)(1−q)^(α−k) q^k e^((k²−k)/(2σ²)))/(α−1).
func sampledRenyi(alpha int, q, sigma float64) float64 {
	sum, binomial := 0.0, 1.0
	for k := 0; k <= alpha; k++ {
		sum += binomial * math.Pow(1-q, float64(alpha-k)) * math.Pow(q,
			float64(k)) * math.Exp(float64(k*k-k)/(2*sigma*sigma))
		binomial *= float64(alpha-k) / float64(k+1)
	}
	return math.Log(sum) / float64(alpha-1)
}

func TestAcceptanceIsMonotone(t *testing.T) {
	mu := 0.6
	if !long.On() {
		mu = 0.4
	}
	l := must.Have(bucket.NewGeometricLadder(1, 10, 8))
	f := newFilter(t, ladderTable(t, l, 0.1, bucket.Options{Interval: 0x1p-8, Points: 1 << 13}), l,
		bucket.Budget{Mu: mu, Slack: 1e-8})
	for step := 0; ; step++ {
		fitted := false
		for i := range l.Len() {
			fits := f.Fits(bucket.Noise{Sigma: l.Sigma(i)})
			if fitted && !fits {
				t.Fatalf("step %d: %v is refused, less noise is not", step, l.Sigma(i))
			}
			fitted = fits
		}
		left := f.Left()
		if math.IsInf(left.Sigma, 1) {
			if fitted {
				t.Fatal("nothing is left, but something fits")
			}
			break
		}
		if !f.Fits(left) {
			t.Fatalf("step %d: what is left, %v, does not fit", step, left)
		}
		must.Have(0, f.Spend(bucket.Noise{Sigma: l.Sigma(max(3, levelOf(t, l, left)))}))
		if step > 10000 {
			t.Fatal("never full")
		}
	}
}

func TestRefusalChangesNothing(t *testing.T) {
	l := must.Have(bucket.NewGeometricLadder(2, 20, 4))
	f := newFilter(t, ladderTable(t, l, 1, bucket.Options{Interval: 0x1p-8, Points: 1 << 13}), l,
		bucket.Budget{Mu: 0.7, Slack: 1e-8})
	must.Have(0, f.Spend(bucket.Noise{Sigma: 2}))
	before := f.Counts()
	var out *units.RangeError
	for _, c := range []struct {
		sigma    float64
		exceeded bool
	}{{2, true}, {1.9, true}, {1e-300, true}, {0, false}, {-1, false}, {math.NaN(), false}, {math.Inf(-1), false}} {
		err := f.Spend(bucket.Noise{Sigma: c.sigma})
		if errors.Is(err, accounting.ErrExceeded) != c.exceeded || errors.As(err, &out) == c.exceeded {
			t.Errorf("σ = %v: %v", c.sigma, err)
		}
		if f.Fits(bucket.Noise{Sigma: c.sigma}) {
			t.Errorf("σ = %v fits", c.sigma)
		}
	}
	if err := f.Spend(bucket.Noise{Sigma: math.Inf(1)}); err != nil {
		t.Errorf("no contribution: %v", err)
	}
	for i, n := range f.Counts() {
		if n != before[i] {
			t.Errorf("level %d counted %d times, before the refusals %d", i, n, before[i])
		}
	}
}

// The promise under adaptive choice is the Rényi one plus the slack. It exceeds the B-GDP one by
// the loss of Lemma C.4, below 10% here.
func TestGateStatesItsAdaptivePromise(t *testing.T) {
	gate := must.Have(bucket.NewGate(newTable(t, bucket.Options{Interval: 0x1p-8, Points: 1 << 10},
		pld.Gaussian{Sigma: 10}),
		bucket.Budget{Mu: 0.5, Slack: 1e-9}))
	epsilon := must.Have(gate.EpsilonAt(1e-5))
	zcdp := must.Have(budgets.ConvertDeltaMu(1e-5, 0.5, budgets.ZCDP))
	gdp := must.Have(budgets.ConvertDeltaMu(1e-5, 0.5, budgets.GDP))
	if epsilon < zcdp.Epsilon || epsilon > zcdp.Epsilon*1.01 || epsilon > gdp.Epsilon*1.1 {
		t.Errorf("ε(1e-5) = %v; zCDP %v, GDP %v", epsilon, zcdp.Epsilon, gdp.Epsilon)
	}
	if d := must.Have(gate.DeltaAt(epsilon)); d > 1e-5*(1+1e-6) || d < 1e-5*0.99 {
		t.Errorf("δ(ε(1e-5)) = %v", d)
	}
}

func levelOf(t *testing.T, l bucket.Ladder, n bucket.Noise) int {
	t.Helper()
	return must.Have(l.Bucket(n.Sigma))
}

// Spent is at least the loss with sampling, at most the loss of the noise without it, and never
// more than the budget.
func TestSpentOfAFilter(t *testing.T) {
	f := spentFilter(t, 0.25)
	if s := f.Spent(); !math.IsInf(s.Sigma, 1) {
		t.Errorf("nothing was accepted, and %v spent", s)
	}
	last := math.Inf(1)
	for f.Spend(bucket.Noise{Sigma: 4}) == nil {
		s := f.Spent().Sigma
		if s > last || s < f.Budget().Sigma*(1-1e-12) {
			t.Errorf("σ̃ of what was spent is %v, %v before, budget %v", s, last, f.Budget())
		}
		last = s
	}
	if math.IsInf(last, 1) {
		t.Error("nothing was accepted")
	}
	exact := spentFilter(t, 1)
	must.Have(0, exact.Spend(bucket.Noise{Sigma: 4}))
	if s := exact.Spent().Sigma; s > 4 || s < 4*(1-1e-9) {
		t.Errorf("one release of σ̃ = 4 is %v", s)
	}
}

func spentFilter(t *testing.T, sampling float64) *bucket.Filter {
	l := must.Have(bucket.NewGeometricLadder(4, 40, 4))
	return newFilter(t, ladderTable(t, l, sampling, bucket.Options{Interval: 0x1p-7, Points: 1 << 9, Tail: 1e-8}), l,
		bucket.Budget{Mu: 0.5, Slack: 1e-6})
}
