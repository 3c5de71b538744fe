package conversion_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/tollgate-dp/tollgate/internal/testing/must"
	_ "github.com/tollgate-dp/tollgate/internal/testing/runseed"
	"github.com/tollgate-dp/tollgate/state/conversion"
	"github.com/tollgate-dp/tollgate/state/loss"
)

// Wang, Balle and Kasiviswanathan, Theorem 9, in Python with mpmath 1.4.1, 50 digits; the
// divergences of order 2, 5, 300 and 512 are also dp_accounting 0.6.0's
// _compute_rdp_sample_wor_gaussian, which has a tighter bound at 16: state/pld/testdata/sampled.py.
func TestSamplesWithoutReplacementHaveTheDivergencesOfTheTheorem(t *testing.T) {
	for _, c := range []struct {
		sigma, sampling, alpha, want float64
	}{
		{2, 0.01, 2, 0.00011360371352886801207},
		{2, 0.01, 16, 0.0010699521513814101184},
		{1, 0.1, 5, 0.25644992690900874652},
		{1, 0.1, 4.5, 0.25644992690900874652},
		{4, 0.001, 300, 2.4464677628134085654},
		{20, 0.05, 512, 0.051786398837141911886},
		{5, 1e-9, 3, 2.4486464628182624256e-19},
		{0.01, 0.5, 100, 499999.30685281941924},
		{1, 1, 3, 1.5},
		{1, 0.1, 1000, 500},
	} {
		curve := must.Have(conversion.GaussianWithoutReplacementToRDP(c.sigma, c.sampling, []float64{c.alpha}))
		if got := curve[0].Epsilon; !(got >= c.want*(1-1e-15)) || got > c.want*(1+1e-9) {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// ln(1 + q(e^ε − 1)) in Python with mpmath 1.4.1.
func TestSampledPureIsTheClosedForm(t *testing.T) {
	for _, c := range []struct{ epsilon, sampling, want float64 }{
		{1, 0.1, 0.15856507874042912}, {0.5, 1, 0.5}, {0, 0.2, 0}, {1000, 0.5, 999.3068528194401},
		{1e-20, 0.25, 2.5e-21},
	} {
		got, err := conversion.SampledPure(c.epsilon, c.sampling)
		if err != nil || !(got >= c.want*(1-2e-16)) || got > c.want*(1+1e-14) {
			t.Errorf("%+v: %v (%v)", c, got, err)
		}
	}
}

// The δ of a group of three is δ·(1 + e^ε + e^2ε); the other guarantees follow the theorems.
func TestGroupsHaveTheClosedForms(t *testing.T) {
	approx, err := conversion.ApproxForGroup(loss.Approx{Epsilon: 0.3, Delta: 1e-7}, 3)
	want := 1e-7 * (1 + math.Exp(0.3) + math.Exp(0.6))
	if err != nil || math.Abs(approx.Epsilon-0.9) > 1e-15 || !(approx.Delta >= want*(1-1e-15)) ||
		approx.Delta > want*(1+1e-14) {
		t.Errorf("%+v, want δ = %v (%v)", approx, want, err)
	}
	if got, err := conversion.ApproxForGroup(loss.Approx{Delta: 0.1}, 3); err != nil || got.Epsilon != 0 ||
		math.Abs(got.Delta-0.3) > 1e-15 {
		t.Errorf("without ε: %+v (%v)", got, err)
	}
	if got, err := conversion.ZCDPForGroup(loss.ZCDP{Rho: 0.5}, 3); err != nil || got.Rho != 4.5 {
		t.Errorf("zCDP: %+v (%v)", got, err)
	}
}

// The guarantee for a group bounds the truth, which is known for Gaussian noise: the curve of k·μ.
// A group of one has the guarantee itself, and a greater group costs no less.
func TestGroupsCoverGaussianNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := loss.GDP{Mu: math.Exp(rapid.Float64Range(-4, 0).Draw(t, "log mu"))}
		k := rapid.IntRange(1, 5).Draw(t, "group")
		epsilon := rapid.Float64Range(0.01, 1).Draw(t, "epsilon")
		delta := must.Have(conversion.GDPToDelta(g, epsilon))
		group, err := conversion.ApproxForGroup(loss.Approx{Epsilon: epsilon, Delta: delta}, k)
		if err != nil {
			t.Skip("no delta below 1")
		}
		exact, err := conversion.GDPToDelta(loss.GDP{Mu: g.Mu * float64(k)}, group.Epsilon)
		if err != nil || exact > group.Delta*(1+1e-12) || k == 1 && group.Delta != delta {
			t.Fatalf("mu %v, group of %d at %v: %v, exact %v (%v)", g.Mu, k, epsilon, group.Delta, exact, err)
		}
	})
}
