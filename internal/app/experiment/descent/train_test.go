package descent

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/app/experiment"
	"github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/accounting"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Whatever the norms, a step admits at most one clip, all steps together at most the account, and a
// norm that is not finite nothing.
func TestAccountsAreNeverOverdrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, 5).Draw(t, "steps")
		account, err := accounting.NewNorm(accounting.SquaredNorm(steps) * unit)
		if err != nil {
			t.Fatal(err)
		}
		norm := rapid.OneOf(rapid.Float64Range(0, 3), rapid.Float64Range(0, 1e-5),
			rapid.SampledFrom([]float64{0, 1, math.Inf(1), math.NaN(), math.MaxFloat64, math.SmallestNonzeroFloat64}))
		sum := 0.0
		for range 30 {
			v := norm.Draw(t, "norm")
			by := charge(account, v)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				if by != 0 {
					t.Fatalf("%v is multiplied by %v", v, by)
				}
				continue
			}
			if admitted := by * v; admitted > 1+1e-12 || by > 1 || by < 0 {
				t.Fatalf("%v is multiplied by %v", v, by)
			}
			sum += by * v * by * v
		}
		if sum > float64(steps)*(1+1e-12) {
			t.Fatalf("%v squared clips of %d", sum, steps)
		}
		if sum > float64(account.Spent())/unit*(1+1e-12) {
			t.Fatalf("%v squared clips, of which %v are paid", sum, float64(account.Spent())/unit)
		}
	})
}

// While every account can pay, filtering changes nothing: Algorithm 7 is Algorithm 6.
func TestTheFirstStepsAreThoseWithoutFiltering(t *testing.T) {
	o := experiment.Options{Seed: 1}
	m, data := model{"logistic", 4, 3, 0, false}, examples(50, 4, 3, o.Random("data"))
	after := func(budget int) []float64 {
		d := newDescent(m, setting{sigma: 2, clip: 0.1, rate: 3, steps: budget}, data, o.Random("descent"))
		if err := d.run(t.Context(), 6); err != nil {
			t.Fatal(err)
		}
		return d.theta
	}
	if !slices.Equal(after(6), after(600)) {
		t.Error("an account for 6 steps changed one of them")
	}
	if slices.Equal(after(5), after(600)) {
		t.Error("an account for 5 steps did not change the sixth")
	}
}

// level is the level of one Clopper-Pearson bound.
const level = 1e-9

// An attack on Proposition 5.2: everything except one example is known, so that the sum of the
// gradients is that of the example or 0, and its gradients depend on all noise so far. In a run of
// many more steps than the account pays for, the likelihood ratio must reveal at most what μ = √k/σ
// allows, at any threshold. Without accounts it reveals more.
func TestAttackOnAnExample(t *testing.T) {
	const games, paid, all, sigma = 10_000, 4, 16, 3.0
	refuted := func(budget int) (worst float64) {
		with, without := play(t, games, budget, all, sigma), play(t, -games, budget, all, sigma)
		for _, epsilon := range []float64{0, 0.25, 0.5, 1, 1.5} {
			bound, err := conversion.GDPToDelta(loss.GDP{Mu: math.Sqrt(paid) / sigma}, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			for _, threshold := range []float64{epsilon - 0.1, epsilon, epsilon + 0.1} {
				found := atLeast(above(with, threshold), games) - math.Exp(epsilon)*atMost(above(without, threshold),
					games)
				worst = max(worst, found-bound)
			}
		}
		return worst
	}
	if over := refuted(paid); over > 0 {
		t.Errorf("δ is at least %v above what is claimed", over)
	}
	if over := refuted(all); over < 0.05 {
		t.Errorf("without accounts δ is only %v above what is claimed: the attack is weak", over)
	}
}

// play returns the log-likelihood ratios of a number of games, with the example, or without it if
// the number is negative.
func play(t *testing.T, games, budget, steps int, sigma float64) (ratios []float64) {
	t.Helper()
	m := model{"linear", 1, 2, 0, true}
	data := newPart(1, 1)
	data.x.Data[0] = 1
	random, w := rand.New(runseed.PCG(t, uint64(budget), uint64(games))), m.newWork(1)
	s := setting{sigma: sigma, clip: 0.5, rate: 0.3, steps: budget}
	for range max(games, -games) {
		d := newDescent(m, s, data, random)
		account := d.accounts[0]
		if games < 0 {
			if err := d.accounts[0].Spend(account.Budget()); err != nil { // its gradients become 0
				t.Fatal(err)
			}
			account = experiment.Must(accounting.NewNorm(account.Budget()))
		}
		ratio := 0.0
		for range steps {
			before, g := slices.Clone(d.theta), make([]float64, len(d.theta))
			shadow, err := accounting.NewNorm(account.Budget())
			if err == nil {
				err = shadow.Spend(account.Spent())
			}
			if err != nil {
				t.Fatal(err)
			}
			m.gradient(w, d.theta, data, func(_ int, norm float64) float64 { return charge(shadow, norm/s.clip) }, g)
			d.step()
			if games < 0 {
				account = shadow
			}
			for j, v := range g {
				seen := (before[j] - d.theta[j]) / s.rate
				ratio += (seen*seen - (seen-v)*(seen-v)) / (2 * sigma * sigma * s.clip * s.clip)
			}
		}
		ratios = append(ratios, ratio)
	}
	return ratios
}

func above(values []float64, threshold float64) (n int) {
	for _, v := range values {
		if v > threshold {
			n++
		}
	}
	return n
}

func atLeast(k, n int) float64 {
	if k == 0 {
		return 0
	}
	return mathext.InvRegIncBeta(float64(k), float64(n-k+1), level)
}

func atMost(k, n int) float64 {
	if k == n {
		return 1
	}
	return mathext.InvRegIncBeta(float64(k+1), float64(n-k), 1-level)
}

// A gradient that is not finite leaves the model alone.
func TestAGradientThatIsNotFiniteCountsForNothing(t *testing.T) {
	o := experiment.Options{Seed: 1}
	m, data := model{"linear", 2, 2, 0, true}, examples(3, 2, 2, o.Random("data"))
	data.x.Data[0] = math.Inf(1)
	d := newDescent(m, setting{sigma: 1, clip: 1, rate: 1, steps: 2}, data, o.Random("descent"))
	d.theta[0] = 1
	d.step()
	for j, v := range d.theta {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("parameter %d is %v", j, v)
		}
	}
	if d.accounts[0].Spent() != 0 || d.accounts[1].Spent() == 0 {
		t.Errorf("paid: %d and %d", d.accounts[0].Spent(), d.accounts[1].Spent())
	}
}
