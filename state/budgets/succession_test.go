package budgets

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"sort"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/base/numbers/bigmath"
	"github.com/tollgate-dp/tollgate/internal/testing/must"
	"github.com/tollgate-dp/tollgate/state/units"
)

// strategy is an adversary who chooses the succession of budgets from the releases. Up to the first
// of the times, in units of μ², the attacked user contributes under the first budget. Then the
// adversary, who has seen the releases, either uses this budget up or has it changed into the next
// one, and so on. Every budget's δ_keys is used up, too, by a key that only the attacked user has:
// it shows with probability δ_keys, and never without that user.
//
// Gaussian releases reveal only a Brownian path with drift 1 with the user and 0 without (theorem
// T1), so its point w at time t has the likelihood ratio e^(w − t/2). The adversary gains the
// greatest P(S) − e^ε·Q(S) over all sets of outputs S, or with the two worlds exchanged. After the
// last decision both have a closed form; before it, an integral over the normal law of the path,
// which is smooth between the points at which the decision changes.
type strategy struct {
	epsilon  float64
	budgets  []Budget
	times    []float64 // times of the decisions, one fewer than budgets
	exchange bool      // without the user against with
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// excess returns E[(a·e^(√s·Z − s/2) − c)₊] for standard normal Z.
func excess(a, c, s float64) float64 {
	if s == 0 {
		return max(0, a-c)
	}
	d := (math.Log(a/c) + s/2) / math.Sqrt(s)
	return a*normalCDF(d) - c*normalCDF(d-math.Sqrt(s))
}

// shortfall returns E[(c − a·e^(√s·Z − s/2))₊].
func shortfall(a, c, s float64) float64 {
	if s == 0 {
		return max(0, c-a)
	}
	d := (math.Log(a/c) + s/2) / math.Sqrt(s)
	return c*normalCDF(math.Sqrt(s)-d) - a*normalCDF(-d)
}

// keysOf returns the greatest probability that private keys have appeared under budget i or an
// earlier one. A budget that began when more than its B² was spent admits no more keys.
func (a *strategy) keysOf(i int) float64 {
	keys := a.budgets[0].Keys.Float()
	for j := 1; j <= i; j++ {
		if a.times[j-1] <= a.budgets[j].Mu2.Float() {
			keys = max(keys, a.budgets[j].Keys.Float())
		}
	}
	return keys
}

// staying returns the gain, by the density without the user, of using budget number i up
// from time t and point w on.
func (a *strategy) staying(i int, t, w float64) float64 {
	keys, rest := a.keysOf(i), max(0, a.budgets[i].Mu2.Float()-t)
	ratio := math.Exp(w - t/2)
	if a.exchange {
		return shortfall(math.Exp(a.epsilon)*(1-keys)*ratio, 1, rest)
	}
	return keys*ratio + excess((1-keys)*ratio, math.Exp(a.epsilon), rest)
}

// deciding returns the gain at decision i: the better of staying and changing.
func (a *strategy) deciding(i int, w float64) float64 {
	return max(a.staying(i, a.times[i], w), a.changing(i, w))
}

func (a *strategy) changing(i int, w float64) float64 {
	if i+1 == len(a.times) {
		return a.staying(i+1, a.times[i], w)
	}
	return a.expected(i+1, w, a.times[i+1]-a.times[i])
}

// expected returns the gain at decision i, seen from point w at distance s before it.
func (a *strategy) expected(i int, w, s float64) float64 {
	sigma := math.Sqrt(s)
	better := func(x float64) bool { return a.changing(i, x) > a.staying(i, a.times[i], x) }
	integrand := func(x float64) float64 {
		z := (x - w) / sigma
		return math.Exp(-z*z/2) / (sigma * math.Sqrt(2*math.Pi)) * a.deciding(i, x)
	}
	sum, from := 0.0, w-9*sigma
	for _, to := range a.points(i, from, w+s+9*sigma) {
		if better(from) != better(to) {
			turn := from + (to-from)*float64(sort.Search(1<<40, func(n int) bool {
				return better(from+(to-from)*math.Ldexp(float64(n), -40)) == better(to)
			}))*0x1p-40
			sum += quad.Fixed(integrand, from, turn, 12, quad.Legendre{}, 0)
			from = turn
		}
		sum += quad.Fixed(integrand, from, to, 12, quad.Legendre{}, 0)
		from = to
	}
	return sum
}

// points returns the ends of intervals from low to high on which the gain after decision i is
// smooth. It bends where the rejection region of a budget begins, and more sharply if less of that
// budget is left.
func (a *strategy) points(i int, low, high float64) []float64 {
	var points []float64
	for part := 1.0; part <= 12; part++ {
		points = append(points, low+(high-low)*part/12)
	}
	for j := i; j < len(a.budgets); j++ {
		t := a.times[i]
		bend, width := a.epsilon-math.Log1p(-a.keysOf(j)), math.Sqrt(max(0, a.budgets[j].Mu2.Float()-t))
		if a.exchange {
			bend = -a.epsilon - math.Log1p(-a.keysOf(j))
		}
		for _, n := range []float64{-6, -3, -1, 0, 1, 3, 6} {
			if x := bend + t/2 + n*width; x > low && x < high {
				points = append(points, x)
			}
		}
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// gain returns what the adversary gains, as a part of delta.
func (a strategy) gain(delta float64) float64 { return a.expected(0, 0, a.times[0]) / delta }

// best returns the greatest gain over when the decisions are made, as parts of the first B²
// or just when a next budget is used up, and over both directions.
func best(epsilon, delta float64, fractions []float64, budgets ...Budget) float64 {
	most, limit := 0.0, budgets[0].Mu2.Float()
	var moments []float64
	for _, f := range fractions {
		moments = append(moments, f*limit)
	}
	for _, b := range budgets {
		moments = append(moments, b.Mu2.Float())
	}
	slices.Sort(moments)
	var try func(times []float64)
	try = func(times []float64) {
		if len(times) == len(budgets)-1 {
			for _, exchange := range []bool{false, true} {
				a := strategy{epsilon: epsilon, budgets: budgets, times: times, exchange: exchange}
				most = max(most, a.gain(delta))
			}
			return
		}
		for _, m := range slices.Compact(slices.Clone(moments)) {
			if len(times) == 0 || m > times[len(times)-1] {
				try(append(times[:len(times):len(times)], m))
			}
		}
	}
	try(nil)
	return most
}

var often = []float64{0.02, 0.1, 0.3, 0.5, 0.7, 0.9}

// budgets have δ_keys as these parts of δ.
func budgets(t testing.TB, epsilon, delta float64, keys ...float64) []Budget {
	t.Helper()
	out := make([]Budget, len(keys))
	for i, k := range keys {
		var err error
		if out[i], err = NewBudget(epsilon, delta, GDP, k*delta); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A change that is decided from the releases may choose the weaker of two budgets path by path, and
// gains nothing if no part of a budget rises. If δ_keys rises and B² falls, each budget alone keeps
// the promise, and both together do not.
func TestRuleNoChangeOfBudgetsWeakensThePromise(t *testing.T) {
	for _, tc := range []struct {
		delta    float64
		from, to float64 // δ_keys as parts of δ
		want     float64 // gain of the best strategy, as a part of δ
	}{
		{1e-6, 0, 0.1, 1.10}, {1e-6, 0, 0.9, 1.895}, {1e-3, 0.1, 0.9, 1.69},
	} {
		b := budgets(t, 1, tc.delta, tc.from, tc.to)
		got, bound := best(1, tc.delta, often, b...), deltaOver(1, GDP, b...)/tc.delta
		if math.Abs(got-tc.want) > 0.0005 {
			t.Errorf("δ_keys from %v to %v of %v: the best strategy comes to %.4f δ, want %v", tc.from, tc.to, tc.delta,
				got, tc.want)
		}
		if back := deltaOver(1, GDP, b[1], b[0]) / tc.delta; back != bound {
			t.Errorf("δ_keys from %v to %v of %v: deltaOver says %v, and %v in the other order", tc.from, tc.to,
				tc.delta, bound, back)
		}
		if got > bound || bound > 1+tc.to+1e-12 {
			t.Errorf("δ_keys from %v to %v of %v: the best strategy comes to %v δ, and deltaOver says %v", tc.from,
				tc.to, tc.delta, got, bound)
		}
		var raised *RaisedError
		if err := b[0].CheckNext(b[1]); !errors.As(err, &raised) || raised.Parameter != "delta_keys" {
			t.Errorf("δ_keys from %v to %v: %v", tc.from, tc.to, err)
		}
		if err := b[1].CheckNext(b[0]); !errors.As(err, &raised) || raised.Parameter != "mu2" {
			t.Errorf("δ_keys from %v back to %v: %v", tc.to, tc.from, err)
		}
	}
}

// The grid of allowed changes: every part kept or lowered, once or twice.
func TestRuleChangesThatAreAllowedKeepThePromise(t *testing.T) {
	for _, promise := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {1, 1e-3}, {0.1, 1e-5}, {4, 1e-9}} {
		epsilon, delta := promise.epsilon, promise.delta
		var lower []Budget // than the first one, or no higher
		first := budgets(t, epsilon, delta, 0.5)[0]
		for _, e := range []float64{1, 0.9, 0.5} {
			for _, d := range []float64{1, 0.7} {
				for _, k := range []float64{0, 0.1, 0.45, 0.5, 0.6} {
					if b, err := NewBudget(e*epsilon, d*delta, GDP, k*delta); err != nil {
						t.Fatal(err)
					} else if first.CheckNext(b) == nil {
						lower = append(lower, b)
					}
				}
			}
		}
		if len(lower) < 10 {
			t.Fatalf("only %d changes are allowed: the grid shows nothing", len(lower))
		}
		// A strategy that stays uses up the promise, and so does the best one, but no more.
		const rounding = 1e-9
		for i, b := range lower {
			if got := best(epsilon, delta, often, first, b); got > 1+rounding || got < 0.95 {
				t.Errorf("(%v, %v): a change to %+v comes to %v δ", epsilon, delta, b, got)
			}
			next := lower[(i*7+3)%len(lower)]
			if i%3 != 0 || b.CheckNext(next) != nil {
				continue
			}
			if got := best(epsilon, delta, []float64{0.6}, first, b, next); got > 1+rounding || got < 0.95 {
				t.Errorf("(%v, %v): changes to %+v and %+v come to %v δ", epsilon, delta, b, next, got)
			}
		}
	}
}

// Lowering δ_keys and restoring it keeps the first promise, but not the promise made to users who
// joined in between. B² never exceeds the first one's: ε is lower under the later budgets.
func TestRuleWhatWasLoweredIsNotRaisedAgain(t *testing.T) {
	first := budgets(t, 1, 1e-6, 0.5)[0]
	later := budgets(t, 0.9, 1e-6, 0, 0.5)
	must.Have(0, first.CheckNext(later[0]))
	if got := best(1, 1e-6, []float64{0.6}, first, later[0], later[1]); got > 1+1e-9 {
		t.Errorf("the first promise comes to %v δ", got)
	}
	if got := best(0.9, 1e-6, often, later...); got < 1.4 {
		t.Errorf("the promise in between comes to %v δ only", got)
	}
	if later[0].CheckNext(later[1]) == nil {
		t.Error("δ_keys may rise again")
	}
}

// Sequences of budgets: those that CheckNext permits keep the promise of each budget to users who
// join under it, by the exact curve, rounded upward; those that it refuses for δ_keys or B² do not.
func TestRuleSequencesOfBudgetsKeepEveryPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon, delta := math.Exp(rapid.Float64Range(-4, 3).Draw(t, "ln ε")),
			math.Exp(rapid.Float64Range(-40, -3).Draw(t, "ln δ"))
		a := rapid.SampledFrom([]Accountant{GDP, ZCDP, RDP}).Draw(t, "accountant")
		keys := rapid.SampledFrom([]float64{0, 0.1, 0.5, 0.9}).Draw(t, "δ_keys/δ") * delta
		var inForce []Budget
		for range rapid.IntRange(2, 6).Draw(t, "changes") {
			b, err := NewBudget(epsilon, delta, a, keys)
			if err != nil {
				t.Skip()
			}
			refused := false
			if n := len(inForce); n > 0 {
				last := inForce[n-1]
				err := last.CheckNext(b)
				var raised *RaisedError
				if refused = errors.As(err, &raised); refused &&
					(raised.Parameter == "delta_keys" || raised.Parameter == "mu2") {
					if got := deltaOver(last.Epsilon, a, last, b); got <= last.Delta {
						t.Fatalf("%v was refused after %v, and keeps its δ: %v", b, last, got)
					}
				}
			}
			if !refused {
				inForce = append(inForce, b)
			}
			switch rapid.IntRange(0, 4).Draw(t, "what changes") {
			case 0:
				epsilon *= rapid.Float64Range(0.5, 1.05).Draw(t, "ε")
			case 1:
				delta *= rapid.Float64Range(0.5, 1.05).Draw(t, "δ")
				keys = min(keys, delta/2)
			default:
				keys = delta * rapid.SampledFrom([]float64{0, 0.05, 0.3, 0.6, 0.95}).Draw(t, "δ_keys/δ")
			}
		}
		for i, b := range inForce {
			if got := deltaOver(b.Epsilon, a, inForce[i:]...); got > b.Delta {
				t.Fatalf("budget %d of %v comes to δ = %v", i, inForce, got)
			}
		}
	})
}

// deltaOver returns the δ at ε, rounded up, of accounts checked against one of the budgets at every
// admission: δ of the largest B², and the largest δ_keys, each with its planned part. It holds for
// any order of the budgets, even if they are chosen from releases: along every path Spent +
// Reserved stays within the largest B², and the probabilities with which private keys may show add
// up to at most the largest δ_keys. Without budgets it is 0; for an invalid ε or an unknown
// accountant it is 1.
func deltaOver(epsilon float64, a Accountant, budgets ...Budget) float64 {
	if !(epsilon >= 0) || !a.Known() {
		return 1
	}
	var mu2 units.Mu2
	var keys units.Delta
	for _, b := range budgets {
		b = b.Whole()
		mu2 = max(mu2, b.Mu2)
		if b.Keys.Cmp(keys) > 0 {
			keys = b.Keys
		}
	}
	sum := bigmath.Up().Add(deltaUpper(bigFromMu2(mu2), epsilon, a), bigFromDelta(keys))
	return min(1, bigmath.RoundUp(sum))
}

// bigFromDelta returns a δ exactly.
func bigFromDelta(d units.Delta) *big.Float {
	x := bigmath.Zero().SetInt(d.Big())
	return x.SetMantExp(x, -units.FinestBits)
}
